//go:build linux

package interpreter

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestRandomPrograms runs random programs on machines with random registers. Most
// instructions are good ones; all stop sooner or later, and some by a fault.
func TestRandomPrograms(t *testing.T) {
	for name, o := range map[string]Options{"halves": {}, "int64": {Int64: true}, "array": {array: true}, "ahead": {ahead: true}} {
		t.Run(name, func(t *testing.T) {
			o.Machines, o.MemoryBytes, o.BatchCycles = 96, 1024, 100
			random := rand.New(rand.NewPCG(1, uint64(len(name))))
			v := newMachines(t, o)
			stands := [6]int{}
			for range 30 {
				code := randomProgram(random, 40)
				base := uint64(8 * random.IntN(3))
				if err := v.Load(t.Context(), code, base); err != nil {
					t.Fatal(err)
				}
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
				for _, r := range p.cpu {
					r.Run(700)
				}
				r, err := v.RunContinuous(t.Context(), 7, 0)
				if err != nil {
					t.Fatal(err)
				}
				p.compare(t)
				for s, n := range r.Stands {
					stands[s] += n
				}
			}
			for _, s := range []Signal{SignalHalt, SignalSyscall, SignalCheckpoint, SignalFault} {
				if stands[s] == 0 {
					t.Errorf("no machine ended with %v: %v", s, stands)
				}
			}
		})
	}
}

// randomValue is any number, or one near where sums wrap.
func randomValue(random *rand.Rand) uint64 {
	if random.IntN(3) == 0 {
		return uint64(int64(random.IntN(5)-2)) + uint64(random.IntN(2))<<63 + uint64(random.IntN(2))<<32
	}
	return random.Uint64()
}

// randomProgram is n instructions. X28 is a good address as long as nobody writes it.
func randomProgram(random *rand.Rand, n int) []byte {
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
		switch random.IntN(12) {
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
			case 3: // whatever it is
			default:
				raw = 0xEB00001F | raw&0x001F03E0
			}
		}
		code = binary.LittleEndian.AppendUint32(code, raw)
	}
	return code
}
