package interpreter

import "fmt"

// Disassemble returns an instruction in the syntax of the assembler, with the address of
// a branch's destination. pc is the address of the instruction. Undefined ones are
// returned as .word.
func Disassemble(raw uint32, pc uint64) string {
	in := decode(raw)
	switch in.op {
	case add:
		return in.sumText(raw)
	case load, store:
		name := "str"
		if in.op == load {
			name = "ldr"
		}
		if in.value == 0 {
			return fmt.Sprintf("%s %s, [%s]", name, slotName(in.rd), slotName(in.rn))
		}
		return fmt.Sprintf("%s %s, [%s, #%d]", name, slotName(in.rd), slotName(in.rn), in.value)
	case branch:
		name := "b"
		if raw>>26 != 0b000101 {
			name = "b." + conditions[in.cond]
		}
		return fmt.Sprintf("%s %#x", name, pc+in.value*4)
	case supervisorCall:
		return fmt.Sprintf("svc #%d", in.value)
	case halt:
		return fmt.Sprintf("hlt #%d", in.value)
	case vector:
		return in.vectorText()
	}
	return fmt.Sprintf(".word %#08x", raw)
}

func (in instruction) sumText(raw uint32) string {
	if in.move {
		if hw := raw >> 21 & 3; hw != 0 {
			return fmt.Sprintf("movz %s, #%d, lsl #%d", slotName(in.rd), raw>>5&0xFFFF, hw*16)
		}
		return fmt.Sprintf("movz %s, #%d", slotName(in.rd), in.value)
	}
	name := "add"
	if in.subtract {
		name = "sub"
	}
	if in.flags {
		name += "s"
	}
	second := slotName(in.rm)
	if in.immediate {
		second = fmt.Sprintf("#%d", in.value)
		if raw>>22&1 == 1 {
			second = fmt.Sprintf("#%d, lsl #12", in.value>>12)
		}
	}
	return fmt.Sprintf("%s %s, %s, %s", name, slotName(in.rd), slotName(in.rn), second)
}

func slotName(slot uint8) string {
	switch slot {
	case slotSP:
		return "sp"
	case slotZero, slotNone:
		return "xzr"
	}
	return fmt.Sprintf("x%d", slot)
}
