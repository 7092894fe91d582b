package interpreter

import (
	"encoding/binary"
	"math/bits"
)

// MachineState is the state of a machine without its memory.
type MachineState struct {
	X       [31]uint64 // x0 to x30
	SP      uint64
	PC      uint64
	Flags   uint32 // N 8, Z 4, C 2, V 1
	Signal  Signal
	Number  uint16 // of the HLT or SVC at which it stopped
	Fault   Fault
	Address uint64 // of the access that failed or is watched
	Cycles  uint64 // instructions done, the last HLT or SVC included
}

// Reference is one machine on the CPU, written from the manual of the architecture, with
// 64-bit arithmetic. The GPU must agree with it. The code is decoded once, so it must not
// be written. It must be used from one goroutine.
type Reference struct {
	MachineState
	Memory []byte

	// Vectors has the machine execute instructions on vectors, with the registers Z, as
	// Options.Vectors does.
	Vectors bool
	Z       VectorRegisters

	codeBase, codeEnd uint64
	code              []instruction
	watch             wordRange
}

// NewReference makes a machine and loads code at base, which becomes its program counter.
// The conditions are those of Interpreter.Load.
func NewReference(memoryBytes int, code []byte, base uint64) (*Reference, error) {
	if err := checkMemory(memoryBytes); err != nil {
		return nil, err
	}
	if err := checkCode(code, base, memoryBytes); err != nil {
		return nil, err
	}
	r := &Reference{Memory: make([]byte, memoryBytes), codeBase: base, codeEnd: base + uint64(len(code))}
	copy(r.Memory[base:], code)
	r.code = make([]instruction, len(code)/4)
	for i := range r.code {
		r.code[i] = decode(binary.LittleEndian.Uint32(code[4*i:]))
	}
	r.PC = base
	return r, nil
}

// Run does up to n instructions, and less where the machine stops. It resumes after a
// signal as documented at Signal.
func (r *Reference) Run(n uint64) {
	switch r.Signal {
	case SignalHalt, SignalFault:
		return
	case SignalSyscall:
		r.PC += 4
	}
	r.Signal, r.Number, r.Address = SignalRunning, 0, 0
	for ; n > 0 && r.Signal == SignalRunning; n-- {
		r.step()
	}
	if r.Signal == SignalRunning {
		r.Signal = SignalCheckpoint
	}
}

// Watch sets the watched range, as Interpreter.Watch does.
func (r *Reference) Watch(address uint64, n int) error {
	watch, err := newWordRange(address, n, len(r.Memory))
	if err == nil {
		r.watch = watch
	}
	return err
}

func (r *Reference) step() {
	if r.PC < r.codeBase || r.PC >= r.codeEnd || r.PC%4 != 0 {
		r.Signal, r.Fault = SignalFault, FaultPC
		return
	}
	in := &r.code[(r.PC-r.codeBase)/4]
	next := r.PC + 4
	switch in.op {
	case add:
		r.add(in)
	case branch:
		if holds(in.cond, r.Flags) {
			next = r.PC + in.value*4
		}
	case load, store:
		if r.Address, r.Fault = r.access(in); r.Fault != FaultNone {
			r.Signal = SignalFault
			return
		}
		if r.Address = 0; in.op == store && r.watch.contains(r.get(in.rn)+in.value, 1) {
			r.Signal, r.Address = SignalWatch, r.get(in.rn)+in.value
		}
	case supervisorCall:
		r.Signal, r.Number, next = SignalSyscall, uint16(in.value), r.PC
	case halt:
		r.Signal, r.Number, next = SignalHalt, uint16(in.value), r.PC
	case vector:
		if !r.Vectors {
			r.Signal, r.Fault = SignalFault, FaultUndefined
			return
		}
		if r.doVector(in); r.Signal == SignalFault {
			return
		}
	default:
		r.Signal, r.Fault = SignalFault, FaultUndefined
		return
	}
	r.PC = next
	r.Cycles++
}

func (r *Reference) add(in *instruction) {
	a, b, carry := r.get(in.rn), r.get(in.rm), uint64(0)
	if in.immediate {
		b = in.value
	}
	if in.subtract {
		b, carry = ^b, 1
	}
	sum, carried := bits.Add64(a, b, carry)
	r.put(in.rd, sum)
	if in.flags {
		overflow := (a ^ sum) & (b ^ sum) >> 63
		r.Flags = uint32(sum>>63<<3 | carried<<1 | overflow&1)
		if sum == 0 {
			r.Flags |= 4
		}
	}
}

// access loads or stores.
func (r *Reference) access(in *instruction) (uint64, Fault) {
	address := r.get(in.rn) + in.value
	switch {
	case address >= uint64(len(r.Memory)):
		return address, FaultAddress
	case address%8 != 0:
		return address, FaultAlignment
	case in.op == load:
		r.put(in.rd, binary.LittleEndian.Uint64(r.Memory[address:]))
	case address+8 > r.codeBase && address < r.codeEnd:
		return address, FaultCode
	default:
		binary.LittleEndian.PutUint64(r.Memory[address:], r.get(in.rd))
	}
	return address, FaultNone
}

func (r *Reference) get(slot uint8) uint64 {
	switch slot {
	case slotZero:
		return 0
	case slotSP:
		return r.SP
	}
	return r.X[slot]
}

func (r *Reference) put(slot uint8, v uint64) {
	switch slot {
	case slotNone:
	case slotSP:
		r.SP = v
	default:
		r.X[slot] = v
	}
}
