package main

import (
	"github.com/spf13/cobra"
)

const benchGEMMUsage = `Measure matrix products, and compare them with another library.

Without shapes it runs the workloads square, odd, skinny and epilogue.

` + shapeHelp + `

` + kernelsFields

func newBenchGEMM(o *options) *cobra.Command {
	b := &kernelsBench{kind: gemmKind, usual: []string{"square", "odd", "skinny", "epilogue"}}
	return b.command(o, &cobra.Command{
		Short:   "Measure matrix products",
		Long:    benchGEMMUsage,
		Example: `  shadercache bench gemm --tune --peer-command "python3 docs/bench/peers.py" --json`,
	})
}
