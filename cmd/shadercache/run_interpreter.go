package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/demo/interpreter"
	"github.com/shadercache/shadercache/internal/cli"
)

const runInterpreterUsage = `Run a program of 64-bit ARM instructions on the GPU, on one machine or on many.

FILE is text to assemble, or with a name that ends in .bin little-endian
instructions. Instructions: MOVZ, ADD, ADDS, SUB, SUBS, CMP, CMN with a register or
an immediate, LDR and STR with an offset, B, B.cond, HLT, SVC. MOV is MOVZ, or an
ADD of 0 from or to SP. Registers are x0 to x30, sp and xzr, of 64 bits. Comments
begin with // or ;, labels end in a colon. Code and memory begin at address 0.

SVC #1 prints x0. Any other SVC stops the machine, and so do HLT, a breakpoint, a
store that is watched, a fault, and --cycles.

Every machine has registers and memory of its own and is one lane of the GPU: one
machine leaves all others idle, thousands take about as long as one.

Forms, all with the same shader and the same end:
  mega        as few dispatches as possible
  continuous  a batch runs while the host looks at the one before
  chained     the GPU says whether the next batch, issued already, has work
  standard    the host reads every machine's state between batches

Afterwards every machine is compared with one that the CPU ran; --verify=false
leaves that out, since it takes the CPU long for long runs.

JSON fields: gpu, driver, file, form, machines, cycles (of all machines), batches,
dispatches, cut, syscalls, ms, instructions_per_second, signal, number, fault,
address, final_pc, flags, registers {NAME: value} (of --machine), stands {SIGNAL:
machines}, printed [{machine, value}] (the first 1000), trace [TEXT], verified
(null without --verify). Addresses and registers are hexadecimal text.

The exit code is 1 when a machine ended in a fault, or not as the CPU has it.`

// printCall is the SVC that prints x0.
const printCall = 1

// maxPrinted bounds what is kept of what machines print.
const maxPrinted = 1000

// interpreterResult is what run interpreter prints.
type interpreterResult struct {
	GPU        string             `json:"gpu"`
	Driver     string             `json:"driver"`
	File       string             `json:"file"`
	Form       string             `json:"form"`
	Machines   int                `json:"machines"`
	Cycles     uint64             `json:"cycles"`
	Batches    int                `json:"batches"`
	Dispatches int                `json:"dispatches"`
	Cut        int                `json:"cut"`
	Syscalls   int                `json:"syscalls"`
	Millis     float64            `json:"ms"`
	IPS        float64            `json:"instructions_per_second"`
	Signal     interpreter.Signal `json:"signal"`
	Number     uint16             `json:"number"`
	Fault      interpreter.Fault  `json:"fault"`
	Address    string             `json:"address"`
	FinalPC    string             `json:"final_pc"`
	Flags      string             `json:"flags"`
	Registers  map[string]string  `json:"registers"`
	Stands     map[string]int     `json:"stands"`
	Printed    []printedValue     `json:"printed"`
	Trace      []string           `json:"trace"`
	Verified   *bool              `json:"verified"`

	machine int
	state   interpreter.State
	prints  int // more of them than Printed holds
	wrong   int // machine that is not as the CPU has it, or -1
}

// printedValue is what a machine printed.
type printedValue struct {
	Machine int    `json:"machine"`
	Value   uint64 `json:"value"`
}

