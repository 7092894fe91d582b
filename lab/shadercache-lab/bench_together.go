package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/startup"
	"github.com/shadercache/shadercache/lab/bench/together"
)

const benchTogetherUsage = `Measure processes of shadercache that start at the same time. The command is
that beside this one, else in the PATH.

Workloads:
  warm      --processes on one warm directory, beside as many with a directory
            each, in the same round
  cold      --processes that preload one empty directory, beside one alone
  failures  a preload of a warm directory, with sources of which one in 25 does
            not compile, which is recorded; beside --no-isolate
  machines  --machines with an empty directory each, which start from one
            remote, beside their median

The programs are those of bench startup. Each process but those of preload runs
every program once and compares every element with the CPU's; after cold one
more does. Figures are from the start of a process to its end: of those that
start at once the first, the median and the slowest, each the median of --repeat
rounds. "ratio" is the slowest, of what it is compared with. "missed" counts the
starts that compiled anything although the directory, or the remote, had it.

--remote is "file", a folder; "loopback", an HTTP server in the benchmark's own
process; or an http: or oci: URL to which this command may write. --latency is
that of a link before the last two.

The exit code is 1 when a result was wrong, or a start compiled what its
directory had.`

func newBenchTogether(o *options) cli.Command {
	b := together.Options{
		Workloads: together.Workloads, Processes: []int{1, 2, 8, 16}, Machines: []int{1, 6, 20}, Remotes: []string{together.File, startup.Loopback},
		Latencies: []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond}, Programs: 48, Repeat: 3,
	}
	return cli.Command{
		Use:     "together [--workloads NAMES] [--processes N,...] [--machines N,...] [--remote NAMES] [--latency D,...] [--programs N] [--repeat N]",
		Short:   "Measure processes that start at the same time",
		Long:    benchTogetherUsage,
		Example: "  shadercache-lab bench together --workloads machines --machines 6 \\\n    --latency 0s,20ms --json | jq '.rows[] | {latency_ms, ratio, missed}'",
		Result:  together.Result{},
		Flags:   &b,
		Run: func(cmd *cobra.Command, _ []string) (cli.Result, error) {
			return runBenchmark(o, cmd, b, together.Run)
		},
	}
}
