package workloads

import (
	"context"
	"fmt"
	"io"

	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/lab/bench/measure"
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

// stealWorkload are tasks whose costs are at random, or uneven.
type stealWorkload struct{ tasks, heavy, takes int }

// stealWorkloads returns the workloads: of the last one, the first group is dealt tasks
// that cost more than all others together, many for each of its invocations.
func (o StealOptions) stealWorkloads(software bool) []stealWorkload {
	uneven := stealWorkload{tasks: 16 * o.Groups * o.Local, heavy: 32768, takes: 4096}
	if software {
		uneven.heavy, uneven.takes = 1024, 32 // whose loops it ends after 65,535 turns
	}
	return []stealWorkload{{2017, 0, o.Takes}, {8191, 0, o.Takes}, uneven}
}

// RunSteal measures a work queue on the GPU whose groups take tasks from one place, one
// whose groups are dealt theirs, and one whose groups steal.
func RunSteal(o *cli.Options, options StealOptions) (*StealResult, error) {
	return measure.OnExecutor(o, func(ctx context.Context, gpu *cli.GPU, h bench.Header) (*StealResult, error) {
		r := &StealResult{Workload: "steal", Header: h, Verified: true}
		list := options.stealWorkloads(gpu.Context.Info().Software())
		bar := o.NewProgress(len(queue.StealForms)*len(list)*options.Repeat, "steal")
		defer func() { _ = bar.Finish() }()
		progress := func() { _ = bar.Add(1) }
		for _, w := range list {
			for _, form := range queue.StealForms {
				q := queue.StealOptions{Options: options.Options, Form: form, Heavy: w.heavy, Tasks: w.tasks, Repeat: options.Repeat, Progress: progress}
				q.Takes = w.takes
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
	fmt.Fprint(w, "\ntasks\tsteps\tform\tmicroseconds\ttasks/s\tleast\tmost\tstolen\n")
	for _, row := range r.Rows {
		steps := "1 to 512"
		if row.Heavy > 0 {
			steps = fmt.Sprintf("%d, %d of %d", queue.LightSteps, row.Tasks/row.Groups, row.Heavy)
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%.1f\t%.0f\t%d\t%d\t%d\n", row.Tasks, steps, row.Form, row.Micros, row.TasksPerSecond, row.Least, row.Most, row.Stolen)
	}
	fmt.Fprintln(w)
	bench.PrintVerified(w, r.Verified, "every task was done exactly once", "TASKS WERE LOST, OR DONE TWICE")
}
