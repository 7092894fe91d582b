//go:build linux

package interpreter

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// builds are the variants of the shader, by name.
var builds = map[string]Options{"halves": {}, "int64": {Int64: true}, "array": {RegisterArray: true}, "ahead": {Prefetch: true},
	"vectors": {Vectors: true}, "group": {MachinePerGroup: true}}

// TestRandomPrograms runs random programs on machines with random registers. Most
// instructions are valid, and some machines stop by a fault.
func TestRandomPrograms(t *testing.T) {
	for name, o := range builds {
		t.Run(name, func(t *testing.T) {
			o.Machines, o.MemoryBytes, o.BatchCycles = 96, 1024, 100
			random := rand.New(rand.NewPCG(1, uint64(len(name))))
			v := newMachines(t, o)
			allParts := name == "halves" || name == "vectors" || name == "group" // the others take long to compile
			if allParts {
				v.checkKnown(t)
			}
			stands, used := [signals]int{}, map[shader.Key]bool{}
			for turn := range 20 {
				code := randomProgram(random, 40, v.options.Vectors && turn%3 > 0)
				if turn%5 == 0 && allParts {
					code = withoutMemory(code)
				}
				base := uint64(8 * random.IntN(3))
				if err := v.Load(t.Context(), code, base); err != nil {
					t.Fatal(err)
				}
				used[v.mu.program.Key()] = true
				p := &pair{v, references(t, v, code, base)}
				for register := range registerRows {
					values := make([]uint64, o.Machines)
					for m := range values {
						values[m] = randomValue(random)
						if register == 28 {
							values[m] = 512
						}
					}
					p.set(t, register, func(m int) uint64 { return values[m] })
				}
				for m, r := range p.cpu {
					if m%32 == 0 {
						agree(t, r, 700)
						continue
					}
					r.Run(700)
				}
				r, err := v.RunContinuous(t.Context(), 7, 0)
				if err != nil {
					t.Fatal(err)
				}
				p.compare(t)
				for s, n := range r.Signals {
					stands[s] += n
				}
			}
			if want := len(v.options.allParts()); allParts && len(used) != want {
				t.Errorf("%d kernels were used, not %d", len(used), want)
			}
			for _, s := range []Signal{SignalHalt, SignalSyscall, SignalCheckpoint, SignalFault} {
				if stands[s] == 0 {
					t.Errorf("no machine ended with %v: %v", s, stands)
				}
			}
		})
	}
}

// withoutMemory replaces loads, stores and what is on vectors by sums.
func withoutMemory(code []byte) []byte {
	for at := 0; at < len(code); at += 4 {
		raw := binary.LittleEndian.Uint32(code[at:])
		if op := decode(raw).op; op == load || op == store || op == vector {
			binary.LittleEndian.PutUint32(code[at:], 0x8B000000|raw&0x001F03FF)
		}
	}
	return code
}

// randomValue returns any number, or one near those where sums wrap.
func randomValue(random *rand.Rand) uint64 {
	if random.IntN(3) == 0 {
		return uint64(int64(random.IntN(5)-2)) + uint64(random.IntN(2))<<63 + uint64(random.IntN(2))<<32
	}
	return random.Uint64()
}

// randomProgram returns n instructions. X28 is a valid address unless one of the few
// arbitrary words writes it. With vectors a fifth of them are on vectors.
func randomProgram(random *rand.Rand, n int, vectors bool) []byte {
	kinds := 12
	if vectors {
		kinds = 15
	}
	var code []byte
	for at := range n {
		raw := random.Uint32()
		rd := raw & 31
		if rd == 28 {
			rd = 27
		}
		address := uint32(28 << 5)
		if random.IntN(20) == 0 {
			address = raw & (31 << 5)
		}
		switch random.IntN(kinds) {
		case 0:
			raw = 0xD2800000 | raw&(0x3FFFF<<5) | rd
		case 1, 2, 3:
			raw = 0x91000000 | raw&0x607FFFE0 | rd
		case 4, 5, 6:
			raw = 0x8B000000 | raw&0x601F03E0 | rd
		case 7:
			raw = 0xF9000000 | raw&(0x1F<<10) | address | rd
		case 8:
			raw = 0xF9400000 | raw&(0x1F<<10) | address | rd
		case 12, 13:
			words := [...]uint32{0x04E00000, 0x04E00400, 0x04A03000, 0x04E06000, 0x04E04C00}
			raw = words[random.IntN(len(words))] | raw&0x001F03FF
		case 14:
			words := [...]uint32{0x05E03800 | raw&0x3FF, 0x85804000 | raw&31 | address, 0xE5804000 | raw&31 | address, 0xE5804400 | raw&31 | address, 0x85BF5C00 | raw&31 | address}
			raw = words[random.IntN(len(words))]
		case 9, 10:
			raw = 0x54000000 | uint32(random.IntN(n)-at)&0x7FFFF<<5 | raw&15
		default:
			switch random.IntN(8) {
			case 0:
				raw = 0xD4400000 | raw&(0xFFFF<<5)
			case 1:
				raw = 0xD4000001 | raw&(0xFFFF<<5)
			case 2:
				raw = 0x14000000 | uint32(random.IntN(n+4)-2-at)&0x3FFFFFF
			case 3: // any word
			default:
				raw = 0xEB00001F | raw&0x001F03E0
			}
		}
		code = binary.LittleEndian.AppendUint32(code, raw)
	}
	return code
}

