//go:build linux

package interpreter

import (
	"bytes"
	"context"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Verifier compares machines with the CPU, on all its cores: it runs each as far as
// the GPU did and compares its state and its memory.
type Verifier struct {
	Machines    *Interpreter
	MemoryBytes int // of each machine
	Setup       Setup
	States      []MachineState // of all machines, from Interpreter.MachineStates

	// Cycles is the number of instructions that the machines were to do, or 0 where a time-out
	// or a breakpoint may have ended the run before. A machine that did fewer without a reason
	// of its own to stop is wrong.
	Cycles uint64

	// Served is the number of the system call that the host serves without a change
	// to the machine.
	Served uint16

	// Progress, which may be nil, gets the number of instructions that the CPU has done
	// since the last call. Any goroutine calls it.
	Progress func(cycles int)
}

// Bounds of the comparison: bytes of memory that are held at a time, and instructions
// between two checks of the context.
const (
	verifyBytes  = 64 << 20
	verifyCycles = 1 << 20
)

// Verify returns the first machine whose state or memory differs from the CPU's, or -1.
func (v *Verifier) Verify(ctx context.Context) (int, error) {
	atOnce := max(1, verifyBytes/v.MemoryBytes)
	for first := 0; first < len(v.States); first += atOnce {
		if m, err := v.verifyRange(ctx, first, min(atOnce, len(v.States)-first)); m >= 0 || err != nil {
			return m, err
		}
	}
	return -1, nil
}

// verifyRange is Verify for n machines.
func (v *Verifier) verifyRange(ctx context.Context, first, n int) (int, error) {
	memories := make([][]byte, n)
	for i := range memories {
		memories[i] = make([]byte, v.MemoryBytes)
	}
	if err := v.Machines.ReadMachines(ctx, first, 0, memories...); err != nil {
		return -1, err
	}
	vectors := make([]*VectorRegisters, n)
	if v.Machines.options.Vectors {
		for i := range vectors {
			vectors[i] = new(VectorRegisters)
		}
		if err := v.Machines.ReadVectors(ctx, first, vectors...); err != nil {
			return -1, err
		}
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	var wrong atomic.Int64 // the least machine that differs, + 1
	for i, memory := range memories {
		group.Go(func() error {
			equal, err := v.equal(ctx, first+i, memory, vectors[i])
			for was := wrong.Load(); err == nil && !equal && (was == 0 || was > int64(first+i+1)); was = wrong.Load() {
				wrong.CompareAndSwap(was, int64(first+i+1))
			}
			return err
		})
	}
	err := group.Wait()
	return int(wrong.Load()) - 1, err
}

// equal reports whether a machine is as the CPU computes it. z is nil without vectors.
func (v *Verifier) equal(ctx context.Context, machine int, memory []byte, z *VectorRegisters) (bool, error) {
	got := v.States[machine]
	if got.Cycles < v.Cycles && (got.Signal == SignalRunning || got.Signal == SignalCheckpoint) {
		return false, nil
	}
	want, err := v.Setup.reference(machine, v.MemoryBytes)
	if err != nil {
		return false, err
	}
	want.Vectors = v.Machines.options.Vectors
	if err := v.replay(ctx, want, got); err != nil {
		return false, err
	}
	return want.MachineState == got && bytes.Equal(want.Memory, memory) && (z == nil || *z == want.Z), nil
}

// replay runs a machine on the CPU until it has done as many instructions as got.
func (v *Verifier) replay(ctx context.Context, r *Reference, got MachineState) error {
	for r.Cycles < got.Cycles {
		if err := ctx.Err(); err != nil {
			return err
		}
		before := r.Cycles
		r.Run(min(got.Cycles-r.Cycles, verifyCycles))
		if v.Progress != nil {
			v.Progress(int(r.Cycles - before))
		}
		if r.Signal != SignalCheckpoint && !v.served(r) {
			break
		}
	}
	// The reference has no breakpoints, batches or host.
	switch external := got.Signal == SignalBreak || got.Signal == SignalCheckpoint || got.Signal == SignalRunning; {
	case got.Signal == SignalFault:
		r.Run(1)
	case external && v.served(r):
		r.Signal, r.Number, r.PC = got.Signal, 0, r.PC+4
	case external && (r.Signal == SignalCheckpoint || r.Cycles == 0):
		r.Signal = got.Signal
	}
	return nil
}

// served reports whether a machine is at the system call that the host serves.
func (v *Verifier) served(r *Reference) bool {
	return r.Signal == SignalSyscall && r.Number == v.Served
}
