package interpreter

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// model is a second implementation of a machine, from the pseudocode of the Arm
// Architecture Reference Manual, that uses no code of this package: it matches encodings
// by their text in the manual, adds in unbounded integers, and has separate flags. The
// Reference and the GPU are compared with it.
type model struct {
	x       [31]uint64
	sp, pc  uint64
	n, c, v bool
	zero    bool
	memory  []byte
	code    [2]uint64 // from, to
	cycles  uint64
	stop    string // why it stopped, or ""
	number  uint64
	address uint64
	vectors bool
	z       [32][VectorElements]*big.Int // nil is 0
}

// manual has the encodings as the manual prints them: a letter names a field.
var manual = []struct{ name, bits string }{
	{"movz", "1 10 100101 hh iiiiiiiiiiiiiiii ddddd"},
	{"sum immediate", "1 o s 100010 h iiiiiiiiiiii nnnnn ddddd"},
	{"sum register", "1 o s 01011 00 0 mmmmm 000000 nnnnn ddddd"},
	{"str", "11 111 0 01 00 iiiiiiiiiiii nnnnn ddddd"},
	{"ldr", "11 111 0 01 01 iiiiiiiiiiii nnnnn ddddd"},
	{"b", "0 00101 iiiiiiiiiiiiiiiiiiiiiiiiii"},
	{"b.cond", "0101010 0 iiiiiiiiiiiiiiiiiii 0 cccc"},
	{"svc", "11010100 000 iiiiiiiiiiiiiiii 000 01"},
	{"hlt", "11010100 010 iiiiiiiiiiiiiiii 000 00"},
	{"add vector", "00000100 11 1 mmmmm 000 000 nnnnn ddddd"},
	{"sub vector", "00000100 11 1 mmmmm 000 001 nnnnn ddddd"},
	{"eor vector", "00000100 10 1 mmmmm 001100 nnnnn ddddd"},
	{"mul vector", "00000100 11 1 mmmmm 011000 nnnnn ddddd"},
	{"dup", "00000101 11 1 00000 001110 nnnnn ddddd"},
	{"index", "00000100 11 1 mmmmm 010011 nnnnn ddddd"},
	{"ldr vector", "1000010110 hhhhhh 010 lll nnnnn ddddd"},
	{"str vector", "1110010110 hhhhhh 010 lll nnnnn ddddd"},
}

// recognise returns the encoding of a word, its fields and their numbers of bits.
func recognise(raw uint32) (name string, fields map[rune]uint32, widths map[rune]int) {
	for _, entry := range manual {
		if !fits(raw, entry.bits) {
			continue
		}
		fields, widths = map[rune]uint32{}, map[rune]int{}
		at := 32
		for _, c := range entry.bits {
			if c != ' ' {
				at--
				fields[c] = fields[c]<<1 | raw>>at&1
				widths[c]++
			}
		}
		return entry.name, fields, widths
	}
	return "", nil, nil
}

// fits reports whether a word has the zeros and ones of an encoding.
func fits(raw uint32, bits string) bool {
	at := 32
	for _, c := range bits {
		if c == ' ' {
			continue
		}
		at--
		if c == '0' && raw>>at&1 == 1 || c == '1' && raw>>at&1 == 0 {
			return false
		}
	}
	return true
}

// register returns X[n], SP where sp is set and n is 31, else 0.
func (m *model) register(n uint32, sp bool) uint64 {
	switch {
	case n < 31:
		return m.x[n]
	case sp:
		return m.sp
	}
	return 0
}

func (m *model) setRegister(n uint32, sp bool, value uint64) {
	switch {
	case n < 31:
		m.x[n] = value
	case sp:
		m.sp = value
	}
}

// addWithCarry is the function of this name in the manual, in unbounded integers.
func (m *model) addWithCarry(x, y uint64, carry int64, setFlags bool) uint64 {
	unsigned := new(big.Int).Add(new(big.Int).SetUint64(x), new(big.Int).SetUint64(y))
	unsigned.Add(unsigned, big.NewInt(carry))
	signed := new(big.Int).Add(big.NewInt(int64(x)), big.NewInt(int64(y)))
	signed.Add(signed, big.NewInt(carry))
	result := new(big.Int).And(unsigned, new(big.Int).SetUint64(1<<64-1)).Uint64()
	if setFlags {
		m.n, m.zero = int64(result) < 0, result == 0
		m.c = new(big.Int).SetUint64(result).Cmp(unsigned) != 0
		m.v = big.NewInt(int64(result)).Cmp(signed) != 0
	}
	return result
}

// conditionHolds is the function of this name in the manual.
func (m *model) conditionHolds(cond uint32) bool {
	result := [8]bool{m.zero, m.c, m.n, m.v, m.c && !m.zero, m.n == m.v, m.n == m.v && !m.zero, true}[cond>>1]
	if cond&1 == 1 && cond != 0b1111 {
		return !result
	}
	return result
}

