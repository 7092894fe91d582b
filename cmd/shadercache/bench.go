package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/internal/cli"
)

const benchUsage = `Measure on this machine what the cache saves (bench startup), what running jobs
costs (bench executor, bench dispatch), and how fast convolutions and matrix
products are (bench conv2d, bench gemm).`

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
An empty cache is an empty directory, not a disabled cache. The two warm
scenarios use what a cold start before them wrote. Settings of the driver's
cache in the environment are ignored. A process that does not count comes first,
with one program in a directory that is thrown away: it pays for reading the
driver's libraries from the disk, which is no part of what a cache saves.

Figures, in milliseconds; the first three are medians per program:
  get              getting the program: load or compile, and prime
  first_dispatch   the first dispatch until its result is in host memory
  to_first_result  both; comparing with the CPU is not part of it
  total            from the first get to the last result
  context          opening EGL and the context
  process          from the start of the process to all results verified
With --repeat each figure is the median of so many runs, and the shortest and the
longest total stand beside it. With --preload the
process asks for all programs at once before the first dispatch, as one that
knows what it will need does; a program's get is then what passed since the one
before it was ready.

--chart FILE.svg draws the totals as a picture, unless a result was wrong; the
terminal gets it in characters. A folder is made where there is none.

JSON fields: workload, gpu, driver, ` + cli.OriginFields + `,
programs, repeat, preload, scenarios {NAME: {get_ms, first_dispatch_ms,
to_first_result_ms, total_ms, least_total_ms, most_total_ms, context_ms, process_ms,
compiles, driver_cache, verified}}, speedup_vs_cold (cold total / both total),
speedup_vs_driver_only, process_speedup_vs_cold, verified.

The exit code is 1 when a result was wrong, when both or binary_only compiled
anything, or when a process that should have compiled everything did not.`

// maxBenchPrograms bounds --programs: beyond it the figures say nothing new.
const maxBenchPrograms = 4800

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

func newBenchStartup(o *options) *cobra.Command {
	var b startupBench
	scenario := "all"
	cmd := &cobra.Command{
		Use:                   "startup [--programs N] [--scenario NAME] [--repeat N] [--preload] [--chart FILE] [--workdir DIR]",
		DisableFlagsInUseLine: true,
		Short:                 "Measure the start with and without the two cache layers",
		Long:                  benchStartupUsage,
		Example:               "  shadercache bench startup --programs 48 --repeat 5 --json",
		Args:                  cli.UsageArgs(cli.NoArguments),
	}
	flags := cmd.Flags()
	flags.IntVar(&b.programs, "programs", 48, "number of programs")
	flags.StringVar(&scenario, "scenario", "all", "all, cold, binary_only, driver_only or both")
	flags.IntVar(&b.repeat, "repeat", 1, "runs of each scenario, for medians")
	flags.BoolVar(&b.preload, "preload", false, "get all programs at once before the first dispatch")
	flags.StringVar(&b.chart, "chart", "", "SVG file to draw the totals into")
	flags.StringVar(&b.workDir, "workdir", "", "where the scenarios' directories are made, and removed (default the system's temporary directory)")
	_ = cmd.MarkFlagFilename("chart", "svg")
	cli.Complete(cmd, "scenario", append([]string{"all"}, scenarioNames...)...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := b.choose(scenario); err != nil {
			return cli.Usage(cmd, err)
		}
		if !o.DriverCache {
			return cli.Usage(cmd, errors.New("--driver-cache off leaves nothing to compare"))
		}
		r, err := b.run(o)
		if err == nil && b.chart != "" && r.Verdict() == nil {
			err = r.totals().WriteSVG(b.chart)
		}
		return o.Show(r, err)
	}
	return cmd
}

// choose checks the flags and sets the scenarios to report.
func (b *startupBench) choose(scenario string) error {
	switch {
	case b.programs < 1 || b.programs > maxBenchPrograms:
		return fmt.Errorf("--programs must be 1 to %d", maxBenchPrograms)
	case b.repeat < 1:
		return errors.New("--repeat must be at least 1")
	case b.chart != "" && filepath.Ext(b.chart) != ".svg":
		return fmt.Errorf("--chart writes SVG, so %s should end in .svg", b.chart)
	case scenario == "all":
		b.scenarios = scenarioNames
	case slices.Contains(scenarioNames, scenario):
		b.scenarios = []string{scenario}
	default:
		return fmt.Errorf("there is no scenario %q (there are all, %s)", scenario, strings.Join(scenarioNames, ", "))
	}
	return nil
}
