package main

import (
	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/internal/bench/bars"
	"github.com/shadercache/shadercache/internal/cli"
)

const benchUsage = `Measure on this machine what the cache saves (bench startup), what running jobs
costs (bench executor, bench dispatch), and how fast convolutions and matrix
products are (bench conv2d, bench gemm).

With several GPUs in --device each is measured alone, one after the other, in a
process of its own; bench devices measures them together.

With --assert FILE a benchmark compares its figures with bars: a JSON list of
objects with figure, and at_least or at_most or both. A figure is a path in the
JSON of the result; brackets select rows by their values, as in
rows[kernel_us=2,depth=3].jobs_per_s. The exit code is 1 where a figure falls
short, with a table of those that do.`

func newBench(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bench",
		Short:   "Measure what the cache saves and how fast programs are",
		Long:    benchUsage,
		Example: "  shadercache bench startup --preload",
		Args:    cli.UsageArgs(cli.KnownCommand),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().String(assertFlag, "", "compare the figures with the bars in a `file`")
	for _, one := range []*cobra.Command{newBenchExecutor(o), newBenchDispatch(o), newBenchGEMM(o), newBenchConv2D(o),
		newBenchResident(o), newBenchInterpreter(o), newBenchWave(o), newBenchSteal(o)} {
		cmd.AddCommand(o.EachGPU(one))
	}
	cmd.AddCommand(o.EachGPU(newBenchStartup(o), "chart", "report"), newBenchDevices(o), newStartupChild(o), newDevicesChild(o))
	return cmd
}

// assertFlag names the flag for bars.
const assertFlag = "assert"

// benchmark are the options of a benchmark.
type benchmark interface{ Validate() error }

// runBenchmark checks the options of a benchmark, runs it, prints its result, and compares
// it with the bars that are asked for.
func runBenchmark[B benchmark, R cli.Outcome](o *options, cmd *cobra.Command, b B, run func(*cli.Options, B) (R, error)) error {
	if err := b.Validate(); err != nil {
		return cli.Usage(cmd, err)
	}
	var list []bars.Bar
	if file, _ := cmd.Flags().GetString(assertFlag); file != "" {
		var err error
		if list, err = bars.Read(file); err != nil {
			return cli.Usage(cmd, err)
		}
	}
	r, err := run(&o.Options, b)
	if err := o.Show(r, err); err != nil {
		return err
	}
	return bars.Check(list, r)
}
