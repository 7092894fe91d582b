package interpreter

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Assemble returns the little-endian code of a text. A line is
//
//	label:  mnemonic operand, operand ...   // comment, also ; comment
//
// with the instructions of the package documentation in upper or lower case, numbers
// decimal or 0x, immediates with # or without, or .word NUMBER. The code may be loaded at
// any address: branches are relative. name is the file in errors, which are *SyntaxError.
func Assemble(name, text string) ([]byte, error) {
	a := assembler{labels: map[string]int{}}
	for i, line := range strings.Split(text, "\n") {
		if why := a.line(line, i+1); why != "" {
			return nil, &SyntaxError{name, i + 1, why}
		}
	}
	var code []byte
	for at, s := range a.statements {
		raw, why := a.encode(s, at)
		if why != "" {
			return nil, &SyntaxError{name, s.line, why}
		}
		code = binary.LittleEndian.AppendUint32(code, raw)
	}
	return code, nil
}

// assembler assembles one text.
type assembler struct {
	labels     map[string]int // to the instruction's index
	statements []statement
}

type statement struct {
	line     int
	mnemonic string
	operands []string
}

// line parses a line and returns what is wrong with it, or "".
func (a *assembler) line(text string, number int) string {
	text, _, _ = strings.Cut(text, "//")
	text, _, _ = strings.Cut(text, ";")
	text = strings.TrimSpace(text)
	for {
		label, rest, ok := strings.Cut(text, ":")
		if !ok {
			break
		}
		label = strings.TrimSpace(label)
		if _, twice := a.labels[label]; twice || label == "" || strings.ContainsAny(label, " \t,#[") {
			return fmt.Sprintf("%q is no new label", label)
		}
		a.labels[label] = len(a.statements)
		text = strings.TrimSpace(rest)
	}
	if text == "" {
		return ""
	}
	mnemonic, rest, _ := strings.Cut(strings.ReplaceAll(text, "\t", " "), " ")
	s := statement{line: number, mnemonic: strings.ToLower(mnemonic), operands: operandsOf(rest)}
	if slices.Contains(s.operands, "") {
		return "an operand is missing before or behind a comma"
	}
	if s.mnemonic != "b" && !strings.HasPrefix(s.mnemonic, "b.") { // labels are case sensitive
		for i, operand := range s.operands {
			s.operands[i] = strings.ToLower(operand)
		}
	}
	a.statements = append(a.statements, s)
	return ""
}

// operandsOf splits text at commas outside brackets.
func operandsOf(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var list []string
	from, inside := 0, false
	for i, c := range text + "," {
		switch {
		case c == '[':
			inside = true
		case c == ']':
			inside = false
		case c == ',' && (!inside || i == len(text)):
			list = append(list, strings.Join(strings.Fields(text[from:i]), " "))
			from = i + 1
		}
	}
	return list
}

// conditions in the order of their encoding.
var conditions = []string{"eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al", "nv"}

// sums are the additions: the bits op and S, and whether the result is discarded.
var sums = map[string]struct {
	bits    uint32
	compare bool
}{"add": {0, false}, "adds": {1, false}, "sub": {2, false}, "subs": {3, false}, "cmn": {1, true}, "cmp": {3, true}}

func (a *assembler) encode(s statement, at int) (raw uint32, why string) {
	if raw, why, ok := encodeVector(s); ok {
		return raw, why
	}
	switch s.mnemonic {
	case "movz", "mov":
		return encodeMove(s)
	case "ldr", "str":
		return encodeAccess(s)
	case "b", "b.hs", "b.lo":
		cond := map[string]uint32{"b.hs": 2, "b.lo": 3}[s.mnemonic]
		return a.encodeBranch(s, at, s.mnemonic != "b", cond)
	case "hlt", "svc":
		return encodeStop(s)
	case ".word":
		v, why := number(s, 0, 1<<32-1)
		return uint32(v), firstOf(why, count(s, 1, 1))
	}
	if _, ok := sums[s.mnemonic]; ok {
		return encodeSum(s)
	}
	if name, ok := strings.CutPrefix(s.mnemonic, "b."); ok {
		if cond := slices.Index(conditions, name); cond >= 0 {
			return a.encodeBranch(s, at, true, uint32(cond))
		}
	}
	return 0, fmt.Sprintf("there is no instruction %q here", s.mnemonic)
}

// encodeMove encodes a constant, and a move from or to SP as ADD #0.
func encodeMove(s statement) (uint32, string) {
	if s.mnemonic == "mov" && len(s.operands) == 2 {
		switch {
		case s.operands[0] == "sp" || s.operands[1] == "sp":
			s.mnemonic, s.operands = "add", append(s.operands, "#0")
			return encodeSum(s)
		case isRegister(s.operands[1]):
			return 0, fmt.Sprintf("mov between registers is an ORR, which is not here: add %s, %s, xzr does the same", s.operands[0], s.operands[1])
		}
	}
	rd, why := register(s, 0, "xzr")
	v, why2 := number(s, 1, 0xFFFF)
	shift, why3 := shift(s, 2, 16, 3)
	if why := firstOf(why, why2, why3, count(s, 2, 3)); why != "" {
		return 0, why
	}
	return 0xD2800000 | shift<<21 | uint32(v)<<5 | rd, ""
}

