package main

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/shadercache/shadercache/demo/interpreter"
)

// Bounds of comparing with the CPU: bytes of memory that are held at a time, and
// instructions between two looks at whether somebody wants it to end.
const (
	verifyBytes  = 64 << 20
	verifyCycles = 1 << 20
)

// verifier runs machines on the CPU, on all its cores, as far as the GPU went.
type verifier struct {
	*interpreterFlags
	ctx      context.Context
	machines *interpreter.Interpreter
	code     []byte
	settings []setting
	states   []interpreter.State // as the GPU has them
	step     func(cycles int)    // called by any goroutine
}

// wrong returns the first machine whose state or memory is not as the CPU has it,
// or -1.
func (v *verifier) wrong() (int, error) {
	atOnce := max(1, verifyBytes/v.options.MemoryBytes)
	for first := 0; first < len(v.states); first += atOnce {
		if m, err := v.wrongFrom(first, min(atOnce, len(v.states)-first)); m >= 0 || err != nil {
			return m, err
		}
	}
	return -1, nil
}

// wrongFrom is wrong for so many machines.
func (v *verifier) wrongFrom(first, n int) (int, error) {
	memories := make([][]byte, n)
	for i := range memories {
		memories[i] = make([]byte, v.options.MemoryBytes)
	}
	if err := v.machines.ReadMachines(v.ctx, first, 0, memories...); err != nil {
		return -1, err
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	var wrong atomic.Int64 // machine + 1; the least one
	for i, memory := range memories {
		group.Go(func() error {
			good, err := v.agrees(first+i, memory)
			for was := wrong.Load(); err == nil && !good && (was == 0 || was > int64(first+i+1)); was = wrong.Load() {
				wrong.CompareAndSwap(was, int64(first+i+1))
			}
			return err
		})
	}
	err := group.Wait()
	return int(wrong.Load()) - 1, err
}

// agrees says whether a machine is as the CPU has it.
func (v *verifier) agrees(machine int, memory []byte) (bool, error) {
	want, err := interpreter.NewReference(v.options.MemoryBytes, v.code, 0)
	if err != nil {
		return false, err
	}
	for _, s := range v.settings {
		s.apply(want, machine)
	}
	address, n, err := v.watched()
	if err == nil && n > 0 {
		err = want.Watch(address, n)
	}
	if err != nil {
		return false, err
	}
	got := v.states[machine]
	if err := v.replay(want, got); err != nil {
		return false, err
	}
	return want.State == got && bytes.Equal(want.Memory, memory), nil
}

func (s setting) apply(r *interpreter.Reference, machine int) {
	switch v := s.in(machine); s.register {
	case settingPC:
		r.PC = v
	case 31:
		r.SP = v
	default:
		r.X[s.register] = v
	}
}

// replay runs a machine on the CPU until it stands where the GPU's does.
func (v *verifier) replay(r *interpreter.Reference, got interpreter.State) error {
	for r.Cycles < got.Cycles {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		before := r.Cycles
		r.Run(min(got.Cycles-r.Cycles, verifyCycles))
		v.step(int(r.Cycles - before))
		if r.Signal != interpreter.SignalCheckpoint && (r.Signal != interpreter.SignalSyscall || r.Number != printCall) {
			break
		}
	}
	// What only the GPU knows of, or the host beside it.
	served := r.Signal == interpreter.SignalSyscall && r.Number == printCall
	switch asked := got.Signal == interpreter.SignalBreak || got.Signal == interpreter.SignalCheckpoint || got.Signal == interpreter.SignalRunning; {
	case got.Signal == interpreter.SignalFault:
		r.Run(1)
	case asked && served:
		r.Signal, r.Number, r.PC = got.Signal, 0, r.PC+4
	case asked && (r.Signal == interpreter.SignalCheckpoint || r.Cycles == 0):
		r.Signal = got.Signal
	}
	return nil
}

// verify compares every machine with the CPU.
func (r *interpreterResult) verify(ctx context.Context, machines *interpreter.Interpreter, f *interpreterFlags, code []byte, states []interpreter.State) error {
	settings, err := f.settings()
	if err != nil {
		return err
	}
	total := 0
	for _, s := range states {
		total += int(s.Cycles)
	}
	bar := f.progress(total, "comparing with the CPU")
	v := &verifier{interpreterFlags: f, ctx: ctx, machines: machines, code: code, settings: settings, states: states,
		step: func(cycles int) { _ = bar.Add(cycles) }}
	r.wrong, err = v.wrong()
	good := r.wrong < 0
	r.Verified = &good
	return errors.Join(err, bar.Finish())
}
