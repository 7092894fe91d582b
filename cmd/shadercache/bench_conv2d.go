package main

import (
	"github.com/spf13/cobra"
)

const benchConv2DUsage = `Measure convolutions, and compare them with another library.

Without shapes it runs the workloads resnet and seed.

` + shapeHelp + `

` + kernelsFields

func newBenchConv2D(o *options) *cobra.Command {
	b := &kernelsBench{kind: convKind, usual: []string{"resnet", "seed"}}
	return b.command(o, &cobra.Command{
		Short:   "Measure convolutions",
		Long:    benchConv2DUsage,
		Example: `  shadercache bench conv2d resnet --tune --peer-command "python3 docs/bench/peers.py" --json`,
	})
}
