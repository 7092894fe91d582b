package main

import (
	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/lab/bench/bars"
)

const benchUsage = `Measure on this machine what running jobs costs (bench executor, bench
dispatch), and how fast convolutions and matrix products are (bench conv2d,
bench gemm).

With several GPUs in --device each is measured alone, one after the other, in a
process of its own; bench devices measures them together.

With --assert FILE a benchmark compares its figures with bars: a JSON list of
objects with figure, and at_least or at_most or both. A figure is a path in the
JSON of the result; brackets select rows by their values, as in
rows[kernel_us=2,depth=3].jobs_per_s. Of a bar with a log only those of the
benchmark count: executor.json is the log of bench executor, executor-soak.json
of bench executor --soak. The exit code is 1 where a figure falls short, with a
table of those that do.`

func newBench(o *options) cli.Command {
	alone := []cli.Command{newBenchExecutor(o), newBenchDispatch(o), newBenchGEMM(o), newBenchConv2D(o),
		newBenchResident(o), newBenchInterpreter(o), newBenchWave(o), newBenchSteal(o), newBenchTogether(o)}
	for i := range alone {
		alone[i].GPUs = cli.EachGPU
	}
	return cli.Command{
		Use:     "bench [flags]",
		Short:   "Measure jobs, kernels and sessions",
		Long:    benchUsage,
		Example: "  shadercache-lab bench executor --assert docs/bench/bars.json",
		Setup: func(cmd *cobra.Command) {
			cmd.PersistentFlags().String(assertFlag, "", "compare the figures with the bars in a `file`")
		},
		Below: append(alone, newBenchDevices(o), newBenchTable(o), newDevicesChild(o)),
	}
}

// assertFlag names the flag for bars.
const assertFlag = "assert"

// benchmark are the options of a benchmark.
type benchmark interface{ Validate() error }

// runBenchmark checks the options of a benchmark, runs it, prints its result, and compares
// it with the bars that are asked for.
func runBenchmark[B benchmark, R cli.Outcome](o *options, cmd *cobra.Command, b B, run func(*cli.Options, B) (R, error)) (cli.Result, error) {
	if err := b.Validate(); err != nil {
		return nil, cli.Usage(cmd, err)
	}
	var list []bars.Bar
	if file, _ := cmd.Flags().GetString(assertFlag); file != "" {
		all, err := bars.Read(file)
		if err == nil {
			list, err = bars.For(all, logOf(cmd))
		}
		if err != nil {
			return nil, cli.Usage(cmd, err)
		}
	}
	r, err := run(&o.Options, b)
	if err := o.Show(r, err); err != nil {
		return nil, err
	}
	return nil, bars.Check(list, r)
}

// logOf returns the file in which scripts/measure keeps the result of a benchmark with its
// flags.
func logOf(cmd *cobra.Command) string {
	name := cmd.Name()
	if f := cmd.Flags().Lookup("soak"); f != nil && f.Changed {
		name += "-soak"
	}
	return name + ".json"
}
