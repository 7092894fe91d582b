package main

import (
	"cmp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/lab/bench/jobs"
)

const benchExecutorUsage = `Measure what it costs to run jobs through the executor.

The workload is a stream of jobs, each with an input, a kernel of a given length
that works on every word of it, and an output. One goroutine submits jobs and
waits for them in order, with as many pending as the executor takes. Depth 1 is
the synchronous form of the same code: one job after the other.

Kernel lengths are reached by a number of rounds, calibrated at the start. The
CPU computes what the kernel computes without rounds, so that every word can be
checked, and every job has an input of its own, so that an old result shows.

Each row is run --repeat times for its figures, checking the first word of every
64 KiB and the last one; again with the GPU's clock read, for gpu_ms, which must
not exceed that run's own wall time; and once more checking every word. Its
figures are those of the run in the middle; least and most are the jobs a second
of the slowest and the fastest. An interrupt prints the rows that are done.

A kernel cannot be shorter than a dispatch and its barrier: the parts below show
how long a row's kernel takes alone, and its bound is computed from that.

Figures of a row:
  us/job    wall time a job
  speed-up  jobs a second against depth 1
  bound     what overlap can give: (upload + kernel + download + host) / the
            largest of them, each measured alone, host being the caller's side
  of bound  the largest of them / wall time a job: 1.00 is perfect overlap, and
            more is possible where kernels run beside each other
  batch     jobs that share a fence, on average
  CPU us    CPU time of the whole process, a job
  CPU       the same in per cent of one CPU
  Submit    the caller's side, as a median of some of the calls

A row with a delay lets results wait for that time, so that one poll of the GPU
serves several jobs: it shows the CPU time that this saves.

Below the rows: the parts of a job alone, and the upload bandwidth of jobs whose
input is in the slot already.

With --soak TIME instead of the rows: four goroutines run rounds of mixed jobs,
64 bytes to 1 MiB, copied or mapped, one kernel or two, and check every word.
Memory, buffers, fences, programs and goroutines are counted after a tenth of
the time and at the end. A stall is a round that takes more than 10 times the
median.

The exit code is 1 when a result was wrong, when wall time was below the GPU's
time of the same work, or when something grew or stalled in a soak.`

func newBenchExecutor(o *options) cli.Command {
	b := jobs.Options{Workloads: []string{"small", "large"}, Seconds: 0.5, Repeat: 1, LargeBytes: 16 << 20}
	return cli.Command{
		Use:     "executor [--workloads NAMES] [--seconds S] [--repeat N] [--large-bytes SIZE] [--soak TIME]",
		Short:   "Measure jobs with uploads and downloads, one after the other and side by side",
		Long:    benchExecutorUsage,
		Example: "  shadercache-lab bench executor --workloads small --json | jq \\\n    '.rows[] | select(.kernel_us == 1000)'",
		Result:  jobs.Result{},
		Flags:   &b,
		Run: func(cmd *cobra.Command, _ []string) (cli.Result, error) {
			large := slices.Contains(b.Workloads, "large") || slices.Contains(b.Workloads, "upload")
			if err := cmp.Or(
				cli.RefuseUnused(cmd, b.Soak == 0, "rows, which --soak replaces", "workloads", "seconds", "repeat", "large-bytes"),
				cli.RefuseUnused(cmd, large, "the workloads large and upload", "large-bytes"),
			); err != nil {
				return nil, err
			}
			return runBenchmark(o, cmd, b, jobs.Run)
		},
	}
}
