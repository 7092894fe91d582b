package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/lab/bench/measure"
	"github.com/shadercache/shadercache/lab/demo/interpreter"
)

const runInterpreterUsage = `Run a program of 64-bit ARM instructions on the GPU, on one machine or on many.

FILE is text to assemble, or with a name that ends in .bin little-endian
instructions. Instructions: MOVZ, ADD, ADDS, SUB, SUBS, CMP, CMN with a register
or an immediate, LDR and STR with an offset, B, B.cond, HLT, SVC. MOV is MOVZ,
or an ADD of 0 from or to SP. Registers are x0 to x30, sp and xzr, of 64 bits.
With --vectors also ADD, SUB, EOR, MUL, DUP, INDEX, LDR and STR of z0 to z31,
which have 32 elements of 64 bits: "mul z0.d, z1.d, z2.d", "str z0, [x1]".
Comments begin with // or ;, labels end in a colon. Code and memory begin at
address 0.

SVC #1 prints x0. Any other SVC stops the machine, and so do HLT, a breakpoint,
a store to the watched range, a fault, and --cycles.

Every machine has its own registers and memory and is one lane of the GPU: one
machine leaves all other lanes idle, thousands take about as long as one. With
--group each machine has a work group of 32 lanes, which share what it does with
vectors.

Forms, all with the same shader and the same result:
  mega        as few dispatches as possible
  continuous  a batch runs while the host reads the result of the one before
  chained     the GPU decides whether the next batch, already submitted, has
              work
  standard    the host reads every machine's state between batches

Afterwards every machine is compared with one on the CPU, which takes long for
long runs; --verify=false leaves that out.

The exit code is 1 when a machine ended in a fault, or in another state than the
CPU's.`

// printCall is the SVC that prints x0.
const printCall = 1

// maxPrinted bounds the number of printed values that the result holds.
const maxPrinted = 1000

// interpreterResult is what run interpreter prints.
type interpreterResult struct {
	GPU        string             `json:"gpu"`
	Driver     string             `json:"driver"`
	File       string             `json:"file"`
	Form       string             `json:"form"`
	Machines   int                `json:"machines"` // side by side
	Cycles     uint64             `json:"cycles"`   // of all machines
	Batches    int                `json:"batches"`
	Dispatches int                `json:"dispatches"` // of kernels
	Cut        int                `json:"cut"`        // batches in which the driver ended a loop early; nothing was lost
	Syscalls   int                `json:"syscalls"`   // that the host served
	Millis     float64            `json:"ms"`
	IPS        float64            `json:"instructions_per_second"`
	Signal     interpreter.Signal `json:"signal"` // of --machine, like the next six
	Number     uint16             `json:"number"` // of the HLT or SVC at which --machine stopped
	Fault      interpreter.Fault  `json:"fault"`
	Address    string             `json:"address"` // hexadecimal, as all addresses and registers
	FinalPC    string             `json:"final_pc"`
	Flags      string             `json:"flags"`
	Registers  map[string]string  `json:"registers"`
	Stands     map[string]int     `json:"stands"`   // machines by signal
	Printed    []printedValue     `json:"printed"`  // the first 1000 values
	Trace      []string           `json:"trace"`    // of --machine
	Verified   *bool              `json:"verified"` // null without --verify

	machine int
	states  []interpreter.MachineState // of all machines
	state   interpreter.MachineState   // of machine
	notKept int                        // values that were printed after Printed was full
	wrong   int                        // the first machine that differs from the CPU's, or -1
}

// printedValue is a value that a machine printed.
type printedValue struct {
	Machine int    `json:"machine"`
	Value   uint64 `json:"value"`
}

