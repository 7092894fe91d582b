package main

import (
	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/lab/bench/workloads"
)

const benchStealUsage = `Measure a work queue on the GPU: the workload steal.

Tasks of unequal cost have to be done exactly once. The host pushes all of them,
work groups take them. In the form shared all groups take from one place; in the
form divided the tasks are distributed evenly, and each group does its own; in
the form stolen a group without any steals from the others, but leaves each
owner its last one, so that every group does some.

Costs: 1 to 512 steps of a generator at random; and uneven, where the tasks of
the first group have thousands each, and all others 16.

Figures: microseconds from the push until the queue is empty, as the median of
--repeat; tasks a second; the fewest and the most tasks of a group, and how many
were stolen, over all repeats.

The exit code is 1 when a task was not done exactly once, or when a group did
nothing although tasks were distributed to it.`

func newBenchSteal(o *options) cli.Command {
	var b workloads.StealOptions
	return cli.Command{
		Use:     "steal [--groups N] [--local N] [--takes N] [--repeat N]",
		Short:   "Measure a work queue on the GPU",
		Long:    benchStealUsage,
		Example: "  shadercache-lab bench steal --groups 128 --json",
		Result:  workloads.StealResult{},
		Setup: func(cmd *cobra.Command) {
			flags := cmd.Flags()
			flags.IntVar(&b.Groups, "groups", 64, "work groups that take tasks, at most 256")
			flags.IntVar(&b.Local, "local", 32, "invocations of a group")
			flags.IntVar(&b.Takes, "takes", 8, "tasks that an invocation takes in a round, at most")
			flags.IntVar(&b.Repeat, "repeat", 20, "times that all tasks are done")
		},
		Run: func(cmd *cobra.Command, _ []string) (cli.Result, error) {
			return runBenchmark(o, cmd, b, workloads.RunSteal)
		},
	}
}
