//go:build linux

package interpreter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// BenchOptions configure Bench. The zero value takes seconds on a GPU.
type BenchOptions struct {
	// Cycles is how many instructions each machine does in a row. Default:
	// 4,000,000; on software drivers 600,000.
	Cycles int
	// Batch is Options.BatchCycles. Default: a quarter of Cycles.
	Batch int
	// Machines run side by side in the rows that are not about one. Default: 10,000;
	// on software drivers 256, with a tenth of the Cycles.
	Machines int
	// Repeat is how often each form runs; the best run counts. Default: 2.
	Repeat int
	// Progress is called before each row, if it is set.
	Progress func(done, of int)
}

// BenchRow is the workload interpreter in one form. Every machine's registers,
// flags, counts and the memory that the program writes were compared with the
// CPU's after the run that counts.
type BenchRow struct {
	Program    string  `json:"program"` // tight or store
	Form       string  `json:"form"`    // standard, continuous, mega, chained
	Machines   int     `json:"machines"`
	Registers  string  `json:"registers"` // shared or array
	Int64      bool    `json:"int64"`
	Ahead      bool    `json:"ahead"`  // the next instruction is fetched while one is done
	Cycles     uint64  `json:"cycles"` // instructions of each machine
	Batch      int     `json:"batch"`  // instructions
	Batches    int     `json:"batches"`
	Dispatches int     `json:"dispatches"`
	Millis     float64 `json:"ms"`
	IPS        float64 `json:"instructions_per_second"` // of all machines
	Verified   bool    `json:"verified"`
}

// BenchRatios compare rows of Bench.
type BenchRatios struct {
	Program          string  `json:"program"`
	Machines         int     `json:"machines"`
	ContinuousToMega float64 `json:"continuous_to_mega"`
	ChainedToMega    float64 `json:"chained_to_mega"`
	StandardToMega   float64 `json:"standard_to_mega"`
	MegaToOneMachine float64 `json:"mega_to_one_machine"` // instructions per second
}

// benchPrograms never end. X9 is the machine's number.
var benchPrograms = []struct{ name, text string }{
	{"tight", "movz x0, #0\nl: add x0, x0, #1\nb l"},
	{"store", "movz x1, #0x8000\nl: add x0, x0, #1\nstr x0, [x1]\nb l"},
}

// benchMemory reaches just over what the store loop writes.
const (
	benchStored = 0x8000
	benchMemory = benchStored + 8
)

func (o BenchOptions) withDefaults(info glctx.Info) BenchOptions {
	set := func(v *int, gpu, software int) {
		if *v == 0 {
			*v = gpu
			if info.Software() {
				*v = software
			}
		}
	}
	set(&o.Cycles, 4_000_000, 600_000)
	set(&o.Batch, max(1, o.Cycles/4), max(1, o.Cycles/4))
	set(&o.Machines, 10_000, 256)
	set(&o.Repeat, 2, 2)
	return o
}

// bench is one call of Bench.
type bench struct {
	BenchOptions
	context  *glctx.Context
	programs executor.Programs
	rows     []BenchRow
	of       int
}

// Bench measures the workload interpreter: both programs in all forms with the same
// shader, on one machine and on many; and the tight loop as mega in other
// builds of the shader. A row that is not as the CPU has it is not Verified, and
// Bench goes on.
func Bench(ctx context.Context, context *glctx.Context, programs executor.Programs, o BenchOptions) ([]BenchRow, []BenchRatios, error) {
	b := &bench{BenchOptions: o.withDefaults(context.Info()), context: context, programs: programs}
	variants := []Options{{array: true}, {Int64: true}, {ahead: true}}
	b.of = 2 * (len(benchPrograms)*4 + len(variants))
	for _, machines := range []int{1, b.Machines} {
		if err := b.series(ctx, Options{Machines: machines}, "standard", "continuous", "mega", "chained"); err != nil {
			return b.rows, nil, err
		}
	}
	ratios := b.ratios()
	for _, machines := range []int{1, b.Machines} {
		for _, v := range variants {
			v.Machines = machines
			if err := b.series(ctx, v, "mega"); err != nil {
				return b.rows, ratios, err
			}
		}
	}
	return b.rows, ratios, nil
}

