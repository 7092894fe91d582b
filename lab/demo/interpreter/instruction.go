package interpreter

// operation is the kind of an instruction.
type operation uint8

const (
	undefined operation = iota
	add                 // also MOVZ, as XZR + immediate, and SUB
	branch
	load
	store
	supervisorCall
	halt
	vector
)

// Register slots after X0 to X30. Number 31 of an encoding is one of them, depending on
// the instruction.
const (
	slotSP   = 31
	slotZero = 32 // XZR as an operand
	slotNone = 33 // XZR as a result
)

// always is the condition of a branch that is always taken.
const always = 14

// instruction is a decoded instruction.
type instruction struct {
	op        operation
	move      bool // MOVZ
	immediate bool // the second operand is value
	subtract  bool
	flags     bool  // sets NZCV
	rd        uint8 // slot that is written; for a store, that is stored
	rn, rm    uint8 // slots of operands
	cond      uint8
	vector    uint8  // of vector: see vector.go
	value     uint64 // immediate; distance of a branch in instructions, as int64
}

// decode returns the instruction of an encoding.
//
//	31            23 22 21      16 15     10 9    5 4    0
//	1 10 100101 hw imm16                            Rd      MOVZ
//	1 op S 100010 sh imm12                   Rn     Rd      ADD, SUB immediate
//	1 op S 01011 00 0 Rm           000000    Rn     Rd      ADD, SUB register
//	11 111 0 01 0 L imm12                    Rn     Rt      STR, LDR
//	000101 imm26                                            B
//	01010100 imm19                           0      cond    B.cond
//	11010100 000 imm16                       000    01      SVC
//	11010100 010 imm16                       000    00      HLT
//
// Those on vectors are in vector.go.
func decode(raw uint32) instruction {
	switch {
	case raw>>23 == 0b110100101:
		return instruction{op: add, move: true, immediate: true, rd: result(raw, false), rn: slotZero, rm: slotZero,
			value: uint64(raw>>5&0xFFFF) << (raw >> 21 & 3 * 16)}
	case raw>>31 == 1 && raw>>23&0x3F == 0b100010:
		in := sumOf(raw)
		in.immediate, in.value = true, uint64(raw>>10&0xFFF)<<(raw>>22&1*12)
		in.rd, in.rn, in.rm = result(raw, !in.flags), base(raw), slotZero
		return in
	case raw>>31 == 1 && raw>>24&0x1F == 0b01011 && raw>>21&7 == 0 && raw>>10&0x3F == 0:
		in := sumOf(raw)
		in.rd, in.rn, in.rm = result(raw, false), operand(raw>>5), operand(raw>>16)
		return in
	case raw>>22 == 0b1111100100:
		return instruction{op: store, immediate: true, rd: operand(raw), rn: base(raw), rm: slotZero, value: uint64(raw>>10&0xFFF) * 8}
	case raw>>22 == 0b1111100101:
		return instruction{op: load, immediate: true, rd: result(raw, false), rn: base(raw), rm: slotZero, value: uint64(raw>>10&0xFFF) * 8}
	case raw>>26 == 0b000101:
		return instruction{op: branch, cond: always, value: uint64(int64(int32(raw<<6) >> 6))}
	case raw>>24 == 0b01010100 && raw&0x10 == 0:
		return instruction{op: branch, cond: uint8(raw & 15), value: uint64(int64(int32(raw<<8) >> 13))}
	case raw>>21 == 0b11010100000 && raw&0x1F == 1:
		return instruction{op: supervisorCall, value: uint64(raw >> 5 & 0xFFFF)}
	case raw>>21 == 0b11010100010 && raw&0x1F == 0:
		return instruction{op: halt, value: uint64(raw >> 5 & 0xFFFF)}
	}
	return decodeVector(raw)
}

func sumOf(raw uint32) instruction {
	return instruction{op: add, subtract: raw>>30&1 == 1, flags: raw>>29&1 == 1}
}

// operand returns a register that is read; 31 is zero.
func operand(bits uint32) uint8 {
	if bits&31 == 31 {
		return slotZero
	}
	return uint8(bits & 31)
}

// base returns the register at bit 5 that is read; 31 is SP.
func base(raw uint32) uint8 { return uint8(raw >> 5 & 31) }

// result returns the register that is written; 31 is SP or none.
func result(raw uint32, sp bool) uint8 {
	if raw&31 == 31 && !sp {
		return slotNone
	}
	return uint8(raw & 31)
}

// holds reports whether a condition holds for the flags NZCV, N being bit 3.
func holds(cond uint8, flags uint32) bool {
	n, z, c, v := flags&8 != 0, flags&4 != 0, flags&2 != 0, flags&1 != 0
	is := true
	switch cond >> 1 {
	case 0:
		is = z
	case 1:
		is = c
	case 2:
		is = n
	case 3:
		is = v
	case 4:
		is = c && !z
	case 5:
		is = n == v
	case 6:
		is = n == v && !z
	default:
		return true
	}
	return is != (cond&1 == 1)
}

// The decoded form of the kernels: see kernels/machine.glsl.
const (
	kindSum = iota
	kindBranch
	kindLoad
	kindStore
	kindSyscall
	kindHalt
	kindUndefined
	kindVector

	bitFlags    = 0x08
	bitSubtract = 0x10
	bitBreak    = 0x20
)

// kinds are the kernel's numbers of operations.
var kinds = map[operation]uint32{add: kindSum, branch: kindBranch, load: kindLoad, store: kindStore,
	supervisorCall: kindSyscall, halt: kindHalt, undefined: kindUndefined, vector: kindVector}

// kernelWords returns the encoding of an instruction for the kernel; at is its index in the
// code.
func (in instruction) kernelWords(raw uint32, at int) [4]uint32 {
	word := kinds[in.op] | uint32(in.rd)<<8 | uint32(in.rn)<<14 | uint32(in.rm)<<20 | uint32(in.vector)<<26
	if in.flags {
		word |= bitFlags
	}
	if in.subtract {
		word |= bitSubtract
	}
	if in.op == branch {
		var taken uint32
		for flags := range uint32(16) {
			if holds(in.cond, flags) {
				taken |= 1 << flags
			}
		}
		return [4]uint32{word, uint32(at) + uint32(in.value), taken, raw}
	}
	return [4]uint32{word, uint32(in.value), uint32(in.value >> 32), raw}
}
