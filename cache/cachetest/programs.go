package cachetest

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	shaders "github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// program is a program object of the fake driver.
type program struct {
	name  string
	key   shader.Key
	size  int
	wrong bool // computes wrong results
}

// Sizes of the parts of a fake binary: the key, then the size, then zeros.
const (
	keyBytes     = len(shader.Key{})
	smallestSize = keyBytes + 8
	defaultSize  = 1000
)

// Fingerprint returns the identity of the fake driver.
func (d *Device) Fingerprint() shaders.Fingerprint {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mu.fingerprint
}

// Compile makes a program of every source, one after the other. Its CompileNanos
// is one millisecond, or CompileDelay if that is set, independent of the time
// that it took.
func (d *Device) Compile(ctx context.Context, sources []*shader.Source, done func(i int, p shader.Program, err error)) {
	d.mu.Lock()
	d.mu.calls.Batches++
	d.mu.Unlock()
	for i, src := range sources {
		p, err := d.compile(ctx, src)
		done(i, p, err)
	}
}

func (d *Device) compile(ctx context.Context, src *shader.Source) (shader.Program, error) {
	if err := d.begin(ctx, func(c *Calls) { c.Compiles++ }); err != nil {
		return shader.Program{}, err
	}
	if d.OnCompile != nil {
		if err := d.OnCompile(ctx, src); err != nil {
			return shader.Program{}, err
		}
	}
	if err := sleep(ctx, d.CompileDelay); err != nil {
		return shader.Program{}, err
	}
	size := defaultSize
	if d.Size != nil {
		size = d.Size(src)
	}
	p, err := d.create(program{name: src.Name(), key: src.Key(), size: max(size, smallestSize)}, nil)
	p.CompileNanos = int64(max(d.CompileDelay, time.Millisecond))
	return p, err
}

// Load makes a program from what Binary returned. Its LoadNanos is 1000.
func (d *Device) Load(ctx context.Context, format uint32, payload []byte) (shader.Program, error) {
	if err := d.begin(ctx, func(c *Calls) { c.Loads++ }); err != nil {
		return shader.Program{}, err
	}
	if d.OnLoad != nil {
		if err := d.OnLoad(ctx, payload); err != nil {
			return shader.Program{}, err
		}
	}
	d.mu.Lock()
	reject, change, wrong := d.mu.reject, d.mu.change, d.mu.miscompute
	d.mu.Unlock()
	if reject || format != Format || len(payload) < smallestSize {
		return shader.Program{}, fmt.Errorf("cachetest: load: %w", shader.ErrRejected)
	}
	key := shader.Key(payload[:keyBytes])
	size := int(binary.LittleEndian.Uint64(payload[keyBytes:]))
	if size != len(payload) {
		return shader.Program{}, fmt.Errorf("cachetest: load: %w", shader.ErrRejected)
	}
	p, err := d.create(program{name: "loaded " + key.Short(), key: key, size: size, wrong: wrong}, change)
	p.LoadNanos = 1000
	return p, err
}

// Binary returns a payload of the size of the program.
func (d *Device) Binary(ctx context.Context, id uint32) (format uint32, payload []byte, err error) {
	if err := d.begin(ctx, func(c *Calls) { c.Binaries++ }); err != nil {
		return 0, nil, err
	}
	if d.OnBinary != nil {
		if err := d.OnBinary(ctx, id); err != nil {
			return 0, nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	p, ok := d.mu.live[id]
	if !ok {
		d.fault("the binary of program %d was read and the program does not exist", id)
		return 0, nil, fmt.Errorf("cachetest: there is no program %d", id)
	}
	if d.mu.noPayload || len(d.mu.fingerprint.Formats) == 0 {
		return 0, nil, nil
	}
	payload = make([]byte, p.size)
	copy(payload, p.key[:])
	binary.LittleEndian.PutUint64(payload[keyBytes:], uint64(p.size))
	return Format, payload, nil
}

// Delete deletes a program. It never waits, also while the device hangs.
func (d *Device) Delete(id uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.calls.Deletes++
	if _, ok := d.mu.live[id]; !ok {
		d.fault("program %d was deleted and does not exist", id)
	}
	delete(d.mu.live, id)
}

// begin counts a call and waits while the device hangs.
func (d *Device) begin(ctx context.Context, count func(*Calls)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	count(&d.mu.calls)
	gate := d.mu.gate
	d.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.lost {
		return fmt.Errorf("cachetest: %w", shader.ErrContextLost)
	}
	return nil
}

// create makes a program object, or fails as RunOutOfMemory demands.
func (d *Device) create(p program, change func(*shader.Interface)) (shader.Program, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.outOfMemory > 0 {
		d.mu.outOfMemory--
		return shader.Program{}, fmt.Errorf("cachetest: %w", shader.ErrOutOfMemory)
	}
	d.mu.last++
	d.mu.live[d.mu.last] = p
	return shader.Program{ID: d.mu.last, Interface: fakeInterface(p.key, change), Bytes: p.size, PrimeNanos: 100}, nil
}

// fakeInterface derives an interface with a storage block and an image from the key, and
// changes it unless change is nil.
func fakeInterface(key shader.Key, change func(*shader.Interface)) shader.Interface {
	i := shader.Interface{WorkGroup: [3]uint32{1 + uint32(key[0])%8, 1, 1}, Resources: []shader.Resource{
		{Kind: shader.StorageBuffer, Name: "data_" + key.Short(), Bytes: 4},
		{Kind: shader.Uniform, Name: "picture", Bytes: 1, Type: image2D, Unit: 1},
	}}
	if change != nil {
		change(&i)
	}
	return i
}

const image2D shader.Type = 0x904D // of GL

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