// series runs the programs on machines of one make, the first one alone where these
// are a variant.
func (b *bench) series(ctx context.Context, o Options, forms ...string) error {
	o.MemoryBytes, o.BatchCycles = benchMemory, b.Batch
	total := uint64(b.Cycles)
	if o.Machines > 1 && b.context.Info().Software() {
		total = max(1, total/10)
		o.BatchCycles = max(1, b.Batch/10)
	}
	v, err := New(ctx, b.context, b.programs, o)
	if o.Int64 && errors.As(err, new(*shader.CompileError)) {
		return nil // the driver has no 64-bit integers: no row
	}
	if err != nil {
		return err
	}
	err = v.bench(ctx, b, total, forms)
	if closed := v.Close(); err == nil {
		err = closed
	}
	return err
}

func (v *Interpreter) bench(ctx context.Context, b *bench, total uint64, forms []string) error {
	for _, program := range benchPrograms {
		code, err := Assemble(program.name, program.text)
		if err != nil {
			return err
		}
		want, err := NewReference(benchMemory, code, 0)
		if err != nil {
			return err
		}
		want.Run(total)
		for _, form := range forms {
			if b.Progress != nil {
				b.Progress(len(b.rows), b.of)
			}
			row, err := v.benchRow(ctx, code, want, form, total, b.Repeat)
			if err != nil {
				return fmt.Errorf("interpreter: bench %s, %s: %w", program.name, form, err)
			}
			row.Program = program.name
			b.rows = append(b.rows, row)
		}
		if len(forms) == 1 {
			break
		}
	}
	return nil
}

// benchRow runs one form so many times, each from the beginning, and keeps the best.
func (v *Interpreter) benchRow(ctx context.Context, code []byte, want *Reference, form string, total uint64, repeat int) (BenchRow, error) {
	row := BenchRow{Form: form, Machines: v.options.Machines, Registers: "shared", Int64: v.options.Int64, Ahead: v.options.ahead,
		Cycles: total, Batch: v.options.BatchCycles, Verified: true}
	if v.options.array {
		row.Registers = "array"
	}
	for range repeat {
		if err := v.Load(ctx, code, 0); err != nil {
			return row, err
		}
		if err := v.SetRegisters(ctx, 9, func(m int) uint64 { return uint64(m) }); err != nil {
			return row, err
		}
		r, err := v.runForm(ctx, form, total)
		if err != nil {
			return row, err
		}
		good, err := v.agrees(ctx, want)
		if err != nil {
			return row, err
		}
		row.Verified = row.Verified && good
		if r.IPS > row.IPS {
			row.IPS, row.Batches, row.Dispatches = r.IPS, r.Batches, r.Dispatches
			row.Millis = float64(r.Wall) / float64(time.Millisecond)
		}
	}
	return row, nil
}

// runForm runs total instructions on each machine in the form of that name.
func (v *Interpreter) runForm(ctx context.Context, form string, total uint64) (Result, error) {
	switch form {
	case "standard":
		return v.RunStandard(ctx, total)
	case "continuous":
		p := v.batches(form)
		p.total, p.depth = total, flights
		return v.run(ctx, p)
	case "chained":
		return v.RunChained(ctx, total)
	}
	return v.RunMega(ctx, total)
}

// agrees says whether every machine ended as the CPU did, but for its number in X9.
func (v *Interpreter) agrees(ctx context.Context, want *Reference) (bool, error) {
	states, err := v.States(ctx)
	if err != nil {
		return false, err
	}
	stored := make([][]byte, len(states))
	for m := range stored {
		stored[m] = make([]byte, 8)
	}
	if err := v.ReadMachines(ctx, 0, benchStored, stored...); err != nil {
		return false, err
	}
	for m, got := range states {
		expected := want.State
		expected.X[9] = uint64(m)
		if got != expected || !bytes.Equal(stored[m], want.Memory[benchStored:]) {
			return false, nil
		}
	}
	return true, nil
}

// ratios compares the rows so far.
func (b *bench) ratios() []BenchRatios {
	speeds := map[[2]string]float64{}
	key := func(program, form string, machines int) [2]string {
		return [2]string{program, fmt.Sprint(form, machines)}
	}
	for _, r := range b.rows {
		speeds[key(r.Program, r.Form, r.Machines)] = r.IPS
	}
	var list []BenchRatios
	for _, machines := range []int{1, b.Machines} {
		for _, p := range benchPrograms {
			mega := speeds[key(p.name, "mega", machines)]
			list = append(list, BenchRatios{
				Program:          p.name,
				Machines:         machines,
				ContinuousToMega: speeds[key(p.name, "continuous", machines)] / mega,
				ChainedToMega:    speeds[key(p.name, "chained", machines)] / mega,
				StandardToMega:   speeds[key(p.name, "standard", machines)] / mega,
				MegaToOneMachine: mega / speeds[key(p.name, "mega", 1)],
			})
		}
	}
	return list
}
