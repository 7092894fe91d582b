//go:build linux

package interpreter

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
)

func TestMain(m *testing.M) { gltest.Main(m) }

// newMachines makes an interpreter on a context and a cache of its own. It closes it when
// the test ends, and checks that no buffer is left.
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

// pair has machines on the GPU and their references on the CPU.
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
		r.Vectors = v.options.Vectors
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

// compareStates compares the state of every machine with the CPU's.
func (p *pair) compareStates(t testing.TB) {
	t.Helper()
	states, err := p.MachineStates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for m, r := range p.cpu {
		if states[m] != r.MachineState {
			t.Fatalf("machine %d:\n GPU %+v\n CPU %+v", m, states[m], r.MachineState)
		}
	}
}

// compare compares the state and the memory of every machine with the CPU's.
func (p *pair) compare(t testing.TB) {
	t.Helper()
	p.compareStates(t)
	memories := make([][]byte, len(p.cpu))
	for m := range memories {
		memories[m] = make([]byte, p.options.MemoryBytes)
	}
	if err := p.ReadMachines(t.Context(), 0, 0, memories...); err != nil {
		t.Fatal(err)
	}
	for m, r := range p.cpu {
		if !bytes.Equal(memories[m], r.Memory) {
			t.Fatalf("machine %d: the memory differs", m)
		}
	}
	p.compareVectors(t)
}

