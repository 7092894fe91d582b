package cachetest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	shaders "github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/shader"
)

// Format is the program binary format that the fake driver offers.
const Format = 0xCAFE

// Device is a cache.Device without a GPU. Its programs are ids, its binaries
// contain the key of their source, and a program loaded from a binary has the
// interface of the one that was compiled. All methods may be called from any
// goroutine. Set the fields before the device is used.
type Device struct {
	// CompileDelay is how long one source takes to compile. Default: 0.
	CompileDelay time.Duration

	// Size is the size in bytes of a program and of its binary, at least 40.
	// Default: 1000 for every source.
	Size func(*shader.Source) int

	// OnCompile is called before a source is compiled and may block; its error is
	// the result. Default: none.
	OnCompile func(context.Context, *shader.Source) error

	// OnLoad and OnBinary do the same for Load and Binary.
	OnLoad   func(ctx context.Context, payload []byte) error
	OnBinary func(ctx context.Context, id uint32) error

	// Memory is the result of GPUMemory. Default: the device does not know.
	Memory func() (total, free int64)

	mu struct {
		sync.Mutex
		fingerprint shaders.Fingerprint
		calls       Calls
		last        uint32
		live        map[uint32]program
		faults      []string
		reject      bool
		change      func(*shader.Interface) // of what Load returns
		miscompute  bool
		noPayload   bool
		outOfMemory int
		lost        bool
		gate        chan struct{} // nil: open
	}
}

// Calls counts the calls of a Device.
type Calls struct {
	Batches  int // calls of Compile
	Compiles int // sources in them
	Loads    int
	Binaries int
	Deletes  int
}

var _ cache.Device = (*Device)(nil)

// NewDevice returns a device that works.
func NewDevice() *Device {
	d := &Device{}
	d.mu.live = map[uint32]program{}
	d.mu.fingerprint = shaders.Fingerprint{
		Vendor:      "cachetest",
		Renderer:    "fake device",
		Version:     "4.6.0",
		GLSL:        "4.60",
		Formats:     []uint32{Format},
		PointerBits: 64,
	}
	return d
}

// GPUMemory returns what Memory returns.
func (d *Device) GPUMemory() (total, free int64) {
	if d.Memory == nil {
		return 0, 0
	}
	return d.Memory()
}

// SetFingerprint makes the device another driver. Call it before the device is
// used; without formats the device returns no binaries.
func (d *Device) SetFingerprint(f shaders.Fingerprint) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.fingerprint = f
}

// RejectBinaries sets whether Load returns shader.ErrRejected.
func (d *Device) RejectBinaries(reject bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.reject = reject
}

// ChangeInterfaces sets whether Load returns a program with another interface
// than the binary was made from, as a broken driver does.
func (d *Device) ChangeInterfaces(change bool) {
	if !change {
		d.ChangeInterface(nil)
		return
	}
	d.ChangeInterface(func(i *shader.Interface) { i.Resources[0].Binding = 7 })
}

// ChangeInterface sets what is changed of the interfaces of programs that Load returns:
// a storage block and an image, in this order. nil changes nothing.
func (d *Device) ChangeInterface(change func(*shader.Interface)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.change = change
}

// MiscomputeBinaries sets whether programs that are loaded from now on compute
// wrong results, which Load does not report and Answer does.
func (d *Device) MiscomputeBinaries(wrong bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.miscompute = wrong
}

// Answer simulates running a program on known input, as a check of a source
// does: it returns an error when the program computes wrong results.
func (d *Device) Answer(id uint32) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, ok := d.mu.live[id]
	switch {
	case !ok:
		d.fault("program %d was run and does not exist", id)
		return fmt.Errorf("cachetest: there is no program %d", id)
	case p.wrong:
		return fmt.Errorf("cachetest: %s computes wrong results", p.name)
	}
	return nil
}

// EmptyBinaries sets whether Binary returns no bytes and no error.
func (d *Device) EmptyBinaries(empty bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.noPayload = empty
}

// RunOutOfMemory makes the next n programs fail with shader.ErrOutOfMemory.
func (d *Device) RunOutOfMemory(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.outOfMemory = n
}

// LoseContext makes every later call fail with shader.ErrContextLost.
func (d *Device) LoseContext() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.lost = true
}

// Hang makes later calls of Compile, Load and Binary wait until release is called
// or their context ends.
func (d *Device) Hang() (release func()) {
	gate := make(chan struct{})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.gate = gate
	return sync.OnceFunc(func() {
		d.mu.Lock()
		d.mu.gate = nil
		d.mu.Unlock()
		close(gate)
	})
}

// Calls returns the number of calls so far.
func (d *Device) Calls() Calls {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mu.calls
}

// Live returns the names of the programs that exist, sorted.
func (d *Device) Live() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	names := []string{}
	for p := range maps.Values(d.mu.live) {
		names = append(names, p.name)
	}
	slices.Sort(names)
	return names
}

// Use simulates a dispatch: it records a fault unless program id exists and was
// made from the source with this key.
func (d *Device) Use(id uint32, key shader.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, ok := d.mu.live[id]
	switch {
	case !ok:
		d.fault("program %d was used and does not exist", id)
	case p.key != key:
		d.fault("program %d is %s %s and was used as %s", id, p.name, p.key.Short(), key.Short())
	}
}

// Faults returns the misuse so far: programs deleted twice, used or read back
// after their deletion, used under another key.
func (d *Device) Faults() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.mu.faults)
}

// Verify fails the test for every fault and every program that still exists.
// Call it after the cache was closed.
func (d *Device) Verify(t testing.TB) {
	t.Helper()
	for _, fault := range d.Faults() {
		t.Errorf("device: %s", fault)
	}
	if live := d.Live(); len(live) > 0 {
		t.Errorf("device: %d programs were never deleted: %q", len(live), live)
	}
}

func (d *Device) fault(format string, args ...any) {
	d.mu.faults = append(d.mu.faults, fmt.Sprintf(format, args...))
}

// Pending returns nil.
func (*Device) Pending() <-chan struct{} { return nil }

// PollWhile calls wait.
func (*Device) PollWhile(wait func()) { wait() }

// SetCrashOutput does nothing.
func (*Device) SetCrashOutput(*os.File) error { return nil }

// WatchFirstDispatch does nothing.
func (*Device) WatchFirstDispatch(func(uint32) func()) (stop func()) { return func() {} }

// WatchTimes does nothing.
func (*Device) WatchTimes(func(uint32, time.Duration, float64)) (stop func()) { return func() {} }

// SettleDriverCache does nothing.
func (*Device) SettleDriverCache() {}

// DriverCache returns the zero State.
func (*Device) DriverCache() drivercache.State { return drivercache.State{} }