// step executes one instruction, or sets stop.
func (m *model) step() {
	if m.pc < m.code[0] || m.pc >= m.code[1] {
		m.stop = "pc outside the code"
		return
	}
	name, f, width := recognise(binary.LittleEndian.Uint32(m.memory[m.pc:]))
	next := m.pc + 4
	switch name {
	case "movz":
		m.setRegister(f['d'], false, uint64(f['i'])<<(16*f['h']))
	case "sum immediate", "sum register":
		immediate, setFlags := name == "sum immediate", f['s'] == 1
		x, y := m.register(f['n'], immediate), m.register(f['m'], false)
		if immediate {
			y = uint64(f['i']) << (12 * f['h'])
		}
		carry := int64(0)
		if f['o'] == 1 {
			y, carry = ^y, 1
		}
		m.setRegister(f['d'], immediate && !setFlags, m.addWithCarry(x, y, carry, setFlags))
	case "str", "ldr":
		if m.access(name == "str", m.register(f['n'], true)+8*uint64(f['i']), f['d']); m.stop != "" {
			return
		}
	case "b", "b.cond":
		if name == "b" || m.conditionHolds(f['c']) {
			offset := int64(f['i'])
			if offset >= 1<<(width['i']-1) {
				offset -= 1 << width['i']
			}
			next = m.pc + uint64(4*offset)
		}
	case "svc", "hlt":
		m.stop, m.number, next = name, uint64(f['i']), m.pc
	default:
		if name == "" || !m.vectors {
			m.stop = "undefined instruction"
			return
		}
		if m.vectorStep(name, f); m.stop != "" {
			return
		}
	}
	m.pc = next
	m.cycles++
}

func (m *model) access(store bool, address uint64, register uint32) {
	switch size := uint64(len(m.memory)); {
	case address >= size:
		m.stop = "address outside the memory"
	case address%8 != 0:
		m.stop = "address not aligned to 8 bytes"
	case !store:
		m.setRegister(register, false, binary.LittleEndian.Uint64(m.memory[address:]))
	case address+7 >= m.code[0] && address < m.code[1]:
		m.stop = "store into the code"
	default:
		binary.LittleEndian.PutUint64(m.memory[address:], m.register(register, false))
	}
	if m.stop != "" {
		m.address = address
	}
}

// element returns an element of a vector register, which is no number below 0 or from 2^64
// on.
func (m *model) element(number uint32, i int) *big.Int {
	if m.z[number][i] == nil {
		return new(big.Int)
	}
	return m.z[number][i]
}

// vectorStep executes an instruction on vectors, in unbounded integers.
func (m *model) vectorStep(name string, f map[rune]uint32) {
	if name == "ldr vector" || name == "str vector" {
		m.vectorAccess(name == "str vector", f)
		return
	}
	var result [VectorElements]*big.Int
	for i := range result {
		x, y, to := m.element(f['n'], i), m.element(f['m'], i), new(big.Int)
		switch name {
		case "add vector":
			to.Add(x, y)
		case "sub vector":
			to.Sub(x, y)
		case "eor vector":
			to.Xor(x, y)
		case "mul vector":
			to.Mul(x, y)
		case "dup":
			to.SetUint64(m.register(f['n'], true))
		case "index":
			to.Mul(big.NewInt(int64(i)), new(big.Int).SetUint64(m.register(f['m'], false)))
			to.Add(to, new(big.Int).SetUint64(m.register(f['n'], false)))
		}
		result[i] = to.And(to, new(big.Int).SetUint64(1<<64-1))
	}
	m.z[f['d']] = result
}

// vectorAccess loads or stores 256 bytes, at a multiple of 8.
func (m *model) vectorAccess(store bool, f map[rune]uint32) {
	offset := int64(f['h']*8 + f['l'])
	if offset >= 256 {
		offset -= 512
	}
	address := m.register(f['n'], true) + uint64(256*offset)
	switch size := uint64(len(m.memory)); {
	case address >= size || address-address%8+256 > size:
		m.stop = "address outside the memory"
	case address%8 != 0:
		m.stop = "address not aligned to 8 bytes"
	case store && address+255 >= m.code[0] && address < m.code[1]:
		m.stop = "store into the code"
	}
	if m.stop != "" {
		m.address = address
		return
	}
	for i := range VectorElements {
		bytes := m.memory[address+uint64(8*i):][:8]
		if store {
			m.element(f['d'], i).FillBytes(bytes)
			slices.Reverse(bytes)
			continue
		}
		bytes = slices.Clone(bytes)
		slices.Reverse(bytes)
		m.z[f['d']][i] = new(big.Int).SetBytes(bytes)
	}
}

