package main

import (
	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/internal/cli"
)

const benchUsage = `Measure on this machine what the cache saves (bench startup), what running jobs
costs (bench executor, bench dispatch), and how fast convolutions and matrix
products are (bench conv2d, bench gemm).`

func newBench(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bench",
		Short:   "Measure what the cache saves and how fast programs are",
		Long:    benchUsage,
		Example: "  shadercache bench startup --preload",
		Args:    cli.UsageArgs(cli.KnownCommand),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBenchStartup(o), newBenchExecutor(o), newBenchDispatch(o), newBenchGEMM(o), newBenchConv2D(o),
		newBenchResident(o), newBenchInterpreter(o), newBenchWave(o), newBenchSteal(o), newStartupChild(o))
	return cmd
}

// benchmark are the options of a benchmark.
type benchmark interface{ Validate() error }

// runBenchmark checks the options of a benchmark, runs it and prints its result.
func runBenchmark[B benchmark, R cli.Outcome](o *options, cmd *cobra.Command, b B, run func(*cli.Options, B) (R, error)) error {
	if err := b.Validate(); err != nil {
		return cli.Usage(cmd, err)
	}
	r, err := run(&o.Options, b)
	return o.Show(r, err)
}