func encodeSum(s statement) (uint32, string) {
	kind := sums[s.mnemonic]
	if kind.compare {
		s.operands = append([]string{"xzr"}, s.operands...)
	}
	if why := count(s, 3, 4); why != "" {
		return 0, why
	}
	operation := kind.bits << 29
	if isRegister(s.operands[2]) {
		rd, why := register(s, 0, "xzr")
		rn, why2 := register(s, 1, "xzr")
		rm, why3 := register(s, 2, "xzr")
		return 0x8B000000 | operation | rm<<16 | rn<<5 | rd, firstOf(why, why2, why3, count(s, 3, 3))
	}
	last := "sp"
	if kind.bits&1 == 1 {
		last = "xzr"
	}
	rd, why := register(s, 0, last)
	rn, why2 := register(s, 1, "sp")
	v, why3 := number(s, 2, 0xFFF)
	shift, why4 := shift(s, 3, 12, 1)
	return 0x91000000 | operation | shift<<22 | uint32(v)<<10 | rn<<5 | rd, firstOf(why, why2, why3, why4)
}

func encodeAccess(s statement) (uint32, string) {
	why0 := bracketed(&s)
	rt, why := register(s, 0, "xzr")
	rn, why2 := register(s, 1, "sp")
	var offset uint64
	var why3 string
	if len(s.operands) > 2 {
		offset, why3 = number(s, 2, 0xFFF*8)
	}
	if offset%8 != 0 {
		why3 = "the offset must be a multiple of 8"
	}
	raw := uint32(0xF9000000)
	if s.mnemonic == "ldr" {
		raw = 0xF9400000
	}
	return raw | uint32(offset/8)<<10 | rn<<5 | rt, firstOf(why0, why, why2, why3, count(s, 2, 3))
}

// bracketed removes the brackets around the address of an access.
func bracketed(s *statement) string {
	const form = "the address must be [register] or [register, #offset], without pre- or post-index"
	if len(s.operands) < 2 {
		return fmt.Sprintf("%s needs more operands", s.mnemonic)
	}
	inner, opened := strings.CutPrefix(s.operands[1], "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !opened || !closed || strings.ContainsAny(inner, "[]") || len(s.operands) > 2 {
		return form
	}
	s.operands = append(s.operands[:1:1], operandsOf(inner)...)
	return ""
}

func (a *assembler) encodeBranch(s statement, at int, conditional bool, cond uint32) (uint32, string) {
	if why := count(s, 1, 1); why != "" {
		return 0, why
	}
	to, ok := a.labels[s.operands[0]]
	if !ok {
		return 0, fmt.Sprintf("there is no label %q", s.operands[0])
	}
	distance := to - at
	bits := 26
	if conditional {
		bits = 19
	}
	if distance < -1<<(bits-1) || distance >= 1<<(bits-1) {
		return 0, fmt.Sprintf("%q is too far away", s.operands[0])
	}
	field := uint32(distance) & (1<<bits - 1)
	if conditional {
		return 0x54000000 | field<<5 | cond, ""
	}
	return 0x14000000 | field, ""
}

func encodeStop(s statement) (uint32, string) {
	v, why := number(s, 0, 0xFFFF)
	raw := uint32(0xD4400000)
	if s.mnemonic == "svc" {
		raw = 0xD4000001
	}
	return raw | uint32(v)<<5, firstOf(why, count(s, 1, 1))
}

// register returns the register of operand i; last is the name of number 31 in it.
func register(s statement, i int, last string) (uint32, string) {
	if i >= len(s.operands) {
		return 0, fmt.Sprintf("%s needs more operands", s.mnemonic)
	}
	name := s.operands[i]
	if name == last {
		return 31, ""
	}
	digits, ok := strings.CutPrefix(name, "x")
	n, err := strconv.ParseUint(digits, 10, 8)
	if !ok || err != nil || n > 30 {
		if half, is := strings.CutPrefix(name, "w"); is && isRegister("x"+half) {
			return 0, fmt.Sprintf("%q has 32 bits: registers have 64 here, x0 to x30 and %s", name, last)
		}
		return 0, fmt.Sprintf("%q is none of x0 to x30 and %s", name, last)
	}
	return uint32(n), ""
}

// isRegister reports whether an operand has the form of a register.
func isRegister(operand string) bool {
	return operand == "sp" || len(operand) > 1 && (operand[0] == 'x' || operand[0] == 'w')
}

// number returns the number of operand i, from 0 to most.
func number(s statement, i int, most uint64) (uint64, string) {
	if i >= len(s.operands) {
		return 0, fmt.Sprintf("%s needs more operands", s.mnemonic)
	}
	v, err := strconv.ParseUint(strings.TrimPrefix(s.operands[i], "#"), 0, 64)
	if err != nil || v > most {
		return 0, fmt.Sprintf("%q is no number from 0 to %d", s.operands[i], most)
	}
	return v, ""
}

// shift returns n/step of operand i, "lsl #n", or 0 where there is none. n must be a
// multiple of step, at most most times step.
func shift(s statement, i int, step, most uint64) (uint32, string) {
	if i >= len(s.operands) {
		return 0, ""
	}
	text, ok := strings.CutPrefix(s.operands[i], "lsl ")
	v, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 0, 8)
	if !ok || err != nil || v%step != 0 || v/step > most {
		return 0, fmt.Sprintf("%q is no lsl by a multiple of %d up to %d", s.operands[i], step, step*most)
	}
	return uint32(v / step), ""
}

func count(s statement, least, most int) string {
	if n := len(s.operands); n < least || n > most {
		return fmt.Sprintf("%s does not take %d operands", s.mnemonic, n)
	}
	return ""
}

func firstOf(whys ...string) string {
	for _, why := range whys {
		if why != "" {
			return why
		}
	}
	return ""
}
