package interpreter

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// VectorElements is the number of elements of 64 bits of a vector register: registers of
// the scalable vector extension have 2048 bits here, the most that it allows.
const VectorElements = 32

// vectorBytes is the size of a vector register.
const vectorBytes = 8 * VectorElements

// VectorRegisters are z0 to z31 of a machine.
type VectorRegisters [32][VectorElements]uint64

// The instructions on vectors, with the numbers of kernels/vector.glsl.
const (
	vectorAdd = iota
	vectorSub
	vectorXor
	vectorMul
	vectorDup
	vectorIndex
	vectorLoad
	vectorStore
)

// vectorSums are the instructions on three vector registers, by name.
var vectorSums = map[string]struct {
	number uint8
	bits   uint32
}{
	"add": {vectorAdd, 0x04E00000}, "sub": {vectorSub, 0x04E00400},
	"eor": {vectorXor, 0x04A03000}, "mul": {vectorMul, 0x04E06000},
}

const (
	bitsDup         = 0x05E03800
	bitsIndex       = 0x04E04C00
	bitsVectorLoad  = 0x85804000
	bitsVectorStore = 0xE5804000

	maskVectorSum    = 0xFFE0FC00
	maskDup          = 0xFFFFFC00
	maskVectorAccess = 0xFFC0E000
)

// decodeVector returns the instruction of an encoding on vectors.
//
//	31       24 23 22 21 20   16 15    10 9    5 4    0
//	00000100    11    1  Zm      000000   Zn     Zd      ADD
//	00000100    11    1  Zm      000001   Zn     Zd      SUB
//	00000100    10    1  Zm      001100   Zn     Zd      EOR
//	00000100    11    1  Zm      011000   Zn     Zd      MUL
//	00000101    11    1  00000   001110   Rn     Zd      DUP
//	00000100    11    1  Rm      010011   Rn     Zd      INDEX
//	1000010110  imm9h            010 imm9l Rn    Zt      LDR
//	1110010110  imm9h            010 imm9l Rn    Zt      STR
func decodeVector(raw uint32) instruction {
	in := instruction{op: vector, rd: uint8(raw & 31), rn: uint8(raw >> 5 & 31), rm: uint8(raw >> 16 & 31)}
	for _, sum := range vectorSums {
		if raw&maskVectorSum == sum.bits {
			in.vector = sum.number
			return in
		}
	}
	switch {
	case raw&maskDup == bitsDup:
		in.vector, in.rn, in.rm = vectorDup, base(raw), slotZero
	case raw&maskVectorSum == bitsIndex:
		in.vector, in.rn, in.rm = vectorIndex, operand(raw>>5), operand(raw>>16)
	case raw&maskVectorAccess == bitsVectorLoad, raw&maskVectorAccess == bitsVectorStore:
		in.vector = vectorLoad
		if raw&maskVectorAccess == bitsVectorStore {
			in.vector = vectorStore
		}
		in.rn, in.rm, in.immediate = base(raw), slotZero, true
		in.value = uint64(vectorOffset(raw) * vectorBytes)
	default:
		return instruction{}
	}
	return in
}

// vectorOffset returns the offset of an access, in vectors.
func vectorOffset(raw uint32) int64 {
	bits := raw>>16&0x3F<<3 | raw>>10&7
	return int64(int32(bits<<23) >> 23)
}

// doVector executes an instruction on vectors.
func (r *Reference) doVector(in *instruction) {
	a, b, z := r.get(in.rn), r.get(in.rm), &r.Z
	switch in.vector {
	case vectorLoad, vectorStore:
		r.vectorAccess(in, a+in.value)
		return
	}
	var result [VectorElements]uint64
	for i := range result {
		switch in.vector {
		case vectorAdd:
			result[i] = z[in.rn][i] + z[in.rm][i]
		case vectorSub:
			result[i] = z[in.rn][i] - z[in.rm][i]
		case vectorXor:
			result[i] = z[in.rn][i] ^ z[in.rm][i]
		case vectorMul:
			result[i] = z[in.rn][i] * z[in.rm][i]
		case vectorDup:
			result[i] = a
		case vectorIndex:
			result[i] = a + uint64(i)*b
		}
	}
	z[in.rd] = result
}

// vectorAccess loads or stores a vector register.
func (r *Reference) vectorAccess(in *instruction, address uint64) {
	switch size := uint64(len(r.Memory)); {
	case address >= size, address/8+VectorElements > size/8:
		r.Fault = FaultAddress
	case address%8 != 0:
		r.Fault = FaultAlignment
	case in.vector == vectorStore && address+vectorBytes > r.codeBase && address < r.codeEnd:
		r.Fault = FaultCode
	}
	if r.Fault != FaultNone {
		r.Signal, r.Address = SignalFault, address
		return
	}
	for i := range r.Z[in.rd] {
		at := r.Memory[address+8*uint64(i):]
		if in.vector == vectorLoad {
			r.Z[in.rd][i] = binary.LittleEndian.Uint64(at)
		} else {
			binary.LittleEndian.PutUint64(at, r.Z[in.rd][i])
		}
	}
	if in.vector == vectorStore && r.watch.contains(address, VectorElements) {
		r.Signal, r.Address = SignalWatch, address
	}
}

