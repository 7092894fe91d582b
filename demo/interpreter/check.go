//go:build linux

package interpreter

import (
	"bytes"
	"context"
	"fmt"

	"github.com/shadercache/shadercache/cache"
)

// Machines of the check: a work group of lanes, and a part of another one.
const (
	checkedMachines = lanes + 3
	checkedBytes    = 1 << 10
	checkedCycles   = 64
)

// checkedProgram has every kind of instruction that is not on vectors. Machines leave its
// loop after an eighth as many turns as their number; then half of them stop by a fault, as
// the address is not aligned, and the others store to the watched word. Those with large
// numbers run out of instructions before.
const checkedProgram = `
	movz x1, #0x200
	sub  x2, x10, #1
	add  x3, x9, #7
l:	adds x2, x2, x3
	str  x2, [x1, #8]
	sub  x4, x2, x3
	ldr  x5, [x1, #8]
	subs x6, x5, x2
	b.ne bad
	subs x9, x9, #8
	b.hs l
	add  x7, x1, x9
	cmn  x9, #4
	b.mi low
	ldr  x8, [x7, #24]
low:	str  x8, [x1]
	b    end
bad:	hlt  #1
end:	svc  #2`

// checkedVectors has every instruction on vectors, and comes before checkedProgram.
const checkedVectors = `
	movz  x1, #0x200
	movz  x2, #0x9E37
	index z0.d, x9, x2
	dup   z1.d, x2
	mul   z2.d, z0.d, z1.d
	sub   z3.d, z1.d, z2.d
	str   z3, [x1]
	ldr   z4, [x1]
	eor   z5.d, z4.d, z0.d
	add   z5.d, z5.d, z2.d`

// check compares machines on a program that was loaded with the CPU.
func (v *Interpreter) check(ctx context.Context, handles []*cache.Handle) error {
	o := v.options
	o.Machines, o.MemoryBytes, o.BatchCycles, o.TraceMachine, o.Progress = checkedMachines, checkedBytes, checkedCycles/2, 0, nil
	known := newInterpreter(v.context, o)
	known.program = handles[0].Retain()
	if err := known.prepare(); err != nil {
		return err
	}
	defer known.Close()
	setup, err := o.checkedSetup()
	if err != nil {
		return err
	}
	if err := setup.Apply(ctx, known); err != nil {
		return err
	}
	if _, err := known.RunMega(ctx, checkedCycles); err != nil {
		return err
	}
	return known.agree(ctx, setup)
}

// agree returns an error unless all machines are as after checkedCycles on the CPU.
func (v *Interpreter) agree(ctx context.Context, setup Setup) error {
	states, err := v.MachineStates(ctx)
	if err != nil {
		return err
	}
	memories, vectors := make([][]byte, len(states)), make([]*VectorRegisters, len(states))
	for m := range states {
		memories[m], vectors[m] = make([]byte, checkedBytes), new(VectorRegisters)
	}
	if err := v.ReadMachines(ctx, 0, 0, memories...); err != nil {
		return err
	}
	if v.options.Vectors {
		if err := v.ReadVectors(ctx, 0, vectors...); err != nil {
			return err
		}
	}
	for m, state := range states {
		want, err := setup.reference(m, checkedBytes)
		if err != nil {
			return err
		}
		want.Vectors = v.options.Vectors
		want.Run(checkedCycles)
		if state != want.MachineState || !bytes.Equal(memories[m], want.Memory) || *vectors[m] != want.Z {
			return fmt.Errorf("interpreter: machine %d of a known program ends as %+v, should be %+v", m, state, want.MachineState)
		}
	}
	return nil
}

// checkedSetup is how the machines of the check begin.
func (o Options) checkedSetup() (s Setup, err error) {
	text := checkedProgram
	if o.Vectors {
		text = checkedVectors + text
	}
	s.Code, err = Assemble("check", text)
	s.Registers = []RegisterSetting{{register: 9, machine: true}}
	if o.Watchpoints {
		s.Watch = Watched{Address: 0x200, Bytes: 8}
	}
	return s, err
}