// vectorsOf returns the vector registers of the model in the form of the package.
func (m *model) vectorsOf() (z VectorRegisters) {
	for number := range z {
		for i := range z[number] {
			z[number][i] = m.element(uint32(number), i).Uint64()
		}
	}
	return z
}

// state returns the state of the model in the form of the package.
func (m *model) state() MachineState {
	s := MachineState{X: m.x, SP: m.sp, PC: m.pc, Cycles: m.cycles, Signal: SignalCheckpoint, Number: uint16(m.number), Address: m.address}
	for i, set := range []bool{m.v, m.c, m.zero, m.n} {
		if set {
			s.Flags |= 1 << i
		}
	}
	switch m.stop {
	case "":
	case "svc":
		s.Signal = SignalSyscall
	case "hlt":
		s.Signal = SignalHalt
	default:
		s.Signal = SignalFault
		for f := FaultUndefined; f <= FaultCode; f++ {
			if f.String() == m.stop {
				s.Fault = f
			}
		}
	}
	return s
}

// newModel returns a model with the state of a reference.
func newModel(r *Reference) *model {
	m := &model{x: r.X, sp: r.SP, pc: r.PC, cycles: r.Cycles, memory: slices.Clone(r.Memory), code: [2]uint64{r.codeBase, r.codeEnd}}
	m.n, m.zero, m.c, m.v = r.Flags&8 != 0, r.Flags&4 != 0, r.Flags&2 != 0, r.Flags&1 != 0
	if m.vectors = r.Vectors; m.vectors {
		for number, register := range r.Z {
			for i, value := range register {
				if value != 0 {
					m.z[number][i] = new(big.Int).SetUint64(value)
				}
			}
		}
	}
	return m
}

// agree runs a reference and a model for up to n instructions and compares them.
func agree(t testing.TB, r *Reference, n int) {
	t.Helper()
	m := newModel(r)
	r.Run(uint64(n))
	for ; n > 0 && m.stop == ""; n-- {
		m.step()
	}
	if r.MachineState != m.state() || !slices.Equal(r.Memory, m.memory) || r.Vectors && r.Z != m.vectorsOf() {
		t.Fatalf("after %d instructions\n reference %+v\n model     %+v", m.cycles, r.MachineState, m.state())
	}
}

// randomWord returns an encoding of the manual with random fields, in which register
// numbers are often 31, and its name.
func randomWord(random *rand.Rand) (raw uint32, name string) {
	entry := manual[random.IntN(len(manual))]
	special := map[rune]bool{'d': random.IntN(6) == 0, 'n': random.IntN(6) == 0, 'm': random.IntN(6) == 0}
	for _, c := range entry.bits {
		switch {
		case c == ' ':
		case c == '1' || c != '0' && (special[c] || random.IntN(2) == 0):
			raw = raw<<1 | 1
		default:
			raw <<= 1
		}
	}
	return raw, entry.name
}

// TestEncodingsMatchTheManual checks that any word has the same effect in the reference and
// in the model. Half of the words are an instruction with one bit changed.
func TestEncodingsMatchTheManual(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	r, err := NewReference(1<<12, make([]byte, 8), 0)
	if err != nil {
		t.Fatal(err)
	}
	undefined := 0
	for n := range 15_000 {
		raw, _ := randomWord(random)
		raw ^= uint32(n&1) << random.IntN(32)
		if name, _, _ := recognise(raw); name == "" {
			undefined++
		}
		binary.LittleEndian.PutUint32(r.Memory, raw)
		r.code[0] = decode(raw)
		r.Vectors = n%4 == 0
		r.MachineState = MachineState{SP: 8 * random.Uint64N(1<<9), Flags: random.Uint32N(16)}
		for i := range r.X {
			r.X[i] = randomValue(random)
		}
		agree(t, r, 1)
	}
	for _, entry := range manual {
		if n := len(strings.ReplaceAll(entry.bits, " ", "")); n != 32 {
			t.Errorf("%s has %d bits", entry.name, n)
		}
	}
	if undefined < 500 {
		t.Errorf("only %d words were undefined", undefined)
	}
}

// FuzzReference compares the reference with the model, for any program.
func FuzzReference(f *testing.F) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		f.Add(randomProgram(random, 30, true), random.Uint64())
	}
	f.Fuzz(func(t *testing.T, code []byte, seed uint64) {
		r, err := NewReference(1024, code[:len(code)&^3], 8*(seed%8))
		if err != nil {
			return
		}
		random := rand.New(rand.NewPCG(seed, 0))
		for i := range r.X {
			r.X[i] = randomValue(random)
		}
		r.X[28], r.SP = 512, 768
		r.Vectors = seed%2 == 0
		agree(t, r, 500)
	})
}
