package workloads

import (
	"context"
	"fmt"
	"io"

	"github.com/shadercache/shadercache/internal/bench"
	"github.com/shadercache/shadercache/internal/cli"
	"github.com/shadercache/shadercache/resident/queue"
)

// StealOptions configure RunSteal.
type StealOptions struct {
	queue.Options
	Repeat int // times that all tasks are done, 1 to 100,000
}

// Validate returns an error for options that RunSteal does not accept.
func (o StealOptions) Validate() error {
	for _, f := range []struct {
		flag        string
		value, most int
	}{{"groups", o.Groups, 256}, {"local", o.Local, 1024}, {"takes", o.Takes, 4096}} {
		if f.value < 1 || f.value > f.most {
			return fmt.Errorf("--%s must be 1 to %d", f.flag, f.most)
		}
	}
	return checkRepeat(o.Repeat)
}

// StealResult is what bench steal prints.
type StealResult struct {
	Workload string `json:"workload"` // what was measured
	bench.Header
	Rows     []queue.StealReport `json:"rows"`     // one for each measurement
	Verified bool                `json:"verified"` // every result is right
}

// stealTasks are the sizes of the workload.
var stealTasks = []int{2017, 8191}

// RunSteal measures a work queue on the GPU whose groups take tasks from one place, and
// one whose groups steal.
func RunSteal(o *cli.Options, options StealOptions) (*StealResult, error) {
	return bench.OnExecutor(o, func(ctx context.Context, gpu *cli.GPU, h bench.Header) (*StealResult, error) {
		r := &StealResult{Workload: "steal", Header: h, Verified: true}
		bar := o.NewProgress(2*len(stealTasks)*options.Repeat, "steal")
		defer func() { _ = bar.Finish() }()
		progress := func() { _ = bar.Add(1) }
		for _, tasks := range stealTasks {
			for _, steal := range []bool{false, true} {
				q := queue.StealOptions{Options: options.Options, Tasks: tasks, Repeat: options.Repeat, Progress: progress}
				q.Steal = steal
				row, err := queue.Steal(ctx, gpu.Executor, gpu.Cache, q)
				if err != nil {
					return nil, err
				}
				r.Rows = append(r.Rows, row)
				r.Verified = r.Verified && row.Verified
			}
		}
		return r, nil
	})
}

// Verdict returns an error where a task was not done exactly once.
func (r *StealResult) Verdict() error {
	if !r.Verified {
		return bench.Unverified("tasks were lost, or done twice")
	}
	return nil
}

// Print writes the result for people.
func (r *StealResult) Print(w io.Writer) {
	r.Header.Print(w, r.Workload+" on "+r.GPU)
	fmt.Fprint(w, "\ntasks\tform\tmicroseconds\ttasks/s\tleast\tmost\tstolen\n")
	for _, row := range r.Rows {
		form := "shared"
		if row.Steal {
			form = "stolen"
		}
		fmt.Fprintf(w, "%d\t%s\t%.1f\t%.0f\t%d\t%d\t%d\n", row.Tasks, form, row.Micros, row.TasksPerSecond, row.Least, row.Most, row.Stolen)
	}
	fmt.Fprintln(w)
	bench.PrintVerified(w, r.Verified, "every task was done exactly once", "TASKS WERE LOST, OR DONE TWICE")
}
