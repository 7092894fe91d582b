package main

import (
	"cmp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/lab/bench/sessions"
)

const benchResidentUsage = `Measure kernels that keep running: sessions of package resident, in every mode.

What the driver shows a running kernel is probed first; where a kernel does not
see what the host writes, the persistent mode runs as ticks, and the row has the
reason.

Workloads:
  persistence  --iterations times 100 multiply-adds, over 16 groups of 256
               invocations, repeated for --seconds: rapid re-dispatch with 10k,
               50k, 100k and 500k iterations a dispatch, mega-dispatch with 1k,
               5k, 10k and 50k for each invocation, chain, double, triple,
               persistent, and claimed steps in chunks of 10k to 500k
  round_trip   a message to a kernel and its answer; to the last of 132 groups,
               and to all of them with all answers; a dispatch and a fence
  live         on one grid of 16 x 256, in ticks of 1 ms and persistently:
               injection until acknowledged, query, single step, and frames of
               20 steps, an injection and a query at 60 a second
  barrier      132 groups of 256 that wait for each other: within a dispatch, as
               the probe measured it, and as phases of a session
  reread       reading 64 KiB to 256 MiB again in the next dispatch: what caches
               keep from one dispatch to the next
  preempt      until another dispatch has run while a session works
  soak         with --soak: every strategy for that time, with heartbeats

Figures of persistence: iterations a second; gap is what a dispatch takes beyond
its work, where work is what the fastest row needs for it; bound names which of
the two takes more than a fifth of the time. CPU is that of the whole process,
in per cent of one CPU. Times of the others are medians, with the 99th
percentile.

Every row is verified: each invocation's witness of its steps, each answer, each
injected value.

Of soak: naps_per_s counts how often the session's scheduler woke, looks_per_s
how often it polled the GL thread for a fence; longest_tick_ms is the longest
submission by the GPU's clock, or an upper bound where that clock is not usable;
stop_ms is the time until all groups had done the same steps.

A stall is a submission that was issued and has ended without a heartbeat, or no
heartbeat at all; how late one comes depends on what else runs. Goroutines, open
files, buffers, fences and program handles are counted before each session of a
soak and after it was closed. CPU time is bounded by --assert, as
rows[workload=soak].cpu_percent at_most 5.

The exit code is 1 when anything was wrong, or when a soak stalled or left
something behind.`

func newBenchResident(o *options) cli.Command {
	b := sessions.Options{Workloads: sessions.Workloads, Seconds: 0.3}
	return cli.Command{
		Use:     "resident [--workloads NAMES] [--iterations N] [--seconds S] [--soak TIME]",
		Short:   "Measure kernels that keep running, in every mode",
		Long:    benchResidentUsage,
		Example: "  shadercache-lab bench resident --workloads round_trip,barrier --json",
		Result:  sessions.Result{},
		Flags:   &b,
		Run: func(cmd *cobra.Command, _ []string) (cli.Result, error) {
			if err := cmp.Or(
				cli.RefuseUnused(cmd, slices.Contains(b.Workloads, "persistence"), "the workload persistence", "iterations"),
				cli.RefuseUnused(cmd, len(b.Workloads) > 0, "workloads", "seconds"),
			); err != nil {
				return nil, err
			}
			return runBenchmark(o, cmd, b, sessions.Run)
		},
	}
}
