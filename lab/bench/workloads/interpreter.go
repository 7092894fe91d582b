package workloads

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/lab/bench/measure"
	"github.com/shadercache/shadercache/lab/demo/interpreter"
	"github.com/shadercache/shadercache/shader"
)

// InterpreterOptions configure RunInterpreter. The zero value takes seconds on a GPU.
type InterpreterOptions struct {
	// Empty is those of InterpreterWorkloads that take seconds.
	Workloads []string `flag:"workloads" list:"commas" help:"what to measure: forms, builds, vectors, lengths" shown:"forms,builds,vectors"`

	Machines int `flag:"machines" help:"machines side by side (default 10000, on software drivers 256)" must:"above 0"`
	Cycles   int `flag:"cycles" help:"instructions of each machine (default 4000000; on software drivers 600000 of one machine, 60000 of many)" must:"above 0"`
	Batch    int `flag:"batch" help:"instructions of a batch (default a quarter of --cycles)" must:"above 0"`
	Repeat   int `flag:"repeat" help:"runs of each row, of which the best counts"`
}

// InterpreterWorkloads are the names of what RunInterpreter measures: every form of
// dispatch, builds of the shader, machines of an invocation and of a group, and long runs
// of one machine.
var InterpreterWorkloads = []string{"forms", "builds", "vectors", "lengths"}

// interpreterDefault are the workloads without the long runs.
var interpreterDefault = InterpreterWorkloads[:3]

// interpreterLengths are the instructions of the long runs, and longBatch those of a batch
// there.
var interpreterLengths = []int{10_000_000, 50_000_000, 100_000_000}

const longBatch = 10_000_000

// Validate returns an error for options that RunInterpreter does not accept.
func (o InterpreterOptions) Validate() error {
	for _, name := range o.Workloads {
		if !slices.Contains(InterpreterWorkloads, name) {
			return fmt.Errorf("there is no workload %q: %s", name, strings.Join(InterpreterWorkloads, ", "))
		}
	}
	if o.Machines < 0 || o.Cycles < 0 || o.Batch < 0 || o.Repeat < 1 {
		return errors.New("machines, cycles and batch must not be negative, and --repeat at least 1")
	}
	return nil
}

func (o InterpreterOptions) withDefaults(info glctx.Info) InterpreterOptions {
	setDefault := func(v *int, gpu, software int) {
		if *v == 0 {
			*v = gpu
			if info.Software() {
				*v = software
			}
		}
	}
	setDefault(&o.Machines, 10_000, 256)
	setDefault(&o.Repeat, 2, 2)
	if len(o.Workloads) == 0 {
		o.Workloads = interpreterDefault
	}
	return o
}

// lengths returns the instructions of each of a number of machines, and those of a batch.
func (o InterpreterOptions) lengths(machines int, software bool) (cycles, batch int) {
	if cycles = o.Cycles; cycles == 0 {
		switch {
		case !software:
			cycles = 4_000_000
		case machines == 1:
			cycles = 600_000
		default:
			cycles = 60_000
		}
	}
	if batch = o.Batch; batch == 0 {
		batch = max(1, cycles/4)
	}
	return cycles, batch
}

// interpreterProgram is a program that never ends. X9 is the machine's number.
type interpreterProgram struct{ name, text string }

var (
	tightProgram = interpreterProgram{"tight", "movz x0, #0\nl: add x0, x0, #1\nb l"}
	storeProgram = interpreterProgram{"store", "movz x1, #0x8000\nl: add x0, x0, #1\nstr x0, [x1]\nb l"}

	// vectorProgram has four instructions on vectors in a loop of six: a generator of
	// random numbers for each element, whose sum is stored.
	vectorProgram = interpreterProgram{"vector", `
		movz  x1, #0x8000
		movz  x2, #3
		movz  x3, #0x9E37
		index z0.d, x2, x3
		dup   z1.d, x3
		index z2.d, x3, x2
	l:	mul   z0.d, z0.d, z1.d
		add   z0.d, z0.d, z2.d
		eor   z3.d, z3.d, z0.d
		str   z3, [x1]
		add   x0, x0, #1
		b     l`}

	interpreterPrograms = []interpreterProgram{tightProgram, storeProgram}
)

const (
	storedAt          = 0x8000                                  // where the programs store
	interpreterMemory = storedAt + 8*interpreter.VectorElements // bytes of a machine, just beyond that
)

