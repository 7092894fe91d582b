//go:build linux

package interpreter

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx/gltest"
)

func TestMain(m *testing.M) { gltest.Main(m) }

// newMachines makes an interpreter on a context and a cache of its own; in the end
// nothing may be left of it.
func newMachines(t testing.TB, o Options) *Interpreter {
	t.Helper()
	gl := gltest.Open(t)
	programs, err := cache.New(gl, cache.Options{MemoryOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	before := gl.Counters().Buffers
	v, err := New(t.Context(), gl, programs, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(v.Close(), v.Close(), programs.Close()); err != nil {
			t.Error(err)
		}
		if n := gl.Counters().Buffers - before; n != 0 {
			t.Errorf("%d buffers were left", n)
		}
	})
	return v
}

func assemble(t testing.TB, text string) []byte {
	t.Helper()
	code, err := Assemble("test.s", text)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// pair is machines on the GPU and the same on the CPU.
type pair struct {
	*Interpreter
	cpu []*Reference
}

func newPair(t testing.TB, o Options, code []byte, base uint64) *pair {
	t.Helper()
	v := newMachines(t, o)
	if err := v.Load(t.Context(), code, base); err != nil {
		t.Fatal(err)
	}
	return &pair{v, references(t, v, code, base)}
}

func references(t testing.TB, v *Interpreter, code []byte, base uint64) []*Reference {
	t.Helper()
	var list []*Reference
	for range v.options.Machines {
		r, err := NewReference(v.options.MemoryBytes, code, base)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

func (p *pair) set(t testing.TB, register int, value func(m int) uint64) {
	t.Helper()
	if err := p.SetRegisters(t.Context(), register, value); err != nil {
		t.Fatal(err)
	}
	for m, r := range p.cpu {
		r.put(uint8(register), value(m))
	}
}

// compare holds every machine's state and memory against the CPU's.
func (p *pair) compare(t testing.TB) {
	t.Helper()
	states, err := p.States(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	memory := make([]byte, p.options.MemoryBytes)
	for m, r := range p.cpu {
		if states[m] != r.State {
			t.Fatalf("machine %d:\n GPU %+v\n CPU %+v", m, states[m], r.State)
		}
		if err := p.ReadMemory(t.Context(), m, 0, memory); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(memory, r.Memory) {
			t.Fatalf("machine %d: the memory differs", m)
		}
	}
}

const countdown = `
	movz x1, #0x200
l:	add  x2, x2, x0
	str  x2, [x1]
	subs x0, x0, #1
	b.ne l
	hlt  #3`

// forms are all run functions, as functions of a total.
func forms(v *Interpreter) map[string]func(ctx context.Context, total uint64) (Result, error) {
	return map[string]func(ctx context.Context, total uint64) (Result, error){
		"standard": v.RunStandard, "mega": v.RunMega, "chained": v.RunChained,
		"continuous": func(ctx context.Context, total uint64) (Result, error) {
			batch := uint64(v.options.BatchCycles)
			return v.RunContinuous(ctx, int((total+batch-1)/batch), time.Minute)
		},
	}
}

// TestForms: every form ends with the same, to the bit, and does no batch more than
// it has to.
func TestForms(t *testing.T) {
	code := assemble(t, countdown)
	p := newPair(t, Options{Machines: 70, MemoryBytes: 1024, BatchCycles: 300, DispatchCycles: 250}, code, 0)
	const total = 2400
	dispatches := map[string][2]int{"standard": {16, 16}, "continuous": {16, 18}, "mega": {10, 10}, "chained": {10, 10}}
	for name, run := range forms(p.Interpreter) {
		if err := p.Load(t.Context(), code, 0); err != nil {
			t.Fatal(err)
		}
		p.cpu = references(t, p.Interpreter, code, 0)
		p.set(t, 0, func(m int) uint64 { return uint64(10 * (m + 1)) })
		var cycles uint64
		stands := [6]int{}
		for _, r := range p.cpu {
			r.Run(total)
			cycles += r.Cycles
			stands[r.Signal]++
		}
		before := p.context.Counters()
		r, err := run(t.Context(), total)
		if err != nil {
			t.Fatal(err)
		}
		p.compare(t)
		if r.Form != name || r.Cycles != cycles || r.Stands != stands || r.Signal != SignalHalt || r.Number != 3 || r.FinalPC != 20 || r.IPS <= 0 || r.Cut != 0 {
			t.Errorf("%s: %+v, %d cycles and %v expected", name, r, cycles, stands)
		}
		if stands[SignalCheckpoint] == 0 || stands[SignalHalt] == 0 {
			t.Errorf("machines should end in both ways: %v", stands)
		}
		issued := int(p.context.Counters().Dispatches - before.Dispatches)
		if want := dispatches[name]; issued != r.Dispatches || r.Dispatches > want[1] || r.Dispatches < want[0] {
			t.Errorf("%s: %d dispatches, %d reported, %v expected", name, issued, r.Dispatches, want)
		}
		// Going on ends the rest, and a run of machines that have stopped does nothing.
		for _, c := range p.cpu {
			c.Run(10 * total)
		}
		if _, err := run(t.Context(), 10*total); err != nil {
			t.Fatal(err)
		}
		p.compare(t)
		if r, err = run(t.Context(), total); err != nil || r.Cycles != 0 {
			t.Errorf("%s: %d cycles after the end, %v", name, r.Cycles, err)
		}
	}
}

func TestChainEndsEarly(t *testing.T) {
	p := newPair(t, Options{MemoryBytes: 1024, BatchCycles: 10}, assemble(t, countdown), 0)
	p.set(t, 0, func(int) uint64 { return 8 })
	p.cpu[0].Run(1000)
	r, err := p.RunChained(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	p.compare(t)
	if r.Batches != 4 || r.Dispatches != 32 || r.Cycles != 34 {
		t.Errorf("%+v", r)
	}
}

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

func TestSyscalls(t *testing.T) {
	v := newMachines(t, Options{Machines: 3, MemoryBytes: 1024, BatchCycles: 50})
	code := assemble(t, `
	l:	add x0, x0, #1
		svc #1
		cmp x0, #0x28
		b.lt l
		movz x1, #0x100
		str x0, [x1]
		svc #2
		svc #9
		hlt #0`)
	if err := v.Load(t.Context(), code, 0); err != nil {
		t.Fatal(err)
	}
	if err := v.SetRegisters(t.Context(), 5, func(m int) uint64 { return uint64(m) }); err != nil {
		t.Fatal(err)
	}
	var written [3]uint64
	v.Handle(1, func(c *Call) error { c.X[0] += c.X[5]; return nil })
	v.Handle(2, func(c *Call) error {
		var b [8]byte
		if err := c.Read(0x100, b[:]); err != nil {
			return err
		}
		written[c.Machine] = binary.LittleEndian.Uint64(b[:])
		c.Halt = c.Machine == 2
		return c.Write(0x108, b[:])
	})
	r, err := v.RunContinuous(t.Context(), 1000, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	// 40, 20 and 14 turns by 1, 2 and 3 to 40, 40 and 42.
	if r.Syscalls != 40+20+14+3 || written != [3]uint64{40, 40, 42} || r.Signal != SignalSyscall || r.Number != 9 || r.FinalPC != 28 ||
		r.Stands[SignalSyscall] != 2 || r.Stands[SignalHalt] != 1 {
		t.Errorf("%+v, written %v", r, written)
	}
	var b [8]byte
	if err := v.ReadMemory(t.Context(), 1, 0x108, b[:]); err != nil || b[0] != 40 {
		t.Errorf("%v, %v", b, err)
	}
	// The SVC that nobody serves is passed over by the next run.
	if r, err = v.RunMega(t.Context(), 10); err != nil || r.Cycles != 2 || r.Signal != SignalHalt || r.Stands[SignalHalt] != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	// An error of a handler ends the run where it was.
	if err := v.Load(t.Context(), code, 0); err != nil {
		t.Fatal(err)
	}
	v.Handle(1, func(c *Call) error { return context.DeadlineExceeded })
	r, err = v.RunStandard(t.Context(), 100)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "machine 0, svc #1 at 0x4") || r.Cycles != 6 {
		t.Errorf("%v, %+v", err, r)
	}
	v.Handle(1, nil)
	if r, err = v.RunStandard(t.Context(), 100); err != nil || r.Signal != SignalSyscall || r.FinalPC != 4 {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestBreakpointsAndTrace(t *testing.T) {
	v := newMachines(t, Options{Machines: 2, MemoryBytes: 1024, BatchCycles: 7, TraceEntries: 4, TraceMachine: 1})
	if err := v.Break(t.Context(), 0); !errors.Is(err, ErrNoCode) {
		t.Error(err)
	}
	if err := v.Load(t.Context(), assemble(t, countdown), 8); err != nil {
		t.Fatal(err)
	}
	if err := v.SetRegisters(t.Context(), 0, func(m int) uint64 { return uint64(3 - m) }); err != nil {
		t.Fatal(err)
	}
	for _, address := range []uint64{9, 0, 8 + 24} {
		if err := v.Break(t.Context(), address); err == nil {
			t.Errorf("a breakpoint at %#x", address)
		}
	}
	if err := v.Break(t.Context(), 8+12); err != nil {
		t.Fatal(err)
	}
	want := []struct {
		cycles uint64
		stands [6]int
	}{
		{6, [6]int{SignalBreak: 2}}, {8, [6]int{SignalBreak: 2}}, {4 + 3, [6]int{SignalBreak: 1, SignalHalt: 1}}, {3, [6]int{SignalHalt: 2}},
	}
	for i, w := range want {
		r, err := v.RunStandard(t.Context(), 1000)
		if err != nil || r.Cycles != w.cycles || r.Stands != w.stands {
			t.Errorf("run %d: %+v, %v", i, r, err)
		}
	}
	trace, err := v.Trace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range trace {
		lines = append(lines, fmt.Sprintf("%d %#x %s %d %#x", e.Cycle, e.PC, e.Text, e.Flags, e.Value))
	}
	if got, want := strings.Join(lines, "\n"), "7 0x10 str x2, [x1] 2 0x3\n8 0x14 subs x0, x0, #1 6 0x0\n9 0x18 b.ne 0xc 6"; !strings.HasPrefix(got, want) || len(trace) != 4 || !strings.Contains(trace[3].String(), "hlt #3") {
		t.Errorf("trace is\n%s", got)
	}
	if err := v.ClearBreaks(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := v.SetPC(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	if r, err := v.RunMega(t.Context(), 9); err != nil || r.Cycles != 18 || r.Signal != SignalCheckpoint {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestLongLoop runs past what software drivers let a loop do, with a limit for a
// dispatch that does not care: what is cut short goes on where it was.
func TestLongLoop(t *testing.T) {
	code := assemble(t, "movz x0, #0\nl: add x0, x0, #1\nb l")
	for _, limit := range []int{0, 150_000} {
		v := newMachines(t, Options{MemoryBytes: 64, BatchCycles: 150_000, DispatchCycles: limit})
		if err := v.Load(t.Context(), code, 0); err != nil {
			t.Fatal(err)
		}
		r, err := v.RunContinuous(t.Context(), 2, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		states, err := v.States(t.Context())
		if err != nil || states[0].Cycles != 300_000 || states[0].X[0] != 150_000 || r.Cycles != 300_000 || r.Signal != SignalCheckpoint {
			t.Errorf("limit %d: %+v, %+v, %v", limit, r, states[0], err)
		}
		if cut := v.context.Info().Software() && limit != 0; cut != (r.Cut > 0) {
			t.Errorf("limit %d: %d batches were cut short", limit, r.Cut)
		}
	}
}

func TestTimeoutAndCancel(t *testing.T) {
	v := newMachines(t, Options{MemoryBytes: 64, BatchCycles: 100})
	if err := v.Load(t.Context(), assemble(t, "l: add x0, x0, #1\nb l"), 0); err != nil {
		t.Fatal(err)
	}
	r, err := v.RunContinuous(t.Context(), 1<<40, time.Millisecond)
	if err != nil || r.Signal != SignalRunning || r.Cycles == 0 || r.Cycles%100 != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(5*time.Millisecond, cancel)
	if r, err = v.RunStandard(ctx, 1<<60); !errors.Is(err, context.Canceled) || r.Cycles == 0 || r.Signal != SignalRunning {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = v.RunMega(t.Context(), 11); err != nil || r.Cycles != 11 || r.Signal != SignalCheckpoint {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestBadInput(t *testing.T) {
	gl := gltest.Open(t)
	info := gl.Info()
	for want, o := range map[string]Options{
		"-1 machines":                    {Machines: -1},
		"100000 machines with 4194304":   {Machines: 100_000},
		"7 bytes of memory":              {MemoryBytes: 7},
		"batches of -1":                  {BatchCycles: -1},
		"dispatches of 2147483648":       {DispatchCycles: 1 << 31},
		"a trace of 1048577":             {TraceEntries: 1<<20 + 1},
		"there is no machine 1 to trace": {TraceMachine: 1},
	} {
		if _, err := New(t.Context(), gl, nil, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q (%v)", err, want, info.MaxStorage)
		}
	}
	v := newMachines(t, Options{MemoryBytes: 64})
	if _, err := v.RunMega(t.Context(), 1); !errors.Is(err, ErrNoCode) {
		t.Error(err)
	}
	code := assemble(t, "hlt #0")
	for want, err := range map[string]error{
		"code of 0 bytes":              v.Load(t.Context(), nil, 0),
		"code of 3 bytes":              v.Load(t.Context(), code[:3], 0),
		"code at 0x4":                  v.Load(t.Context(), code, 4),
		"the memory ends at 0x40":      v.Load(t.Context(), code, 64),
		"no register 32":               v.SetRegisters(t.Context(), 32, nil),
		"pc 0x2":                       v.SetPC(t.Context(), 2),
		"there is no machine 1":        v.ReadMemory(t.Context(), 1, 0, nil),
		"3 bytes at 0x8":               v.ReadMemory(t.Context(), 0, 8, make([]byte, 3)),
		"16 bytes at 0x38: the memory": v.WriteMemory(t.Context(), 0, 56, make([]byte, 16)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if err := v.Load(t.Context(), code, 8); err != nil {
		t.Fatal(err)
	}
	if err := v.WriteMemory(t.Context(), 0, 8, make([]byte, 8)); err == nil || !strings.Contains(err.Error(), "the code is there") {
		t.Error(err)
	}
	if err := v.WriteMemory(t.Context(), 0, 16, make([]byte, 8)); err != nil {
		t.Error(err)
	}
	if _, err := v.RunMega(t.Context(), 0); err == nil {
		t.Error("a run of nothing")
	}
	if _, err := v.RunContinuous(t.Context(), 0, 0); err == nil {
		t.Error("a run of no batches")
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := v.RunMega(t.Context(), 1); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}
