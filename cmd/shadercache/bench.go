package main

import (
	"github.com/shadercache/shadercache/cmd/cli"
)

const benchUsage = `Measure on this machine what the cache saves.

With several GPUs in --device each is measured alone, one after the other, in a
process of its own.

What running jobs costs, and how fast convolutions and matrix products are, is
measured by the command shadercache-lab, which make lab builds.`

func (o *options) benchCommand() cli.Command {
	return cli.Command{
		Use:     "bench [flags]",
		Short:   "Measure what the cache saves",
		Long:    benchUsage,
		Example: "  shadercache bench startup --preload",
		Below:   []cli.Command{o.benchStartupCommand(), o.startupChildCommand()},
	}
}
