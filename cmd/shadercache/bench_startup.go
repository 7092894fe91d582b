package main

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/startup"
)

const benchStartupUsage = `Measure the start of a program that needs many compute programs.

The workload is one tiled matrix product in 48 programs (tiles of 32, 64 and
128, four activations, scales 1 to 4). A fresh process opens the GPU, gets every
program, dispatches it once on 128x128x128 into an output that was filled with
poison, reads the result back, and compares every element with the CPU's.

Scenarios, each in a process of its own and a directory of its own:
  cold         no program binaries, the driver's own cache is empty
  binary_only  program binaries, the driver's own cache is empty
  driver_only  no program binaries, the driver's own cache is warm
  both         program binaries, the driver's own cache is warm
With --upstream also, in a process without a home that can write to one private
place only, which is empty:
  upstream     the directory of both, read-only, as $SHADERCACHE_UPSTREAM
An empty cache is an empty directory, not a disabled cache. The two warm
scenarios use what a cold start before them wrote. Settings of the driver's
cache in the environment are ignored. A process that is not measured runs first,
with one program in a directory that is removed: it reads the driver's libraries
from the disk, which is no part of what a cache saves.

Figures, in milliseconds; the first three are medians per program:
  get              getting the program: load or compile, and prime
  first_dispatch   the first dispatch until its result is in host memory
  to_first_result  both; comparing with the CPU is not part of it
  total            from the first get to the last result
  context          opening EGL and the context
  process          from the start of the process to all results verified
With --repeat each figure is the median of that number of runs, beside the
shortest and the longest total. With --preload the process gets all programs at
once before the first dispatch, like a program with a list of what it needs; a
program's get is then the time since the one before it was ready.

With --remote the scenarios are cold, both, and two more:
  remote       nothing on disk; a remote has what the cold start left
  remote_next  the next start in the same directory
"loopback" is a server in the benchmark's own process; a URL is a place to which
this command may write: it is pushed to, with a key that is made for the run.
--latency and --bandwidth put a link before an http: remote, whose connections
cost a round trip before the first byte. --budget is how long a start waits.

--chart FILE.svg draws the totals as a picture, unless a result was wrong; the
terminal shows them as bars of characters. A missing folder is created.

The exit code is 1 when a result was wrong, when both, binary_only or upstream
compiled anything, or when a process that should have compiled everything did
not.`

func newBenchStartup(o *options) *cobra.Command {
	var b startup.Options
	scenario, upstream := "all", false
	cmd := &cobra.Command{
		Use:                   "startup [--programs N] [--scenario NAME] [--repeat N] [--preload] [--upstream] [--remote loopback|URL [--latency D] [--bandwidth RATE] [--budget D]] [--chart FILE] [--workdir DIR]",
		DisableFlagsInUseLine: true,
		Short:                 "Measure the start with and without the two cache layers",
		Long:                  benchStartupUsage,
		Example: "  shadercache bench startup --programs 48 --repeat 5 --json\n" +
			"  shadercache bench startup --remote loopback --latency 40ms --bandwidth 100Mb/s --budget 1s",
		Args: cli.UsageArgs(cli.NoArguments),
	}
	flags := cmd.Flags()
	flags.IntVar(&b.Programs, "programs", 48, "number of programs")
	flags.StringVar(&scenario, "scenario", "all", "all, or one of those above")
	flags.BoolVar(&upstream, "upstream", false, "measure the first start with a read-only directory too")
	flags.IntVar(&b.Repeat, "repeat", 1, "runs of each scenario, for medians")
	flags.BoolVar(&b.Preload, "preload", false, "get all programs at once before the first dispatch")
	flags.StringVar(&b.Remote, "remote", "", "start from this remote too: loopback, or a URL")
	flags.DurationVar(&b.Latency, "latency", 0, "of a link before the remote, there and back")
	flags.Var(&b.Bandwidth, "bandwidth", "of a link before the remote, as in 100Mb/s")
	flags.Lookup("bandwidth").DefValue = ""
	flags.DurationVar(&b.Budget, "budget", 0, "how long a start waits for the remote (default that of the library)")
	flags.StringVar(&b.Chart, "chart", "", "SVG file to draw the totals into")
	flags.StringVar(&b.Report, "report", "", "HTML file for a page of one more cold and one more warm start")
	flags.StringVar(&b.WorkDir, "workdir", "", "where the scenarios' directories are made, and removed (default the system's temporary directory)")
	_ = cmd.MarkFlagFilename("chart", "svg")
	cli.Complete(cmd, "scenario", append([]string{"all"}, append(startup.Scenarios, startup.Remote, startup.RemoteNext)...)...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if b.Scenarios = startup.Scenarios; b.Remote != "" {
			b.Scenarios = startup.FleetScenarios
		}
		if scenario != "all" {
			b.Scenarios = []string{scenario}
		}
		if upstream {
			b.Scenarios = append(slices.Clone(b.Scenarios), startup.Upstream)
		}
		if cmd.Flags().Changed("dir") {
			return cli.Usage(cmd, errors.New("--dir has no effect here: each scenario has a directory of its own, below --workdir"))
		}
		if !o.DriverCache {
			return cli.Usage(cmd, errors.New("--driver-cache off leaves nothing to compare"))
		}
		if err := b.Validate(); err != nil {
			return cli.Usage(cmd, err)
		}
		r, err := startup.Run(&o.Options, b)
		return o.Show(r, err)
	}
	return o.WithResult(cmd, startup.Result{})
}

// newStartupChild is the hidden command that bench startup runs for each scenario.
func newStartupChild(o *options) *cobra.Command {
	var b startup.ChildOptions
	cmd := &cobra.Command{
		Use:     startup.ChildCommand,
		Short:   "Run one scenario of bench startup in this process",
		Hidden:  true,
		Example: "  shadercache bench startup-child --json",
		Args:    cli.UsageArgs(cli.NoArguments),
		RunE: func(*cobra.Command, []string) error {
			r, err := startup.RunChild(&o.Options, b)
			if err != nil {
				return err
			}
			return json.NewEncoder(o.Stdout).Encode(r)
		},
	}
	cmd.Flags().IntVar(&b.Programs, "programs", 48, "number of programs")
	cmd.Flags().BoolVar(&b.MemoryOnly, "memory-only", false, "keep no program binaries")
	cmd.Flags().BoolVar(&b.Preload, "preload", false, "get all programs before the first dispatch")
	return cmd
}