// interpreterFlags are the flags of run interpreter.
type interpreterFlags struct {
	Form      string        `flag:"form" help:"standard, continuous, mega, chained" words:"standard continuous mega chained"`
	Cycles    uint64        `flag:"cycles" help:"instructions of each machine, at most"`
	Batch     int           `flag:"batch" help:"instructions of a batch"`
	Machines  int           `flag:"machines" help:"machines side by side"`
	Machine   int           `flag:"machine" help:"the machine whose registers and trace are printed"`
	Registers []string      `flag:"reg" help:"set NAME=VALUE in every machine: x0 to x30, sp, pc; the value machine is its number" value:"NAME=VALUE"`
	Breaks    []string      `flag:"break" help:"stop at this ADDRESS" value:"ADDRESS"`
	Watch     string        `flag:"watch" help:"stop behind a store to ADDRESS[+BYTES], by default 8 bytes" value:"ADDRESS[+BYTES]"`
	Memory    cli.ByteSize  `flag:"memory" help:"memory of each machine" shown:"4M"`
	Timeout   time.Duration `flag:"timeout" help:"stop continuous after the batch in which this passes (default never)"`
	Trace     int           `flag:"trace" help:"print the last N instructions of --machine"`
	Vectors   bool          `flag:"vectors" help:"execute instructions on vectors, which are undefined otherwise"`
	Group     bool          `flag:"group" help:"run each machine on a work group; has --vectors"`
	Int64     bool          `flag:"int64" help:"use 64-bit integers of the driver"`
	Verify    bool          `flag:"verify" help:"compare every machine with the CPU"`

	options interpreter.Options
	setup   interpreter.Setup
}

func newRunInterpreter(o *options) cli.Command {
	f := interpreterFlags{Form: "mega", Cycles: 1_000_000, Batch: 100_000, Machines: 1, Memory: 4 << 20, Verify: true}
	return cli.Command{
		Use:     "interpreter FILE [--machines N] [--cycles N] [--form NAME] [--reg x0=5] ...",
		Short:   "Run ARM instructions on the GPU",
		Long:    runInterpreterUsage,
		Example: "  shadercache-lab run interpreter lab/demo/interpreter/testdata/fibonacci.s \\\n    --machines 90 --memory 64KiB --reg x0=machine --machine 50",
		Args:    cli.OneArgument("name one file to run"),
		Result:  interpreterResult{},
		Flags:   &f,
		Run: func(cmd *cobra.Command, args []string) (cli.Result, error) {
			if err := cli.RefuseUnused(cmd, f.Form != "mega", "the other forms: mega is one batch", "batch"); err != nil {
				return nil, err
			}
			if err := f.check(); err != nil {
				return nil, cli.Usage(cmd, err)
			}
			r, err := o.runInterpreter(f, args[0])
			return nil, o.Show(r, err)
		},
	}
}

// check checks the command line and parses what the machines begin with.
func (f *interpreterFlags) check() error {
	f.options = interpreter.Options{
		Machines: f.Machines, BatchCycles: f.Batch, MemoryBytes: int(f.Memory), TraceMachine: f.Machine, TraceEntries: f.Trace,
		Watchpoints: f.Watch != "", Vectors: f.Vectors, MachinePerGroup: f.Group, Int64: f.Int64,
	}
	switch {
	case !slices.Contains(interpreter.Forms, f.Form):
		return fmt.Errorf("there is no form %q: %s", f.Form, strings.Join(interpreter.Forms, ", "))
	case f.Cycles == 0 || f.options.Machines < 1 || f.options.BatchCycles < 1:
		return errors.New("--cycles, --machines and --batch must be at least 1")
	case f.Timeout < 0 || f.Timeout > 0 && f.Form != "continuous":
		return errors.New("--timeout must not be negative, and is for --form continuous: other forms end with --cycles")
	case f.options.TraceEntries < 0 || f.options.TraceEntries > 1<<20:
		return fmt.Errorf("--trace %d: it must be 0 to %d", f.options.TraceEntries, 1<<20)
	case f.Memory < 8 || f.Memory%8 != 0 || f.Memory > 1<<32:
		return fmt.Errorf("--memory %d: it must be a multiple of 8 from 8 to 4G", f.Memory)
	case f.Machine < 0 || f.Machine >= f.options.Machines:
		return fmt.Errorf("--machine %d: it must be 0 to %d", f.Machine, f.options.Machines-1)
	}
	return f.parseSetup()
}

