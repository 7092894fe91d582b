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

// checkedSums has every kind of instruction that all kernels have. Machines leave its loop
// after an eighth as many turns as their number; those with large numbers run out of
// instructions before.
const checkedSums = `
	movz x1, #0x200
	sub  x2, x10, #1
	add  x3, x9, #7
l:	adds x2, x2, x3
	sub  x4, x2, x3
	movz x6, #0x4321
	subs x5, x2, x6
	b.vs m
	cmn  x4, x5
m:	subs x9, x9, #8
	b.hs l
	cmn  x9, #4
	b.mi end
	hlt  #1
end:	svc  #2`

// checkedMemory is loads and stores. Half of the machines stop by a fault, as the address
// is not aligned; the others store to the watched word.
const checkedMemory = `
	movz x1, #0x200
	sub  x2, x10, #1
	add  x3, x9, #7
l:	adds x2, x2, x3
	str  x2, [x1, #8]
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

// checkedVectors has every instruction on vectors, and comes before checkedMemory.
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
func (v *Interpreter) check(ctx context.Context, program *cache.Handle, p parts) error {
	o := v.options
	o.Machines, o.MemoryBytes, o.BatchCycles, o.TraceMachine, o.Progress = checkedMachines, checkedBytes, checkedCycles/2, 0, nil
	known, err := newInterpreter(v.context, checkedProgram{handle: program}, o)
	if err != nil {
		return err
	}
	defer known.Close()
	for _, text := range p.checked() {
		setup, err := o.checkedSetup(text)
		if err == nil {
			err = setup.Apply(ctx, known)
		}
		if err == nil {
			_, err = known.RunMega(ctx, checkedCycles)
		}
		if err == nil {
			err = known.agree(ctx, setup)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checked returns the code that checks a kernel with these parts.
func (p parts) checked() []string {
	switch {
	case p.vectors:
		return []string{checkedSums, checkedVectors + checkedMemory}
	case p.memory:
		return []string{checkedSums, checkedMemory}
	}
	return []string{checkedSums}
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
func (o Options) checkedSetup(text string) (s Setup, err error) {
	s.Code, err = Assemble("check", text)
	s.Registers = []RegisterSetting{{register: 9, machine: true}}
	if o.Watchpoints {
		s.Watch = Watched{Address: 0x200, Bytes: 8}
	}
	return s, err
}
