package main

import (
	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/lab/bench/dispatch"
)

const benchDispatchUsage = `Measure what a dispatch costs when the kernel does next to nothing: one group
adds to a counter.

Figures, in microseconds, medians of 5 rounds that share the dispatches, with
the shortest and the longest round beside them:
  record        recording a dispatch on the GL thread, which does not wait
  dispatch      many dispatches in a row, until the GPU has done them, each
  fence         a dispatch, a flush and a fence, until the fence is signaled
  submit        the caller's side of Submit
  round trip    Submit and Wait, one job at a time, and what 99% take at most
  pipelined     jobs through the executor, many pending, each
  switch        a dispatch of another program than the one before, for 2 to 16
                programs in turn, and what it costs more than the same program
  gap           between the end of a dispatch and the start of the next on the
                GPU's clock, with nothing between them but the time stamps; as a
                histogram by powers of 2. 0 where that clock does not run

The exit code is 1 when the kernels did not count every dispatch.`

func newBenchDispatch(o *options) cli.Command {
	b := dispatch.Options{Dispatches: 10_000}
	return cli.Command{
		Use:     "dispatch [--dispatches N]",
		Short:   "Measure what a dispatch costs",
		Long:    benchDispatchUsage,
		Example: "  shadercache-lab bench dispatch --dispatches 1000 --json",
		Result:  dispatch.Result{},
		Flags:   &b,
		Run: func(cmd *cobra.Command, _ []string) (cli.Result, error) {
			return runBenchmark(o, cmd, b, dispatch.Run)
		},
	}
}
