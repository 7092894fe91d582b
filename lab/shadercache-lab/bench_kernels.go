package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/lab/bench/kernels"
)

const benchConv2DUsage = `Measure convolutions, and compare them with another library.

Without shapes it runs the workloads resnet and seed.

` + cli.ShapeHelp + `

` + kernelsFields

const benchGEMMUsage = `Measure matrix products, and compare them with another library.

Without shapes it runs the workloads square, odd, skinny and epilogue.

` + cli.ShapeHelp + `

` + kernelsFields

// kernelsFields is the part of the help that bench gemm and bench conv2d share.
const kernelsFields = `Each row is computed as a plan would: by what was tuned for this driver, else by
the shipped table, else by the likeliest algorithm; basis names which. With
--tune, problems that were not tuned are tuned first, for at most --budget each,
the result is stored, and the winner measured as it is without --tune. The
result of each row is compared with the CPU's, every element of it, before
anything is timed; what the timed runs leave in memory that was poisoned is
compared again. A row that is wrong has no time. check describes what is
compared where every element would take too long.

Times are medians of batches, by the GPU's clock where a calibration shows that
it works, else by the host's; least and most are the shortest and the longest
batch. Weights and inputs are on the device, and the same from run to run: small
ones stay in the GPU's caches, for the peer too. Transforming weights, which a
plan does once for each version of them, is not part of it.

--peer FILE compares with times that were measured elsewhere, --peer-command
runs a program that measures them now, after the rows, with the shapes as its
arguments:
  python3 lab/bench/peers/peers.py
    cuBLAS and cuDNN through PyTorch
  go run -C lab/bench/peers/gonumpeer -tags egl .
    gonum's blas32 on the CPU
With --peer-each it runs after each row, with that shape alone, so that other
load on the machine affects both alike: for a peer that starts quickly. Either
gives a JSON object {SHAPE: {"peer": NAME, "ms": MILLISECONDS}}, where a shape
may have "least_ms" and "most_ms" too. ratio is the peer's time / ours. Where
the peer fails, and after an interrupt, the rows that are done are printed
before the failure.

On a software driver, shapes that take it minutes are left out, unless they are
named one by one.

In JSON, the fields of a peer are "" and 0 without one.

The exit code is 1 when a result was wrong.`

func newBenchConv2D(o *options) cli.Command {
	return newBenchKernels(o, conv2d.Conv2DKind, []string{"resnet", "seed"}, cli.Command{
		Short: "Measure convolutions",
		Long:  benchConv2DUsage,
		Example: `  shadercache-lab bench conv2d resnet --tune --peer-command \
    "python3 lab/bench/peers/peers.py" --json`,
	})
}

func newBenchGEMM(o *options) cli.Command {
	return newBenchKernels(o, conv2d.GEMMKind, []string{"square", "odd", "skinny", "epilogue"}, cli.Command{
		Short: "Measure matrix products",
		Long:  benchGEMMUsage,
		Example: `  shadercache-lab bench gemm --tune --peer-command \
    "python3 lab/bench/peers/peers.py" --json`,
	})
}

// newBenchKernels completes the command for problems of one kind. Without arguments it
// runs the given workloads.
func newBenchKernels(o *options, kind string, workloads []string, c cli.Command) cli.Command {
	b := kernels.Options{Budget: 20 * time.Second}
	c.Use = kind + " [SHAPE...] [--tune] [--budget TIME] [--exact] [--no-cpu] [--peer FILE] [--peer-command COMMAND [--peer-each]]"
	c.Args, c.Words, c.Result = cobra.ArbitraryArgs, workloads, kernels.Result{}
	c.Flags = &b
	c.Check = func(cmd *cobra.Command, args []string) (err error) {
		if err := cli.RefuseUnused(cmd, b.Tune, "--tune", "budget"); err != nil {
			return err
		}
		if len(args) == 0 {
			args = workloads
		}
		b.Shapes, b.Named, err = kernels.ParseShapes(kind, args)
		return err
	}
	c.Run = func(cmd *cobra.Command, _ []string) (cli.Result, error) { return runBenchmark(o, cmd, b, kernels.Run) }
	return c
}