// compareVectors compares the vector registers of every machine with the CPU's.
func (p *pair) compareVectors(t testing.TB) {
	t.Helper()
	if !p.options.Vectors {
		return
	}
	vectors := make([]*VectorRegisters, len(p.cpu))
	for m := range vectors {
		vectors[m] = new(VectorRegisters)
		vectors[m][31][31] = 0xDEAD // poison
	}
	if err := p.ReadVectors(t.Context(), 0, vectors...); err != nil {
		t.Fatal(err)
	}
	for m, r := range p.cpu {
		if *vectors[m] != r.Z {
			t.Fatalf("machine %d: the vector registers differ", m)
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

// forms returns all run functions, as functions of a total.
func forms(v *Interpreter) map[string]func(ctx context.Context, total uint64) (Result, error) {
	return map[string]func(ctx context.Context, total uint64) (Result, error){
		"standard": v.RunStandard, "mega": v.RunMega, "chained": v.RunChained,
		"continuous": func(ctx context.Context, total uint64) (Result, error) {
			batch := uint64(v.options.BatchCycles)
			return v.RunContinuous(ctx, int((total+batch-1)/batch), time.Minute)
		},
	}
}

// TestForms checks that every form has the same result, bit by bit, with the fewest
// batches.
func TestForms(t *testing.T) {
	code := assemble(t, countdown)
	const total = 2400
	var calls []uint64
	progress := func(done, of uint64) {
		if calls = append(calls, done); of%total != 0 || done > of {
			t.Errorf("%d of %d instructions", done, of)
		}
	}
	p := newPair(t, Options{Machines: 70, MemoryBytes: 1024, BatchCycles: 300, DispatchCycles: 250, Progress: progress}, code, 0)
	dispatches := map[string][2]int{"standard": {16, 16}, "continuous": {16, 18}, "mega": {10, 10}, "chained": {10, 10}}
	for name, run := range forms(p.Interpreter) {
		if err := p.Load(t.Context(), code, 0); err != nil {
			t.Fatal(err)
		}
		p.cpu = references(t, p.Interpreter, code, 0)
		p.set(t, 0, func(m int) uint64 { return uint64(10 * (m + 1)) })
		var cycles uint64
		stands := [signals]int{}
		for _, r := range p.cpu {
			r.Run(total)
			cycles += r.Cycles
			stands[r.Signal]++
		}
		before := p.context.Counters()
		calls = nil
		r, err := run(t.Context(), total)
		if err != nil {
			t.Fatal(err)
		}
		if len(calls) == 0 || calls[len(calls)-1] != total || !slices.IsSorted(calls) {
			t.Errorf("%s: progress was %v", name, calls)
		}
		p.compare(t)
		if r.Form != name || r.Cycles != cycles || r.Signals != stands || r.Signal != SignalHalt || r.Number != 3 || r.FinalPC != 20 || r.IPS <= 0 || r.Cut != 0 {
			t.Errorf("%s: %+v, %d cycles and %v expected", name, r, cycles, stands)
		}
		if stands[SignalCheckpoint] == 0 || stands[SignalHalt] == 0 {
			t.Errorf("no machine ended in one of the two ways: %v", stands)
		}
		issued := int(p.context.Counters().Dispatches - before.Dispatches)
		if want := dispatches[name]; issued != r.Dispatches || r.Dispatches > want[1] || r.Dispatches < want[0] {
			t.Errorf("%s: %d dispatches, %d reported, %v expected", name, issued, r.Dispatches, want)
		}
		// Another run ends the other machines, and a run of stopped machines does nothing.
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

// TestLongLoop runs loops that are longer than software drivers allow, with a limit of
// dispatches above that of the driver: the next batch resumes a loop that was cut.
func TestLongLoop(t *testing.T) {
	code := assemble(t, "movz x30, #0\nl: add x30, x30, #1\nb l")
	for _, limit := range []int{0, 150_000} {
		v := newMachines(t, Options{MemoryBytes: 64, BatchCycles: 150_000, DispatchCycles: limit})
		if err := v.Load(t.Context(), code, 0); err != nil {
			t.Fatal(err)
		}
		r, err := v.RunContinuous(t.Context(), 2, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		states, err := v.MachineStates(t.Context())
		if err != nil || states[0].Cycles != 300_000 || states[0].X[30] != 150_000 || r.Cycles != 300_000 || r.Signal != SignalCheckpoint {
			t.Errorf("limit %d: %+v, %+v, %v", limit, r, states[0], err)
		}
		if cut := v.context.Info().Software() && limit != 0; cut != (r.Cut > 0) {
			t.Errorf("limit %d: %d batches were cut", limit, r.Cut)
		}
	}
}

// TestCountsOf64Bits begins just below 2^32 instructions.
func TestCountsOf64Bits(t *testing.T) {
	const before = 1<<32 - 50
	p := newPair(t, Options{Machines: 3, MemoryBytes: 1024, BatchCycles: 40, DispatchCycles: 40}, assemble(t, "l: add x0, x0, #1\nb l"), 0)
	for name, run := range forms(p.Interpreter) {
		err := p.doGL(t.Context(), func(gl *glctx.GL) error {
			low, high := uint32(before), uint32(0)
			p.putRow(gl, rowCycles, []uint32{low, low, low})
			p.putRow(gl, rowCycles+1, []uint32{high, high, high})
			for m := range p.mu.cycles {
				p.mu.cycles[m] = before
			}
			return gl.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range p.cpu {
			r.Cycles = before
			r.Run(120)
		}
		r, err := run(t.Context(), 120)
		if err != nil || r.Cycles != 3*120 || r.Signals[SignalCheckpoint] != 3 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		p.compare(t)
	}
}

func TestTimeoutAndCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	v := newMachines(t, Options{MemoryBytes: 64, BatchCycles: 100, Progress: func(done, of uint64) {
		if of == 1<<60 && done >= 300 {
			cancel()
		}
	}})
	if err := v.Load(t.Context(), assemble(t, "l: add x0, x0, #1\nb l"), 0); err != nil {
		t.Fatal(err)
	}
	r, err := v.RunContinuous(t.Context(), 1<<40, time.Millisecond)
	if err != nil || r.Signal != SignalRunning || r.Cycles == 0 || r.Cycles%100 != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = v.RunStandard(ctx, 1<<60); !errors.Is(err, context.Canceled) || r.Cycles != 300 || r.Signal != SignalRunning {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = v.RunMega(t.Context(), 11); err != nil || r.Cycles != 11 || r.Signal != SignalCheckpoint {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestInvalidArguments(t *testing.T) {
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
			t.Errorf("error %v does not contain %q (%v)", err, want, info.MaxStorage)
		}
	}
	v := newMachines(t, Options{Machines: 2, MemoryBytes: 64})
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
		"there is no machine -1":       v.ReadMemory(t.Context(), -1, 0, nil),
		"3 bytes at 0x8":               v.ReadMemory(t.Context(), 0, 8, make([]byte, 3)),
		"there is no machine 2":        v.ReadMachines(t.Context(), 0, 0, nil, nil, nil),
		"and 16 of another":            v.ReadMachines(t.Context(), 0, 0, make([]byte, 8), make([]byte, 16)),
		"16 bytes at 0x38: the memory": v.WriteMemory(t.Context(), 0, 56, make([]byte, 16)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not contain %q", err, want)
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
