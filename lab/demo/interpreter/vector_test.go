//go:build linux

package interpreter

import (
	"errors"
	"strings"
	"testing"
)

// vectorLoop has a program whose loop is instructions on vectors only, and a branch.
const vectorLoop = `
	movz x1, #0x200
	movz x2, #7
	index z0.d, x2, x2
	dup z1.d, x2
l:	mul z0.d, z0.d, z1.d
	add z0.d, z0.d, z1.d
	sub z2.d, z2.d, z0.d
	eor z3.d, z3.d, z2.d
	b l`

// TestVectorsInLongRuns runs more instructions on vectors than the loops of a driver allow
// in a dispatch, in both forms of a machine.
func TestVectorsInLongRuns(t *testing.T) {
	for name, o := range map[string]Options{"invocation": {Vectors: true}, "group": {MachinePerGroup: true}} {
		t.Run(name, func(t *testing.T) {
			o.Machines, o.MemoryBytes = 2, 1024
			p := newPair(t, o, assemble(t, vectorLoop), 0)
			total := uint64(2*o.loopCycles() + 5)
			if name == "group" {
				total = uint64(o.loopCycles() + 5) // a barrier an instruction takes long on a CPU
			}
			result, err := p.RunMega(t.Context(), total)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range p.cpu {
				r.Run(total)
			}
			p.compare(t)
			if software := p.context.Info().Software(); result.Cut != 0 || software && result.Dispatches < 2 {
				t.Errorf("%+v", result)
			}
		})
	}
}

// TestVectorAccesses stops machines at the edges of the memory, in the code and at watched
// words.
func TestVectorAccesses(t *testing.T) {
	const memory = 2048
	for _, o := range []Options{{Vectors: true}, {MachinePerGroup: true}} {
		o.MemoryBytes, o.Watchpoints, o.Machines = memory, true, 2
		v := newMachines(t, o)
		for text, want := range map[string]MachineState{
			"str z0, [x1, #5, mul vl]":     {Signal: SignalHalt},
			"ldr z0, [x1, #7, mul vl]":     {Signal: SignalFault, Fault: FaultAddress, Address: 0x108 + 7*256},
			"str z0, [x1, #-2, mul vl]":    {Signal: SignalFault, Fault: FaultAddress, Address: 1<<64 + 0x108 - 512},
			"str z0, [x1, #-1, mul vl]":    {Signal: SignalFault, Fault: FaultCode, Address: 8},
			"ldr z0, [x1, #-1, mul vl]":    {Signal: SignalHalt},
			"str z0, [x1, #1, mul vl]":     {Signal: SignalWatch, Address: 0x208},
			"str z0, [x1, #2, mul vl]":     {Signal: SignalHalt},
			"add x1, x1, #4\nldr z0, [x1]": {Signal: SignalFault, Fault: FaultAlignment, Address: 0x10C},
		} {
			code := assemble(t, "movz x1, #0x108\nindex z0.d, x1, x1\n"+text+"\nhlt #0")
			if err := errors.Join(v.Load(t.Context(), code, 0), v.Watch(t.Context(), 0x300, 8)); err != nil {
				t.Fatal(err)
			}
			p := &pair{v, references(t, v, code, 0)}
			if _, err := p.RunMega(t.Context(), 10); err != nil {
				t.Fatal(err)
			}
			for _, r := range p.cpu {
				if err := r.Watch(0x300, 8); err != nil {
					t.Fatal(err)
				}
				r.Run(10)
				if r.Signal != want.Signal || r.Fault != want.Fault || r.Address != want.Address {
					t.Errorf("%q: %v %v at %#x", text, r.Signal, r.Fault, r.Address)
				}
			}
			p.compare(t)
		}
	}
}

// TestVectorsAreAnOption runs an instruction on vectors on machines without them.
func TestVectorsAreAnOption(t *testing.T) {
	p := newPair(t, Options{MemoryBytes: 1024}, assemble(t, "dup z0.d, x0\nhlt #0"), 0)
	r, err := p.RunMega(t.Context(), 5)
	if err != nil || r.Signal != SignalFault || r.Fault != FaultUndefined {
		t.Errorf("%+v, %v", r, err)
	}
	p.cpu[0].Run(5)
	p.compare(t)
	if err := p.ReadVectors(t.Context(), 0, new(VectorRegisters)); err == nil || !strings.Contains(err.Error(), "Options.Vectors") {
		t.Errorf("reading vector registers: %v", err)
	}
}

// TestGroupRefusesAnArray checks the one option that machines of a group do not have.
func TestGroupRefusesAnArray(t *testing.T) {
	o := Options{Machines: 1, MemoryBytes: 1024, MachinePerGroup: true, RegisterArray: true}
	p := newPair(t, Options{MemoryBytes: 1024}, assemble(t, "hlt #0"), 0)
	if err := o.withDefaults(p.context.Info()).validate(p.context.Info()); err == nil || !strings.Contains(err.Error(), "shared memory") {
		t.Error(err)
	}
}
