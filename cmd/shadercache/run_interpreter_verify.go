package main

import (
	"context"
	"slices"

	"github.com/shadercache/shadercache/resident/interpreter"
)

// verified runs every machine on the CPU, as far as the GPU went, and compares. It
// calls step before each.
func (f *interpreterFlags) verified(ctx context.Context, v *interpreter.Interpreter, code []byte, states []interpreter.State, step func()) (bool, error) {
	settings, err := f.settings()
	if err != nil {
		return false, err
	}
	memory := make([]byte, f.options.MemoryBytes)
	for m, got := range states {
		step()
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		want, err := interpreter.NewReference(f.options.MemoryBytes, code, 0)
		if err != nil {
			return false, err
		}
		for _, s := range settings {
			s.apply(want, m)
		}
		replay(want, got)
		if want.State != got {
			return false, nil
		}
		if err := v.ReadMemory(ctx, m, 0, memory); err != nil {
			return false, err
		}
		if !slices.Equal(memory, want.Memory) {
			return false, nil
		}
	}
	return true, nil
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
func replay(r *interpreter.Reference, got interpreter.State) {
	for r.Cycles < got.Cycles {
		r.Run(got.Cycles - r.Cycles)
		if r.Signal != interpreter.SignalSyscall || r.Number != printCall {
			break
		}
	}
	switch {
	case got.Signal == interpreter.SignalFault:
		r.Run(1)
	case got.Signal == interpreter.SignalBreak && r.Signal == interpreter.SignalCheckpoint:
		r.Signal = interpreter.SignalBreak
	case got.Signal == interpreter.SignalCheckpoint && r.Signal == interpreter.SignalSyscall && r.Number == printCall:
		r.Signal, r.Number, r.PC = interpreter.SignalCheckpoint, 0, r.PC+4
	}
}