func newRunInterpreter(o *options) *cobra.Command {
	var f interpreterFlags
	f.memory = 4 << 20
	cmd := &cobra.Command{
		Use:                   "interpreter FILE [--machines N] [--cycles N] [--form NAME] [--reg x0=5] ...",
		DisableFlagsInUseLine: true,
		Short:                 "Run ARM instructions on the GPU",
		Long:                  runInterpreterUsage,
		Example:               "  shadercache run interpreter demo/interpreter/testdata/fibonacci.s --machines 90 --memory 64KiB --reg x0=machine --machine 50",
		Args: cli.UsageArgs(func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("name one file to run")
			}
			return nil
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.form, "form", "mega", strings.Join(interpreterForms, ", "))
	flags.Uint64Var(&f.cycles, "cycles", 1_000_000, "instructions of each machine, at most")
	flags.IntVar(&f.options.BatchCycles, "batch", 100_000, "instructions of a batch")
	flags.IntVar(&f.options.Machines, "machines", 1, "machines side by side")
	flags.IntVar(&f.machine, "machine", 0, "the machine whose registers and trace are printed")
	flags.StringArrayVar(&f.registers, "reg", nil, "set `NAME=VALUE` in every machine: x0 to x30, sp, pc; the value machine is its number")
	flags.StringArrayVar(&f.breaks, "break", nil, "stop at this `ADDRESS`")
	flags.StringVar(&f.watch, "watch", "", "stop behind a store to `ADDRESS[+BYTES]`, 8 bytes unless told otherwise")
	flags.Var(&f.memory, "memory", "memory of each machine")
	flags.DurationVar(&f.timeout, "timeout", 0, "stop continuous after the batch in which this passes (default never)")
	flags.IntVar(&f.options.TraceEntries, "trace", 0, "print the last N instructions of --machine")
	flags.BoolVar(&f.options.Int64, "int64", false, "use 64-bit integers of the driver")
	flags.BoolVar(&f.verify, "verify", true, "compare every machine with the CPU")
	flags.Lookup("memory").DefValue = "4M"
	cli.Complete(cmd, "form", interpreterForms...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(); err != nil {
			return cli.Usage(cmd, err)
		}
		return o.runInterpreter(f, args[0])
	}
	return cmd
}

// readCode reads a program.
func readCode(file string) ([]byte, error) {
	code, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if !strings.EqualFold(filepath.Ext(file), ".bin") {
		if code, err = interpreter.Assemble(file, string(code)); err != nil {
			return nil, cli.Hint(err, "shadercache run interpreter --help lists the instructions")
		}
	}
	if len(code) == 0 {
		return nil, fmt.Errorf("run: %s holds no instructions", file)
	}
	return code, nil
}

