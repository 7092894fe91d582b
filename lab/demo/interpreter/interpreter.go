//go:build linux

package interpreter

import (
	"context"
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// Storage bindings of machine.glsl, and indices of Interpreter.buffers.
const (
	bindCode = iota
	bindRegisters
	bindMachines
	bindMemory
	bindReport
	bindChain
	bindTrace
	bindVectors
	bindings
)

// Rows of the Machines buffer.
const (
	rowPC      = 0
	rowFlags   = 1
	rowSignal  = 2
	rowDetail  = 3
	rowAddress = 4 // and 5
	rowCycles  = 6 // and 7
	rowTarget  = 8 // and 9
	rowCount   = 10
)

// registerRows are x0 to x30 and sp.
const registerRows = 32

// Interpreter runs machines on one GL context. Its methods may be called from any
// goroutine, but not from a callback of glctx.Context.Do or Post; they are serialized.
// Close it before the context and the cache.
//
// The run functions resume the machines, as documented at Signal, until each has done a
// number of instructions or has stopped, which the host detects at the end of a batch.
// The instructions done before an error count; another run may follow, unless the context
// was lost. When ctx ends, a run returns after the batches in flight.
type Interpreter struct {
	context  *glctx.Context
	options  Options
	programs executor.Programs

	mu struct {
		glctx.Mutex
		closed   bool
		program  *cache.Handle // that runs the code, and nil before Load
		buffers  [bindings]glctx.Buffer
		report   glctx.Staging // of submissions: see submission.go
		code     []uint32      // as loaded
		base     uint64
		breaks   map[int]bool // by instruction
		watch    wordRange
		handlers map[uint16]Handler
		batch    uint32   // number of the last one
		cycles   []uint64 // of each machine, after the last run
		waiting  bool     // a machine may be stopped at an SVC after the last run
	}
}

// New makes machines. programs is a cache over context, which Load gets the kernel from. It
// returns an error for options beyond the limits of the device, and shader.ErrOutOfMemory.
func New(ctx context.Context, context *glctx.Context, programs executor.Programs, o Options) (*Interpreter, error) {
	o = o.withDefaults(context.Info())
	if err := o.validate(context.Info()); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return newInterpreter(context, programs, o)
}

// newInterpreter is New for options that were validated.
func newInterpreter(context *glctx.Context, programs executor.Programs, o Options) (*Interpreter, error) {
	v := &Interpreter{context: context, options: o, programs: programs}
	v.mu.Context = context
	v.mu.breaks, v.mu.handlers = map[int]bool{}, map[uint16]Handler{}
	v.mu.cycles = make([]uint64, o.Machines)
	if err := context.Do(v.allocate); err != nil {
		return nil, errors.Join(fmt.Errorf("interpreter: %d machines with %d bytes each: %w", o.Machines, o.MemoryBytes, err), v.Close())
	}
	return v, nil
}

// allocate makes the buffers, except that of the code.
func (v *Interpreter) allocate(gl *glctx.GL) (err error) {
	n := v.options.Machines
	sizes := [bindings]int{
		bindRegisters: registerRows * 8 * n,
		bindMachines:  rowCount * 4 * n,
		bindMemory:    v.options.MemoryBytes * n,
		bindReport:    reportBytes,
		bindChain:     chainBytes,
	}
	if v.options.TraceEntries > 0 {
		sizes[bindTrace] = traceEntryBytes * v.options.TraceEntries
	}
	if v.options.Vectors {
		sizes[bindVectors] = registerRows * vectorBytes * n
	}
	for i, size := range sizes {
		if size == 0 {
			continue
		}
		if v.mu.buffers[i], err = gl.NewBuffer(size, nil); err != nil {
			return err
		}
		gl.Fill(v.mu.buffers[i], 0)
	}
	v.mu.report, err = gl.NewStaging(maxInFlight*submissionBytes, glctx.Download)
	return err
}

// Close waits for a run, and releases the program and the buffers. It is idempotent.
func (v *Interpreter) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.mu.closed {
		return nil
	}
	v.mu.closed = true
	if v.mu.program != nil {
		v.mu.program.Release()
	}
	err := v.context.Do(func(gl *glctx.GL) error {
		for _, b := range v.mu.buffers {
			gl.DeleteBuffer(b)
		}
		gl.DeleteStaging(v.mu.report)
		return gl.Err()
	})
	if errors.Is(err, shader.ErrContextLost) || errors.Is(err, shader.ErrClosed) {
		return nil
	}
	return err
}

// doGL runs fn on the GL thread with mu locked.
func (v *Interpreter) doGL(ctx context.Context, fn func(gl *glctx.GL) error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.doGLLocked(ctx, fn)
}

func (v *Interpreter) doGLLocked(ctx context.Context, fn func(gl *glctx.GL) error) error {
	if v.mu.closed {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return v.context.Do(fn)
}