// TestEveryInstructionOnTheGPU executes instructions one by one, each on machines with
// random registers and all 16 states of the flags, in every build of the shader.
func TestEveryInstructionOnTheGPU(t *testing.T) {
	const machines, instructions, base = 16, 250, 64
	for name, o := range builds {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(2, uint64(len(name))))
			o.Machines, o.MemoryBytes = machines, 1<<12
			var code []byte
			done := map[string]int{}
			for range instructions {
				raw, name := randomWord(random)
				done[name]++
				code = binary.LittleEndian.AppendUint32(code, raw)
			}
			p := newPair(t, o, code, base)
			for at := range instructions {
				p.scramble(t, random, base+4*uint64(at))
				for _, r := range p.cpu {
					agree(t, r, 1)
				}
				if _, err := p.RunMega(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				p.compareStates(t)
			}
			p.compare(t)
			for _, entry := range manual {
				if done[entry.name] < 5 {
					t.Errorf("%s was executed %d times", entry.name, done[entry.name])
				}
			}
		})
	}
}

// scramble sets random registers, the flags m%16 of machine m, and the program counter.
func (p *pair) scramble(t testing.TB, random *rand.Rand, pc uint64) {
	t.Helper()
	n := len(p.cpu)
	registers, flags := make([]uint64, registerRows*n), make([]uint32, n)
	for i := range registers {
		if registers[i] = randomValue(random); random.IntN(4) == 0 {
			registers[i] = 8 * random.Uint64N(512) // mostly a valid address
		}
	}
	for m, r := range p.cpu {
		flags[m] = uint32(m % 16)
		r.Signal, r.Fault, r.Number, r.Address, r.PC, r.Flags = SignalRunning, FaultNone, 0, 0, pc, flags[m]
		for i := range registerRows {
			r.put(uint8(i), registers[i*n+m])
		}
	}
	var vectors []uint64 // as they are on the device
	if p.options.Vectors {
		vectors = make([]uint64, registerRows*VectorElements*n)
		for i := range vectors {
			vectors[i] = randomValue(random)
		}
		for m, r := range p.cpu {
			for number := range r.Z {
				for i := range r.Z[number] {
					at := (number*VectorElements+i)*n + m
					if p.options.MachinePerGroup {
						at = (m*registerRows+number)*VectorElements + i
					}
					r.Z[number][i] = vectors[at]
				}
			}
		}
	}
	err := p.doGL(t.Context(), func(gl *glctx.GL) error {
		if p.options.Vectors {
			gl.Upload(p.mu.buffers[bindVectors], 0, glctx.Bytes(vectors))
		}
		gl.Upload(p.mu.buffers[bindRegisters], 0, glctx.Bytes(registers))
		p.putRow(gl, rowFlags, flags)
		return gl.Err()
	})
	if err := errors.Join(err, p.SetPC(t.Context(), pc)); err != nil {
		t.Fatal(err)
	}
}

// FuzzOnTheGPU compares machines on the GPU with the CPU, for any program.
func FuzzOnTheGPU(f *testing.F) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 8 {
		f.Add(randomProgram(random, 30, true), random.Uint64())
	}
	all := []*Interpreter{
		newMachines(f, Options{Machines: 33, MemoryBytes: 1024, BatchCycles: 100}),
		newMachines(f, Options{Machines: 33, MemoryBytes: 1024, BatchCycles: 100, MachinePerGroup: true}),
	}
	f.Fuzz(func(t *testing.T, code []byte, seed uint64) {
		v := all[seed%2]
		code, base := code[:len(code)&^3], 8*(seed%8)
		if v.Load(t.Context(), code, base) != nil {
			return
		}
		p := &pair{v, references(t, v, code, base)}
		p.scramble(t, rand.New(rand.NewPCG(seed, 0)), base)
		for _, r := range p.cpu {
			r.Run(400)
		}
		if _, err := v.RunContinuous(t.Context(), 4, 0); err != nil {
			t.Fatal(err)
		}
		p.compare(t)
	})
}