func (o *options) runInterpreter(f interpreterFlags, file string) error {
	code, err := readCode(file)
	if err != nil {
		return err
	}
	g, err := o.OpenGPU(cache.Options{})
	if err != nil {
		return err
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	r := &interpreterResult{GPU: g.Name(), Driver: g.Driver(), File: file, Machines: f.options.Machines, Printed: []printedValue{}, Trace: []string{}, machine: f.machine}
	f.progress = o.NewProgress
	err = r.run(ctx, g, f, code)
	if err := errors.Join(err, g.Close()); err != nil {
		return err
	}
	if err := o.Result(r, r.Print); err != nil {
		return err
	}
	return r.Verdict()
}

// Verdict is what is wrong with the end.
func (r *interpreterResult) Verdict() error {
	switch n := r.Stands[interpreter.SignalFault.String()]; {
	case r.Verified != nil && !*r.Verified:
		return cli.Hint(fmt.Errorf("run: machine %d did not end as the CPU has it", r.wrong), "the driver may be broken: shadercache selftest")
	case n > 0 && r.state.Signal == interpreter.SignalFault:
		return fmt.Errorf("run: machine %d stopped at pc %#x: %s", r.machine, r.state.PC, faultText(r.state))
	case n > 0:
		return cli.Hint(fmt.Errorf("run: %s ended in a fault", cli.Plural(n, "machine")), "--machine N shows another one")
	}
	return nil
}

// faultText says what was wrong, and where an access went that was.
func faultText(s interpreter.State) string {
	switch s.Fault {
	case interpreter.FaultAddress, interpreter.FaultAlignment, interpreter.FaultCode:
		return fmt.Sprintf("%v, address %#x", s.Fault, s.Address)
	}
	return s.Fault.String()
}

func (r *interpreterResult) run(ctx context.Context, g *cli.GPU, f interpreterFlags, code []byte) error {
	bar := f.progress(100, "running")
	f.options.Progress = func(done, of uint64) { _ = bar.Set(int(float64(done) / float64(of) * 100)) }
	v, err := interpreter.New(ctx, g.Context, g.Cache, f.options)
	if err != nil {
		return err
	}
	err = r.runOn(ctx, v, f, code, bar.Finish)
	return errors.Join(err, v.Close())
}

func (r *interpreterResult) runOn(ctx context.Context, v *interpreter.Interpreter, f interpreterFlags, code []byte, ran func() error) error {
	if err := f.prepare(ctx, v, code); err != nil {
		return err
	}
	v.Handle(printCall, func(c *interpreter.Call) error {
		if len(r.Printed) < maxPrinted {
			r.Printed = append(r.Printed, printedValue{c.Machine, c.X[0]})
		} else {
			r.prints++
		}
		return nil
	})
	done, err := f.runForm(ctx, v)
	if err := errors.Join(err, ran()); err != nil {
		return err
	}
	states, err := v.States(ctx)
	if err != nil {
		return err
	}
	trace, err := v.Trace(ctx)
	if err != nil {
		return err
	}
	for _, e := range trace {
		r.Trace = append(r.Trace, e.String())
	}
	r.note(done, states)
	if f.verify {
		return r.verify(ctx, v, &f, code, states)
	}
	return nil
}

func (f *interpreterFlags) runForm(ctx context.Context, v *interpreter.Interpreter) (interpreter.Result, error) {
	switch f.form {
	case "standard":
		return v.RunStandard(ctx, f.cycles)
	case "chained":
		return v.RunChained(ctx, f.cycles)
	case "continuous":
		batch := uint64(f.options.BatchCycles)
		return v.RunContinuous(ctx, int((f.cycles+batch-1)/batch), f.timeout)
	}
	return v.RunMega(ctx, f.cycles)
}

// note takes over what a run did.
func (r *interpreterResult) note(done interpreter.Result, states []interpreter.State) {
	r.state = states[r.machine]
	r.Form, r.Cycles, r.Batches, r.Dispatches = done.Form, done.Cycles, done.Batches, done.Dispatches
	r.Cut, r.Syscalls, r.Millis, r.IPS = done.Cut, done.Syscalls, cli.Milliseconds(done.Wall), done.IPS
	r.Signal, r.Number, r.Fault = r.state.Signal, r.state.Number, r.state.Fault
	r.Address, r.FinalPC, r.Flags = fmt.Sprintf("%#x", r.state.Address), fmt.Sprintf("%#x", r.state.PC), flagText(r.state.Flags)
	r.Registers = map[string]string{"sp": fmt.Sprintf("%#x", r.state.SP)}
	for i, x := range r.state.X {
		r.Registers[fmt.Sprintf("x%d", i)] = fmt.Sprintf("%#x", x)
	}
	r.Stands = map[string]int{}
	for s, n := range done.Stands {
		if n > 0 {
			r.Stands[interpreter.Signal(s).String()] = n
		}
	}
}

// flagText shows set flags as letters: "nZCv".
func flagText(flags uint32) string {
	text := []byte("nzcv")
	for i := range text {
		if flags&(8>>i) != 0 {
			text[i] -= 'a' - 'A'
		}
	}
	return string(text)
}

// dispatches is "1 dispatch", "2 dispatches".
func dispatches(n int) string {
	if n == 1 {
		return "1 dispatch"
	}
	return fmt.Sprintf("%d dispatches", n)
}

// standing is how the machine stands: "halt #3", "checkpoint, --cycles are done".
func (r *interpreterResult) standing() string {
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

// standings is how many machines stand with each signal: "3 halt, 1 fault".
func (r *interpreterResult) standings() string {
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
	if r.prints > 0 {
		fmt.Fprintf(w, "and %d more\n", r.prints)
	}
	fmt.Fprintf(w, "machine %d: %s at pc %s after %s, flags %s\n", r.machine, r.standing(), r.FinalPC, cli.Plural(r.state.Cycles, "instruction"), r.Flags)
	if len(r.Stands) > 1 {
		fmt.Fprintf(w, "all machines: %s\n", r.standings())
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
		dispatches(r.Dispatches), cli.ReadableRate(r.IPS))
	if r.Verified != nil && *r.Verified {
		fmt.Fprintln(w, "every machine ended as the CPU has it")
	}
}
