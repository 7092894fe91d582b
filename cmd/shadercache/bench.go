package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
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
cache in the environment are ignored.

Figures, in milliseconds; the first three are medians per program:
  get              getting the program: load or compile, and prime
  first_dispatch   the first dispatch until its result is in host memory
  to_first_result  both; comparing with the CPU is not part of it
  total            from the first get to the last result
  context          opening EGL and the context
  process          from the start of the process to all results verified
With --repeat each figure is the median of so many runs. With --preload the
process asks for all programs at once before the first dispatch, as one that
knows what it will need does; a program's get is then what passed since the one
before it was ready.

JSON fields: workload, gpu, driver, programs, repeat, preload, scenarios {NAME: {get_ms,
first_dispatch_ms, to_first_result_ms, total_ms, context_ms, process_ms,
compiles, driver_cache, verified}}, speedup_vs_cold (cold total / both total),
speedup_vs_driver_only, verified.

The exit code is 1 when a result was wrong, or when both compiled anything.`

// maxBenchPrograms bounds --programs: beyond it the figures say nothing new.
const maxBenchPrograms = 4800

func newBench(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bench",
		Short:   "Measure what the cache saves and how fast programs are",
		Long:    benchUsage,
		Example: "  shadercache bench startup --preload",
		Args:    usageArgs(knownCommand),
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
		Use:                   "startup [--programs N] [--scenario NAME] [--repeat N] [--preload] [--workdir DIR]",
		DisableFlagsInUseLine: true,
		Short:                 "Measure the start with and without the two cache layers",
		Long:                  benchStartupUsage,
		Example:               "  shadercache bench startup --programs 48 --repeat 5 --json",
		Args:                  usageArgs(noArguments),
	}
	flags := cmd.Flags()
	flags.IntVar(&b.programs, "programs", 48, "number of programs")
	flags.StringVar(&scenario, "scenario", "all", "all, cold, binary_only, driver_only or both")
	flags.IntVar(&b.repeat, "repeat", 1, "runs of each scenario, for medians")
	flags.BoolVar(&b.preload, "preload", false, "get all programs at once before the first dispatch")
	flags.StringVar(&b.workDir, "workdir", "", "where the scenarios' directories are made, and removed (default the system's temporary directory)")
	complete(cmd, "scenario", append([]string{"all"}, scenarioNames...)...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := b.choose(scenario); err != nil {
			return usageError{err, cmd.CommandPath()}
		}
		if !o.driverCache {
			return usageError{errors.New("--driver-cache off leaves nothing to compare"), cmd.CommandPath()}
		}
		r, err := b.run(o)
		return o.show(r, err)
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
	case scenario == "all":
		b.scenarios = scenarioNames
	case slices.Contains(scenarioNames, scenario):
		b.scenarios = []string{scenario}
	default:
		return fmt.Errorf("there is no scenario %q (there are all, %s)", scenario, strings.Join(scenarioNames, ", "))
	}
	return nil
}

// verdict is an error when the figures cannot be trusted.
func (r *startupResult) verdict() error {
	if !r.Verified {
		return unverified("results on the GPU were wrong")
	}
	if both, ran := r.Scenarios[scenarioBoth]; ran && both.Compiles > 0 {
		return hintedError{fmt.Errorf("bench: %s compiled with both layers there", plural(both.Compiles, "program")),
			"the cache did not keep them: run with --log-level info"}
	}
	return nil
}

func (r *startupResult) print(w io.Writer) {
	fmt.Fprintf(w, "%s on %s\ndriver %s\n\n", r.Workload, r.GPU, r.Driver)
	fmt.Fprintf(w, "milliseconds\tget\tfirst dispatch\tto first result\t%s\tcontext\tprocess\tcompiles\tdriver's own cache\n", plural(r.Programs, "program"))
	for _, name := range scenarioNames {
		if s, ran := r.Scenarios[name]; ran {
			fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\t%.1f\t%.1f\t%.1f\t%d\t%s\n", name, s.GetMillis, s.FirstDispatchMillis,
				s.ToFirstResultMillis, s.TotalMillis, s.ContextMillis, s.ProcessMillis, s.Compiles, s.DriverCache)
		}
	}
	fmt.Fprintln(w)
	if r.SpeedupVsCold > 0 {
		fmt.Fprintf(w, "with both layers %.1f times as fast as cold", r.SpeedupVsCold)
		if r.SpeedupVsDriverOnly > 0 {
			fmt.Fprintf(w, ", %.2f times as fast as with the driver's cache alone", r.SpeedupVsDriverOnly)
		}
		fmt.Fprintln(w)
	}
	if r.Verified {
		fmt.Fprintln(w, "every element of every result was verified")
	} else {
		fmt.Fprintln(w, "RESULTS WERE WRONG")
	}
}
