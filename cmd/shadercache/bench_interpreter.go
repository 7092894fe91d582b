package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/demo/interpreter"
	"github.com/shadercache/shadercache/internal/cli"
)

const benchInterpreterUsage = `Measure how fast machines of the interpreter run, in every form of dispatch.

Two programs that never end: tight counts in a register, store also writes the
count to memory. Each runs on one machine, which is one lane of the GPU, and on
many side by side; standard, continuous, mega and chained, all with the same
shader. Other builds of the shader run as mega: registers in an array instead of
shared memory, 64-bit integers of the driver, and the next instruction fetched
while one is done. After each run every
machine's registers, flags and counts are compared with the CPU's.

Each row is the best of --repeat runs. instructions_per_second is of all machines
together.

JSON fields: gpu, driver, ` + cli.OriginFields + `,
rows [{program, form, machines, registers, int64, ahead,
cycles, batch, batches, dispatches, ms, instructions_per_second, verified}], ratios
[{program, machines, continuous_to_mega, chained_to_mega, standard_to_mega,
mega_to_one_machine}], verified.

The exit code is 1 when a machine was not as the CPU has it.`

// interpreterBenchResult is what bench interpreter prints.
type interpreterBenchResult struct {
	GPU      string                    `json:"gpu"`
	Driver   string                    `json:"driver"`
	Origin   cli.Origin                `json:"origin"`
	Rows     []interpreter.BenchRow    `json:"rows"`
	Ratios   []interpreter.BenchRatios `json:"ratios"`
	Verified bool                      `json:"verified"`
}

func newBenchInterpreter(o *options) *cobra.Command {
	var b interpreter.BenchOptions
	cmd := &cobra.Command{
		Use:                   "interpreter [--machines N] [--cycles N] [--batch N] [--repeat N]",
		DisableFlagsInUseLine: true,
		Short:                 "Measure machines that run on the GPU",
		Long:                  benchInterpreterUsage,
		Example:               "  shadercache bench interpreter --cycles 10000000 --batch 1000000 --json",
		Args:                  cli.UsageArgs(cli.NoArguments),
	}
	flags := cmd.Flags()
	flags.IntVar(&b.Machines, "machines", 0, "machines side by side (default 10000, on software drivers 256)")
	flags.IntVar(&b.Cycles, "cycles", 0, "instructions of each machine (default 4000000, on software drivers 600000)")
	flags.IntVar(&b.Batch, "batch", 0, "instructions of a batch (default a quarter of --cycles)")
	flags.IntVar(&b.Repeat, "repeat", 2, "runs of each row, of which the best counts")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if b.Machines < 0 || b.Cycles < 0 || b.Batch < 0 || b.Repeat < 1 {
			return cli.Usage(cmd, errors.New("machines, cycles and batch must not be negative, and --repeat at least 1"))
		}
		return o.benchInterpreter(b)
	}
	return cmd
}

func (o *options) benchInterpreter(b interpreter.BenchOptions) error {
	g, err := o.OpenGPU(cache.Options{})
	if err != nil {
		return err
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	r := &interpreterBenchResult{GPU: g.Name(), Driver: g.Driver(), Origin: cli.NewOrigin(), Verified: true}
	bar := o.NewProgress(0, "interpreter")
	b.Progress = func(done, of int) {
		bar.ChangeMax(of)
		_ = bar.Set(done)
	}
	r.Rows, r.Ratios, err = interpreter.Bench(ctx, g.Context, g.Cache, b)
	_ = bar.Finish()
	for _, row := range r.Rows {
		r.Verified = r.Verified && row.Verified
	}
	return o.Show(r, errors.Join(err, g.Close()))
}

func (r *interpreterBenchResult) Verdict() error {
	if !r.Verified {
		return unverified("a machine did not end as the CPU has it")
	}
	return nil
}

func (r *interpreterBenchResult) Print(w io.Writer) {
	fmt.Fprintf(w, "%s\ndriver %s\n%s\n\nprogram\tform\tmachines\tbuild\tinstructions\ttime\tinstructions/s\n", r.GPU, r.Driver, r.Origin)
	for _, row := range r.Rows {
		build := row.Registers
		if row.Int64 {
			build += ", int64"
		}
		if row.Ahead {
			build += ", ahead"
		}
		verdict := ""
		if !row.Verified {
			verdict = "\twrong"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%d\t%.2f ms\t%s%s\n", row.Program, row.Form, row.Machines, build,
			row.Cycles*uint64(row.Machines), row.Millis, readableRate(row.IPS), verdict)
	}
	fmt.Fprint(w, "\nprogram\tmachines\tcontinuous/mega\tchained/mega\tstandard/mega\tto one machine\n")
	for _, q := range r.Ratios {
		fmt.Fprintf(w, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.1fx\n", q.Program, q.Machines, q.ContinuousToMega, q.ChainedToMega, q.StandardToMega, q.MegaToOneMachine)
	}
}

// readableRate is a number a second for people: "12.3 M", "4.56 G".
func readableRate(perSecond float64) string {
	switch {
	case perSecond >= 1e9:
		return fmt.Sprintf("%.2f G", perSecond/1e9)
	case perSecond >= 1e6:
		return fmt.Sprintf("%.2f M", perSecond/1e6)
	}
	return fmt.Sprintf("%.1f k", perSecond/1e3)
}
