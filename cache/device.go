package cache

import (
	"context"
	"os"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/shader"
)

// Device compiles, loads and deletes programs. *glctx.Context is the real one,
// cachetest.Device a fake.
//
// The cache calls a Device from any goroutine, never while it holds its lock,
// and calls may overlap. Errors that the cache acts on are *shader.CompileError,
// shader.ErrRejected, shader.ErrOutOfMemory and shader.ErrContextLost; any other
// error is passed on to the caller of Get.
type Device interface {
	// Fingerprint identifies the driver. It never changes.
	Fingerprint() binary.Fingerprint

	// Compile compiles, links and primes every source and calls done exactly
	// once for each, on the calling goroutine, in any order. Several sources at
	// once let the driver compile them side by side. A program that done
	// received belongs to the receiver, who must Delete it. When ctx ends,
	// done receives ctx.Err() for what has not been started.
	Compile(ctx context.Context, sources []*shader.Source, done func(i int, p shader.Program, err error))

	// Load makes a program from a binary and primes it. It returns
	// shader.ErrRejected, wrapped, when the driver refuses it.
	Load(ctx context.Context, format uint32, payload []byte) (shader.Program, error)

	// Binary returns the program binary of a program that Compile made.
	Binary(ctx context.Context, id uint32) (format uint32, payload []byte, err error)

	// Delete deletes a program soon, on the device's own thread. It does not
	// wait and may be called after the device was closed.
	Delete(id uint32)

	// Pending panics where a wait for the device would never end: in a callback
	// of the device itself. On a thread that does the device's work, as the
	// thread of glctx.Adopt does, it returns a channel that receives when there
	// is work; elsewhere nil.
	Pending() <-chan struct{}

	// PollWhile calls wait, which waits for the device. On a thread that does
	// the device's work it does that work meanwhile, and wait runs on another
	// goroutine. It panics where Pending panics.
	PollWhile(wait func())

	// SetCrashOutput installs a signal handler for crashes that Go's runtime
	// does not report: those on threads that the driver started. The handler
	// writes a line to f that starts with the name of the signal, such as
	// "SIGSEGV: ". f may be closed afterwards. Options.RecordCrashes needs it.
	SetCrashOutput(f *os.File) error

	// WatchFirstDispatch calls watch before the first dispatch of each program that the
	// device made, on its thread, and what watch returns, unless nil, when the dispatch
	// has finished. stop ends it.
	WatchFirstDispatch(watch func(program uint32) (done func())) (stop func())

	// WatchTimes calls watch with the device's time for the first dispatches of each
	// program that it made, on its thread, where it can measure that, and with the
	// number of their operations, 0 where it is not known. stop ends it.
	WatchTimes(watch func(program uint32, gpu time.Duration, operations float64)) (stop func())

	// SettleDriverCache waits until the driver has written its own cache, at most
	// seconds: then shader.Program.MachineCode is complete. It does not need the
	// device's thread.
	SettleDriverCache()

	// GPUMemory returns the memory of the GPU and what of it is free, in bytes; 0 and 0
	// when the driver does not say. It waits for the device's thread.
	GPUMemory() (total, free int64)

	// DriverCache returns the state of the driver's own cache; the zero State when
	// the device does not know. New refuses a directory that is not the one where
	// it is managed.
	DriverCache() drivercache.State
}
