package main

import (
	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
)

const benchUsage = `Measure on this machine what the cache saves.

With several GPUs in --device each is measured alone, one after the other, in a
process of its own.

What running jobs costs, and how fast convolutions and matrix products are, is
measured by the command shadercache-lab, which make lab builds.`

func newBench(o *options) *cobra.Command {
	cmd := cli.NewParent(&cobra.Command{
		Use:     "bench",
		Short:   "Measure what the cache saves",
		Long:    benchUsage,
		Example: "  shadercache bench startup --preload",
	})
	cmd.AddCommand(o.EachGPU(newBenchStartup(o), "chart", "report"), newStartupChild(o))
	return cmd
}
