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
With --repeat figures are medians, beside the shortest and the longest total.
With --preload, as of a program with a list of what it needs, a program's get is
the time since the one before it was ready.

With --remote the scenarios are cold, both, and two more:
  remote       nothing on disk; a remote has what the cold start left
  remote_next  the next start in the same directory
"loopback" is a server in the benchmark's own process; a URL is a place to which
this command may write: it is pushed to, with a key that is made for the run.
--latency and --bandwidth put a link before an http: remote, whose connections
cost a round trip before the first byte.

The exit code is 1 when a result was wrong, when both, binary_only or upstream
compiled anything, or when a process that should have compiled everything did
not.`

// startupFlags are the flags of bench startup.
type startupFlags struct {
	startup.Options
	Scenario     string `flag:"scenario" help:"all, or one of those above"`
	WithUpstream bool   `flag:"upstream" help:"measure the first start with a read-only directory too"`
}

func (o *options) benchStartupCommand() cli.Command {
	f := startupFlags{Options: startup.Options{Programs: 48, Repeat: 1}, Scenario: "all"}
	return cli.Command{
		Use:   "startup [--programs N] [--scenario NAME] [--repeat N] [--preload] [--upstream] [--remote loopback|URL [--latency D] [--bandwidth RATE] [--budget D]] [--chart FILE] [--workdir DIR]",
		Short: "Measure the start with and without the two cache layers",
		Long:  benchStartupUsage,
		Example: "  shadercache bench startup --programs 48 --repeat 5 --json\n" +
			"  shadercache bench startup --remote loopback --latency 40ms \\\n    --bandwidth 100Mb/s --budget 1s",
		Flags: &f, GPUs: cli.EachGPU, Files: []string{"chart", "report"}, Unused: cli.DirFlags, Result: startup.Result{},
		Setup: func(cmd *cobra.Command) {
			cli.Complete(cmd, "scenario", append([]string{"all"}, append(startup.Scenarios, startup.Remote, startup.RemoteNext)...)...)
		},
		Check: func(*cobra.Command, []string) error { return f.check(o) },
		Run:   func(*cobra.Command, []string) (cli.Result, error) { return startup.Run(&o.Options, f.Options) },
	}
}

// check chooses the scenarios, and returns an error for flags that leave nothing to compare.
func (f *startupFlags) check(o *options) error {
	if f.Scenarios = startup.Scenarios; f.Remote != "" {
		f.Scenarios = startup.FleetScenarios
	}
	if f.Scenario != "all" {
		f.Scenarios = []string{f.Scenario}
	}
	if f.WithUpstream {
		f.Scenarios = append(slices.Clone(f.Scenarios), startup.Upstream)
	}
	if !bool(o.DriverCache) {
		return errors.New("--driver-cache off leaves nothing to compare")
	}
	return f.Validate()
}

// newStartupChild is the hidden command that bench startup runs for each scenario.
func (o *options) startupChildCommand() cli.Command {
	b := startup.ChildOptions{Programs: 48}
	return cli.Command{
		Use:     startup.ChildCommand + " [flags]",
		Short:   "Run one scenario of bench startup in this process",
		Hidden:  true,
		Example: "  shadercache bench startup-child --json",
		Flags:   &b,
		Run: func(*cobra.Command, []string) (cli.Result, error) {
			r, err := startup.RunChild(&o.Options, b)
			if err == nil {
				err = json.NewEncoder(o.Stdout).Encode(r)
			}
			return nil, err
		},
	}
}