// encodeVector encodes an instruction whose first operand is a vector register. It returns
// false for one that has none.
func encodeVector(s statement) (raw uint32, why string, ok bool) {
	if len(s.operands) == 0 || !isVector(s.operands[0]) {
		return 0, "", false
	}
	switch sum, known := vectorSums[s.mnemonic]; {
	case known:
		raw, why = vectorForm(s, sum.bits, "zzz")
	case s.mnemonic == "dup", s.mnemonic == "mov":
		raw, why = vectorForm(s, bitsDup, "zs")
	case s.mnemonic == "index":
		raw, why = vectorForm(s, bitsIndex, "zxx")
	case s.mnemonic == "ldr":
		raw, why = encodeVectorAccess(s, bitsVectorLoad)
	case s.mnemonic == "str":
		raw, why = encodeVectorAccess(s, bitsVectorStore)
	default:
		why = fmt.Sprintf("there is no instruction %q on vectors here", s.mnemonic)
	}
	return raw, why, true
}

// vectorForm encodes registers: z a vector of 64-bit elements, x a register or xzr, s a
// register or sp.
func vectorForm(s statement, raw uint32, form string) (uint32, string) {
	whys := []string{count(s, len(form), len(form))}
	for i, kind := range form {
		var n uint32
		var why string
		switch kind {
		case 'z':
			n, why = vectorRegister(s, i, ".d")
		case 'x':
			n, why = register(s, i, "xzr")
		default:
			n, why = register(s, i, "sp")
		}
		raw |= n << [...]int{0, 5, 16}[i]
		whys = append(whys, why)
	}
	return raw, firstOf(whys...)
}

// encodeVectorAccess encodes [register] or [register, #offset, mul vl].
func encodeVectorAccess(s statement, raw uint32) (uint32, string) {
	why0 := bracketed(&s)
	rt, why := vectorRegister(s, 0, "")
	rn, why2 := register(s, 1, "sp")
	var offset int64
	var why3 string
	if len(s.operands) > 2 {
		var err error
		offset, err = strconv.ParseInt(strings.TrimPrefix(s.operands[2], "#"), 0, 64)
		if err != nil || offset < -256 || offset > 255 || len(s.operands) != 4 || s.operands[3] != "mul vl" {
			why3 = "the offset must be -256 to 255, and mul vl behind it"
		}
	}
	bits := uint32(offset) & 0x1FF
	return raw | bits>>3<<16 | bits&7<<10 | rn<<5 | rt, firstOf(why0, why, why2, why3, count(s, 2, 4))
}

// vectorRegister returns the vector register of operand i, which has a suffix.
func vectorRegister(s statement, i int, suffix string) (uint32, string) {
	if i >= len(s.operands) {
		return 0, fmt.Sprintf("%s needs more operands", s.mnemonic)
	}
	digits, ok := strings.CutPrefix(s.operands[i], "z")
	digits, suffixed := strings.CutSuffix(digits, suffix)
	n, err := strconv.ParseUint(digits, 10, 8)
	if !ok || !suffixed || err != nil || n > 31 {
		return 0, fmt.Sprintf("%q is none of z0%s to z31%s", s.operands[i], suffix, suffix)
	}
	return uint32(n), ""
}

// isVector reports whether an operand has the form of a vector register.
func isVector(operand string) bool {
	return len(operand) > 1 && operand[0] == 'z' && operand[1] >= '0' && operand[1] <= '9'
}

// vectorText returns an instruction on vectors in the syntax of the assembler.
func (in instruction) vectorText() string {
	for name, sum := range vectorSums {
		if sum.number == in.vector {
			return fmt.Sprintf("%s z%d.d, z%d.d, z%d.d", name, in.rd, in.rn, in.rm)
		}
	}
	switch in.vector {
	case vectorDup:
		return fmt.Sprintf("dup z%d.d, %s", in.rd, slotName(in.rn))
	case vectorIndex:
		return fmt.Sprintf("index z%d.d, %s, %s", in.rd, slotName(in.rn), slotName(in.rm))
	}
	name := "str"
	if in.vector == vectorLoad {
		name = "ldr"
	}
	if in.value == 0 {
		return fmt.Sprintf("%s z%d, [%s]", name, in.rd, slotName(in.rn))
	}
	return fmt.Sprintf("%s z%d, [%s, #%d, mul vl]", name, in.rd, slotName(in.rn), int64(in.value)/vectorBytes)
}