// interpreterVariants are builds of the shader that run as mega only.
var interpreterVariants = []interpreter.Options{{RegisterArray: true}, {Int64: true}, {Prefetch: true}}

// interpreterRun is one call of RunInterpreter.
type interpreterRun struct {
	InterpreterOptions
	ctx      context.Context
	context  *glctx.Context
	programs executor.Programs
	progress func(done, of int) // called before each row
	rows     []InterpreterRow
	of       int
}

// RunInterpreter measures both programs in all forms with the same shader, on one
// machine and on many; and the tight loop as mega in other builds of the shader. A row
// that differs from the CPU is not verified, and the others are still measured.
func RunInterpreter(o *cli.Options, options InterpreterOptions) (*InterpreterResult, error) {
	return measure.OnGPU(o, func(ctx context.Context, gpu *cli.GPU, h bench.Header) (*InterpreterResult, error) {
		r := newInterpreterRun(ctx, gpu.Context, gpu.Cache, options)
		bar := o.NewProgress(r.of, "interpreter")
		defer func() { _ = bar.Finish() }()
		r.progress = func(done, _ int) { _ = bar.Set(done) }
		ratios, err := r.measure()
		result := &InterpreterResult{Header: h, Rows: r.rows, Ratios: ratios, Verified: true}
		for _, row := range result.Rows {
			result.Verified = result.Verified && row.Verified
		}
		return result, err
	})
}

func newInterpreterRun(ctx context.Context, c *glctx.Context, programs executor.Programs, o InterpreterOptions) *interpreterRun {
	r := &interpreterRun{InterpreterOptions: o.withDefaults(c.Info()), ctx: ctx, context: c, programs: programs}
	for _, s := range r.planned() {
		r.of += len(s.programs) * len(s.forms)
	}
	return r
}

// interpreterSeries are runs of programs on the machines of one build.
type interpreterSeries struct {
	workload string
	options  interpreter.Options
	programs []interpreterProgram
	forms    []string
	cycles   int // instructions of each machine
}

// planned returns the series of the workloads.
func (r *interpreterRun) planned() (list []interpreterSeries) {
	for _, name := range r.Workloads {
		for _, machines := range []int{1, r.Machines} {
			switch name {
			case "forms":
				list = append(list, r.one(name, interpreter.Options{Machines: machines}, interpreterPrograms, "standard", "continuous", "mega", "chained"))
			case "builds":
				for _, v := range interpreterVariants {
					v.Machines = machines
					list = append(list, r.one(name, v, interpreterPrograms[:1], "mega"))
				}
			case "vectors":
				for _, group := range []bool{false, true} {
					list = append(list, r.one(name, interpreter.Options{Machines: machines, Vectors: true, MachinePerGroup: group},
						[]interpreterProgram{tightProgram, vectorProgram}, "mega"))
				}
			}
		}
		if name == "lengths" {
			lengths := interpreterLengths
			if r.Cycles > 0 {
				lengths = []int{r.Cycles}
			}
			for _, cycles := range lengths {
				s := r.one(name, interpreter.Options{Machines: 1}, interpreterPrograms[:1], "standard", "continuous", "mega")
				s.cycles, s.options.BatchCycles = cycles, cmp.Or(r.Batch, longBatch)
				list = append(list, s)
			}
		}
	}
	return list
}

// one returns a series of the usual length.
func (r *interpreterRun) one(workload string, o interpreter.Options, programs []interpreterProgram, forms ...string) interpreterSeries {
	s := interpreterSeries{workload: workload, options: o, programs: programs, forms: forms}
	s.cycles, s.options.BatchCycles = r.lengths(o.Machines, r.context.Info().Software())
	if o.Vectors && r.Cycles == 0 && r.context.Info().Software() {
		s.cycles /= 20 // barriers of a group take long on a CPU
	}
	return s
}

// measure fills the rows and returns their ratios.
func (r *interpreterRun) measure() ([]InterpreterRatios, error) {
	for _, s := range r.planned() {
		if err := r.series(s); err != nil {
			return nil, err
		}
	}
	return interpreterRatios(r.rows, r.Machines), nil
}

// series measures a series.
func (r *interpreterRun) series(s interpreterSeries) error {
	o := s.options
	o.MemoryBytes = interpreterMemory
	v, err := interpreter.New(r.ctx, r.context, r.programs, o)
	if err != nil {
		return err
	}
	err = errors.Join(r.seriesOn(machines{v, o, uint64(s.cycles)}, s), v.Close())
	if o.Int64 && errors.As(err, new(*shader.CompileError)) {
		return nil // the driver has no 64-bit integers: no row
	}
	return err
}

