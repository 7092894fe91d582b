package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/internal/cli"
	"github.com/shadercache/shadercache/resident/queue"
)

const benchStealUsage = `Measure a work queue on the GPU: the workload steal.

Tasks of unequal cost, 1 to 512 steps of a generator each, have to be done exactly
once. The host pushes all of them, work groups take them. In the form shared all
groups take from one place; in the form stolen the tasks are dealt out evenly, and
a group without any steals from the others, but leaves each owner its last one, so
that every group does some.

Figures: microseconds from the push until the queue is empty, as the median of
--repeat; tasks a second; the fewest and the most tasks of a group, and how many
were stolen, over all repeats.

JSON fields: workload, gpu, driver, ` + cli.OriginFields + `,
rows [{tasks, groups, local, steal, repeat,
us, tasks_per_s, rounds, least, most, stolen, verified}], verified.

The exit code is 1 when a task was not done exactly once, or when a group did
nothing although it was dealt some.`

// stealResult is what bench steal prints.
type stealResult struct {
	Workload string              `json:"workload"`
	GPU      string              `json:"gpu"`
	Driver   string              `json:"driver"`
	Origin   cli.Origin          `json:"origin"`
	Rows     []queue.StealReport `json:"rows"`
	Verified bool                `json:"verified"`
}

// stealTasks are the sizes of the workload.
var stealTasks = []int{2017, 8191}

func newBenchSteal(o *options) *cobra.Command {
	q := queue.Options{}
	repeat := 20
	cmd := &cobra.Command{
		Use:                   "steal [--groups N] [--local N] [--takes N] [--repeat N]",
		DisableFlagsInUseLine: true,
		Short:                 "Measure a work queue on the GPU",
		Long:                  benchStealUsage,
		Example:               "  shadercache bench steal --groups 128 --json",
		Args:                  cli.UsageArgs(cli.NoArguments),
	}
	flags := cmd.Flags()
	flags.IntVar(&q.Groups, "groups", 64, "work groups that take tasks, at most 256")
	flags.IntVar(&q.Local, "local", 32, "invocations of a group")
	flags.IntVar(&q.Takes, "takes", 8, "tasks that an invocation takes in a round, at most")
	flags.IntVar(&repeat, "repeat", repeat, "times that all tasks are done")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if repeat < 1 || repeat > 100_000 {
			return cli.Usage(cmd, errors.New("--repeat must be 1 to 100000"))
		}
		r, err := o.benchSteal(q, repeat)
		return o.Show(r, err)
	}
	return cmd
}

func (o *options) benchSteal(q queue.Options, repeat int) (r *stealResult, err error) {
	ctx, stop := cli.Interruptible()
	defer stop()
	g, err := o.OpenExecutor(executor.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	r = &stealResult{Workload: "steal", GPU: g.Name(), Driver: g.Driver(), Origin: cli.NewOrigin(), Verified: true}
	bar := o.NewProgress(2*len(stealTasks)*repeat, "steal")
	defer func() { _ = bar.Finish() }()
	progress := func() { _ = bar.Add(1) }
	for _, tasks := range stealTasks {
		for _, q.Steal = range []bool{false, true} {
			row, err := queue.Steal(ctx, g.Executor, g.Cache, queue.StealOptions{Options: q, Tasks: tasks, Repeat: repeat, Progress: progress})
			if err != nil {
				return nil, err
			}
			r.Rows = append(r.Rows, row)
			r.Verified = r.Verified && row.Verified
		}
	}
	return r, nil
}

func (r *stealResult) Verdict() error {
	if !r.Verified {
		return unverified("tasks were lost, or done twice")
	}
	return nil
}

func (r *stealResult) Print(w io.Writer) {
	fmt.Fprintf(w, "%s on %s\ndriver %s\n%s\n\n", r.Workload, r.GPU, r.Driver, r.Origin)
	fmt.Fprint(w, "tasks\tform\tmicroseconds\ttasks/s\tleast\tmost\tstolen\n")
	for _, row := range r.Rows {
		form := "shared"
		if row.Steal {
			form = "stolen"
		}
		fmt.Fprintf(w, "%d\t%s\t%.1f\t%.0f\t%d\t%d\t%d\n", row.Tasks, form, row.Micros, row.TasksPerSecond, row.Least, row.Most, row.Stolen)
	}
	if r.Verified {
		fmt.Fprintln(w, "\nevery task was done exactly once")
	} else {
		fmt.Fprintln(w, "\nTASKS WERE LOST, OR DONE TWICE")
	}
}
