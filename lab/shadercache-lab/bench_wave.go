package main

import (
	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/lab/bench/workloads"
	"github.com/shadercache/shadercache/lab/demo/wave"
)

const benchWaveUsage = `Compare two forms of a simulation: the same grid, the same kernels.

In the traditional form the host has the state: for every operation it is
uploaded, dispatched on, and downloaded. In the resident form the state stays on
the GPU, and only messages and answers are copied.

What is timed, in microseconds, as the median of --repeat:
  inject  a poke, until it is acknowledged and, traditionally, back on the host
  query   the height of one cell as it is now
  step    one step, until it is done
  frame   a poke, 8 steps and a query: 60 times a second leaves 16,667

Every answer, and every cell after each row, is compared with the CPU's. The CPU
computes all of it once, on all cores, before anything is timed.

The exit code is 1 when a result was wrong.`

func newBenchWave(o *options) cli.Command {
	f := struct {
		Size   Pair `flag:"size" help:"cells"`
		Tiles  Pair `flag:"tiles" help:"tiles, a work group each"`
		Repeat int  `flag:"repeat" help:"times that each operation is timed"`
	}{Pair{X: 512, Y: 512}, Pair{X: 16, Y: 16}, 100}
	return cli.Command{
		Use:     "wave [--size WxH] [--tiles WxH] [--repeat N]",
		Short:   "Compare a simulation that stays on the GPU with one that does not",
		Long:    benchWaveUsage,
		Example: "  shadercache-lab bench wave --size 512x512 --json",
		Result:  workloads.WaveResult{},
		Flags:   &f,
		Run: func(cmd *cobra.Command, _ []string) (cli.Result, error) {
			b := wave.Options{Width: f.Size.X, Height: f.Size.Y, TilesX: f.Tiles.X, TilesY: f.Tiles.Y}
			return runBenchmark(o, cmd, workloads.WaveOptions{Options: b, Repeat: f.Repeat}, workloads.RunWave)
		},
	}
}