func (f *interpreterFlags) parseSetup() (err error) {
	if f.Watch != "" {
		if f.setup.Watch, err = interpreter.ParseWatched(f.Watch); err != nil {
			return fmt.Errorf("--watch %s: %w", f.Watch, err)
		}
	}
	for _, text := range f.Registers {
		r, err := interpreter.ParseRegister(text)
		if err != nil {
			return fmt.Errorf("--reg %s: %w", text, err)
		}
		f.setup.Registers = append(f.setup.Registers, r)
	}
	for _, text := range f.Breaks {
		address, err := interpreter.ParseWord(text)
		if err != nil {
			return fmt.Errorf("--break %s: it must be an address", text)
		}
		f.setup.Breakpoints = append(f.setup.Breakpoints, address)
	}
	return nil
}

func (o *options) runInterpreter(f interpreterFlags, file string) (r *interpreterResult, err error) {
	if f.setup.Code, err = interpreter.ReadProgram(file); errors.As(err, new(*interpreter.SyntaxError)) {
		err = cli.Hint(err, "shadercache-lab run interpreter --help lists the instructions")
	}
	if err != nil {
		return nil, err
	}
	g, err := o.OpenGPU(cache.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	ctx, stop := cli.Interruptible()
	defer stop()
	bar := o.NewProgress(100, "running")
	f.options.Progress = func(done, of uint64) { _ = bar.Set(int(float64(done) / float64(of) * 100)) }
	v, err := interpreter.New(ctx, g.Context, g.Cache, f.options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	r = &interpreterResult{GPU: g.Name(), Driver: g.Driver(), File: file, Machines: f.options.Machines, Printed: []printedValue{}, Trace: []string{}, machine: f.Machine}
	if err := r.run(ctx, v, f, bar.Finish); err != nil || !f.Verify {
		return r, err
	}
	return r, o.verifyMachines(ctx, v, f, r)
}

// run runs the machines and calls finish afterwards.
func (r *interpreterResult) run(ctx context.Context, v *interpreter.Interpreter, f interpreterFlags, finish func() error) error {
	if err := f.setup.Apply(ctx, v); err != nil {
		return err
	}
	v.Handle(printCall, func(c *interpreter.Call) error {
		if len(r.Printed) < maxPrinted {
			r.Printed = append(r.Printed, printedValue{c.Machine, c.X[0]})
		} else {
			r.notKept++
		}
		return nil
	})
	done, err := v.RunForm(ctx, f.Form, f.Cycles, uint64(f.options.BatchCycles), f.Timeout)
	if err := errors.Join(err, finish()); err != nil {
		return err
	}
	if r.states, err = v.MachineStates(ctx); err != nil {
		return err
	}
	trace, err := v.Trace(ctx)
	for _, e := range trace {
		r.Trace = append(r.Trace, e.String())
	}
	r.record(done)
	return err
}

// verifyMachines compares every machine with the CPU.
func (o *options) verifyMachines(ctx context.Context, v *interpreter.Interpreter, f interpreterFlags, r *interpreterResult) (err error) {
	total := 0
	for _, s := range r.states {
		total += int(s.Cycles)
	}
	bar := o.NewProgress(total, "comparing with the CPU")
	verifier := interpreter.Verifier{Machines: v, MemoryBytes: f.options.MemoryBytes, Setup: f.setup, States: r.states,
		Served: printCall, Progress: func(cycles int) { _ = bar.Add(cycles) }}
	if f.Timeout == 0 && len(f.setup.Breakpoints) == 0 {
		verifier.Cycles = f.Cycles
	}
	r.wrong, err = verifier.Verify(ctx)
	good := r.wrong < 0
	r.Verified = &good
	return errors.Join(err, bar.Finish())
}

// Verdict returns what is wrong with the end of the machines.
func (r *interpreterResult) Verdict() error {
	switch n := r.Stands[interpreter.SignalFault.String()]; {
	case r.Verified != nil && !*r.Verified:
		return cli.Hint(fmt.Errorf("run: machine %d ended in another state than the CPU's", r.wrong), "the driver may be broken: shadercache selftest")
	case n > 0 && r.state.Signal == interpreter.SignalFault:
		return fmt.Errorf("run: machine %d stopped at pc %#x: %s", r.machine, r.state.PC, faultText(r.state))
	case n > 0:
		return cli.Hint(fmt.Errorf("run: %s ended in a fault", cli.Plural(n, "machine")), "--machine N shows another one")
	}
	return nil
}

// faultText returns the fault, with the address of an access that failed.
func faultText(s interpreter.MachineState) string {
	switch s.Fault {
	case interpreter.FaultAddress, interpreter.FaultAlignment, interpreter.FaultCode:
		return fmt.Sprintf("%v, address %#x", s.Fault, s.Address)
	}
	return s.Fault.String()
}

// record adds the figures and the end of a run.
func (r *interpreterResult) record(done interpreter.Result) {
	r.state = r.states[r.machine]
	r.Form, r.Cycles, r.Batches, r.Dispatches = done.Form, done.Cycles, done.Batches, done.Dispatches
	r.Cut, r.Syscalls, r.Millis, r.IPS = done.Cut, done.Syscalls, cli.Milliseconds(done.Wall), done.IPS
	r.Signal, r.Number, r.Fault = r.state.Signal, r.state.Number, r.state.Fault
	r.Address, r.FinalPC, r.Flags = fmt.Sprintf("%#x", r.state.Address), fmt.Sprintf("%#x", r.state.PC), flagText(r.state.Flags)
	r.Registers = map[string]string{"sp": fmt.Sprintf("%#x", r.state.SP)}
	for i, x := range r.state.X {
		r.Registers[fmt.Sprintf("x%d", i)] = fmt.Sprintf("%#x", x)
	}
	r.Stands = map[string]int{}
	for s, n := range done.Signals {
		if n > 0 {
			r.Stands[interpreter.Signal(s).String()] = n
		}
	}
}

// flagText returns set flags as capital letters: "nZCv".
func flagText(flags uint32) string {
	text := []byte("nzcv")
	for i := range text {
		if flags&(8>>i) != 0 {
			text[i] -= 'a' - 'A'
		}
	}
	return string(text)
}

// endText describes how the machine ended: "halt #3", "checkpoint, --cycles are done,".
func (r *interpreterResult) endText() string {
	switch s := r.state; s.Signal {
	case interpreter.SignalHalt, interpreter.SignalSyscall:
		return fmt.Sprintf("%v #%d", s.Signal, s.Number)
	case interpreter.SignalWatch:
		return fmt.Sprintf("watch, behind a store to %#x,", s.Address)
	case interpreter.SignalCheckpoint:
		return "checkpoint, --cycles are done,"
	case interpreter.SignalRunning:
		return "running, --timeout has passed,"
	default:
		return s.Signal.String()
	}
}

// endCounts returns the number of machines for each signal: "3 halt, 1 fault".
func (r *interpreterResult) endCounts() string {
	var list []string
	for s := range interpreter.SignalWatch + 1 {
		if n := r.Stands[s.String()]; n > 0 {
			list = append(list, fmt.Sprintf("%d %v", n, s))
		}
	}
	return strings.Join(list, ", ")
}

func (r *interpreterResult) Print(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n", r.GPU)
	for _, line := range r.Trace {
		fmt.Fprintln(w, line)
	}
	for _, p := range r.Printed {
		fmt.Fprintf(w, "machine %d prints %d\n", p.Machine, p.Value)
	}
	if r.notKept > 0 {
		fmt.Fprintf(w, "and %d more\n", r.notKept)
	}
	fmt.Fprintf(w, "machine %d: %s at pc %s after %s, flags %s\n", r.machine, r.endText(), r.FinalPC, cli.Plural(r.state.Cycles, "instruction"), r.Flags)
	if len(r.Stands) > 1 {
		fmt.Fprintf(w, "all machines: %s\n", r.endCounts())
	}
	fmt.Fprintln(w)
	for row := range 8 {
		for column := range 4 {
			name, value, end := "sp", r.state.SP, "\t"
			if i := column*8 + row; i < 31 {
				name, value = fmt.Sprintf("x%d", i), r.state.X[i]
			}
			if column == 3 {
				end = "\n"
			}
			fmt.Fprintf(w, "%s\t%#x%s", name, value, end)
		}
	}
	fmt.Fprintf(w, "\n%s, %s: %s in %s, %s/s\n", r.Form, cli.Plural(r.Machines, "machine"), cli.Plural(r.Cycles, "instruction"),
		cli.Plural(r.Dispatches, "dispatch"), measure.ReadableRate(r.IPS))
	if r.Verified != nil && *r.Verified {
		fmt.Fprintln(w, "every machine ended in the CPU's state")
	}
}