// machines are an interpreter and the instructions that each of its machines runs.
type machines struct {
	*interpreter.Interpreter
	options interpreter.Options
	total   uint64
}

// seriesOn measures the rows of a series.
func (r *interpreterRun) seriesOn(m machines, s interpreterSeries) error {
	for _, program := range s.programs {
		code, err := interpreter.Assemble(program.name, program.text)
		if err != nil {
			return err
		}
		want, err := interpreter.NewReference(interpreterMemory, code, 0)
		if err != nil {
			return err
		}
		want.Vectors = m.options.Vectors
		want.Run(m.total)
		for _, form := range s.forms {
			if r.progress != nil {
				r.progress(len(r.rows), r.of)
			}
			row, err := m.row(r.ctx, code, want, form, r.Repeat)
			if err != nil {
				return fmt.Errorf("interpreter: bench %s, %s: %w", program.name, form, err)
			}
			row.Workload, row.Program = s.workload, program.name
			r.rows = append(r.rows, row)
		}
	}
	return nil
}

// row runs one form several times, each from the beginning, and returns the best.
func (m machines) row(ctx context.Context, code []byte, want *interpreter.Reference, form string, repeat int) (InterpreterRow, error) {
	row := InterpreterRow{Form: form, Machines: m.options.Machines, Machine: "invocation", Vectors: m.options.Vectors, Registers: "shared", Int64: m.options.Int64, Ahead: m.options.Prefetch,
		Cycles: m.total, Batch: m.options.BatchCycles, Verified: true}
	if m.options.MachinePerGroup {
		row.Machine = "group"
	}
	if m.options.RegisterArray {
		row.Registers = "array"
	}
	for range repeat {
		if err := m.Load(ctx, code, 0); err != nil {
			return row, err
		}
		if err := m.SetRegisters(ctx, 9, func(m int) uint64 { return uint64(m) }); err != nil {
			return row, err
		}
		result, err := m.run(ctx, form)
		if err != nil {
			return row, err
		}
		good, err := m.agree(ctx, want)
		if err != nil {
			return row, err
		}
		row.Verified = row.Verified && good
		if result.IPS > row.IPS {
			row.IPS, row.Batches, row.Dispatches = result.IPS, result.Batches, result.Dispatches
			row.Millis = measure.Millis(result.Wall)
		}
	}
	return row, nil
}

// run runs all instructions in the form of that name.
func (m machines) run(ctx context.Context, form string) (interpreter.Result, error) {
	switch form {
	case "standard":
		return m.RunStandard(ctx, m.total)
	case "continuous":
		return m.RunContinuousTotal(ctx, m.total)
	case "chained":
		return m.RunChained(ctx, m.total)
	}
	return m.RunMega(ctx, m.total)
}

// agree reports whether the state of every machine is the CPU's, except for its number
// in X9.
func (m machines) agree(ctx context.Context, want *interpreter.Reference) (bool, error) {
	states, err := m.MachineStates(ctx)
	if err != nil {
		return false, err
	}
	stored := make([][]byte, len(states))
	for i := range stored {
		stored[i] = make([]byte, interpreterMemory-storedAt)
	}
	if err := m.ReadMachines(ctx, 0, storedAt, stored...); err != nil {
		return false, err
	}
	if good, err := m.vectorsAgree(ctx, want); err != nil || !good {
		return false, err
	}
	for i, got := range states {
		expected := want.MachineState
		expected.X[9] = uint64(i)
		if got != expected || !bytes.Equal(stored[i], want.Memory[storedAt:]) {
			return false, nil
		}
	}
	return true, nil
}

// vectorsAgree reports whether the vector registers of every machine are the CPU's.
func (m machines) vectorsAgree(ctx context.Context, want *interpreter.Reference) (bool, error) {
	if !m.options.Vectors {
		return true, nil
	}
	vectors := make([]*interpreter.VectorRegisters, m.options.Machines)
	for i := range vectors {
		vectors[i] = new(interpreter.VectorRegisters)
	}
	if err := m.ReadVectors(ctx, 0, vectors...); err != nil {
		return false, err
	}
	for _, got := range vectors {
		if *got != want.Z {
			return false, nil
		}
	}
	return true, nil
}
