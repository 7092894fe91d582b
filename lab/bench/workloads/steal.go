package workloads

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/lab/bench/measure"
	"github.com/shadercache/shadercache/resident/queue"
	"github.com/shadercache/shadercache/shader"
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
	Rows     []StealRow `json:"rows"`     // one for each measurement
	Verified bool       `json:"verified"` // every result is right
}

// StealRow is the result of one workload in one form.
type StealRow struct {
	Tasks          int     `json:"tasks"`
	Groups         int     `json:"groups"`
	Local          int     `json:"local"` // invocations of a group
	Form           string  `json:"form"`  // shared: one range for all groups; divided: a range each; stolen: and they steal
	Steal          bool    `json:"steal"` // of the form stolen
	Heavy          int     `json:"heavy"` // steps of the tasks of the first group; 0: 1 to 512 of every task
	Repeat         int     `json:"repeat"`
	Micros         float64 `json:"us"` // from Push until the queue is empty, median
	TasksPerSecond float64 `json:"tasks_per_s"`
	Rounds         uint64  `json:"rounds"` // of all repeats
	Least          uint64  `json:"least"`  // tasks of the group that did the fewest, over all repeats
	Most           uint64  `json:"most"`
	Stolen         uint64  `json:"stolen"`
	Verified       bool    `json:"verified"` // every task was done once in each repeat; with Steal, by every group some
}

// The forms of the workload: all groups take from one range; each has a range of its own;
// and they steal from each other.
const (
	shared  = "shared"
	divided = "divided"
	stolen  = "stolen"
)

var stealForms = []string{shared, divided, stolen}

//go:embed steal.glsl
var stealText string

// lightSteps are the steps of a task beside heavy ones.
const lightSteps = 16

// stealWorkload are tasks whose costs are at random, or uneven: those that are dealt to the
// first group have heavy steps, all others lightSteps.
type stealWorkload struct{ tasks, heavy, takes, groups int }

// steps returns the steps of a task.
func (w stealWorkload) steps(task int) uint32 {
	switch {
	case w.heavy == 0:
		return 1 + uint32(task)*2654435761>>23
	case task < w.tasks/w.groups:
		return uint32(w.heavy)
	}
	return lightSteps
}

// items returns the words of all tasks.
func (w stealWorkload) items() (words []uint32) {
	for task := range w.tasks {
		if words = append(words, uint32(task)); w.heavy > 0 {
			words = append(words, w.steps(task))
		}
	}
	return words
}

// compare returns an error where a task was not done a number of times.
func (w stealWorkload) compare(ctx context.Context, results *executor.Buffer[uint32], times uint32) error {
	got := make([]uint32, w.tasks)
	if err := results.Download(ctx, 0, got); err != nil {
		return err
	}
	for task, result := range got {
		x := uint32(task)
		for range w.steps(task) {
			x = x*1664525 + 1013904223
		}
		if result != times*(x+1) {
			return fmt.Errorf("the result of task %d is %#x", task, result)
		}
	}
	return nil
}

// stealWorkloads returns the workloads: of the last one, the first group is dealt tasks
// that cost more than all others together, many for each of its invocations.
func (o StealOptions) stealWorkloads(software bool) []stealWorkload {
	uneven := stealWorkload{tasks: 16 * o.Groups * o.Local, heavy: 32768, takes: 4096, groups: o.Groups}
	if software {
		uneven.heavy, uneven.takes = 1024, 32 // whose loops it ends after 65,535 turns
	}
	return []stealWorkload{{2017, 0, o.Takes, o.Groups}, {8191, 0, o.Takes, o.Groups}, uneven}
}

// RunSteal measures a work queue on the GPU whose groups take tasks from one place, one
// whose groups are dealt theirs, and one whose groups steal.
func RunSteal(o *cli.Options, options StealOptions) (*StealResult, error) {
	return measure.OnExecutor(o, func(ctx context.Context, gpu *cli.GPU, h bench.Header) (*StealResult, error) {
		r := &StealResult{Workload: "steal", Header: h, Verified: true}
		list := options.stealWorkloads(gpu.Context.Info().Software())
		bar := o.NewProgress(len(stealForms)*len(list)*options.Repeat, "steal")
		defer func() { _ = bar.Finish() }()
		progress := func() { _ = bar.Add(1) }
		for _, w := range list {
			for _, form := range stealForms {
				row, err := options.measure(ctx, gpu, w, form, progress)
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

// measure measures a workload in one form.
func (o StealOptions) measure(ctx context.Context, gpu *cli.GPU, w stealWorkload, form string, progress func()) (row StealRow, err error) {
	results, err := executor.BufferOf(gpu.Executor, make([]uint32, w.tasks))
	if err != nil {
		return row, err
	}
	defer results.Release()
	q, err := o.open(ctx, gpu, w, form, results)
	if err != nil {
		return row, err
	}
	defer q.Close()
	row = StealRow{Tasks: w.tasks, Groups: w.groups, Local: o.Local, Form: form, Steal: form == stolen, Heavy: w.heavy, Repeat: o.Repeat}
	items, times := w.items(), make([]time.Duration, o.Repeat)
	for i := range times {
		began := time.Now()
		report, err := runTasks(ctx, q, items)
		if err != nil {
			return row, err
		}
		times[i], row.Rounds = time.Since(began), report.Rounds
		progress()
	}
	slices.Sort(times)
	row.Micros = measure.Micros(times[o.Repeat/2])
	row.TasksPerSecond = float64(w.tasks) / row.Micros * 1e6
	groups, err := q.Groups(ctx)
	if err != nil {
		return row, err
	}
	row.Least = ^uint64(0)
	for _, g := range groups {
		row.Least, row.Most = min(row.Least, g.Taken+g.Stolen), max(row.Most, g.Taken+g.Stolen)
		row.Stolen += g.Stolen
	}
	// Of a queue with stealing, each group does at least the last task of its range in every repeat.
	row.Verified = w.compare(ctx, results, uint32(o.Repeat)) == nil && (!row.Steal || w.tasks < w.groups || row.Least >= uint64(o.Repeat))
	return row, nil
}

// open makes the queue of a workload in one form.
func (o StealOptions) open(ctx context.Context, gpu *cli.GPU, w stealWorkload, form string, results *executor.Buffer[uint32]) (*queue.Queue, error) {
	item := queue.Item{Name: "queue_steal", Text: stealText, Loops: uint32(max(512, w.heavy) + 1), Memory: []job.Bound{results.Bind(queue.FirstBinding)},
		Check: func(ctx context.Context, q *queue.Queue) error {
			if _, err := runTasks(ctx, q, w.items()); err != nil {
				return err
			}
			return cmp.Or(w.compare(ctx, results, 1), results.Upload(ctx, 0, make([]uint32, w.tasks)))
		}}
	options := o.Options
	options.Capacity, options.Takes, options.Steal = w.tasks, w.takes, form != shared
	if form == divided {
		item.Defines = shader.Defines{"QUEUE_STEAL": "0"}
	}
	if w.heavy > 0 {
		options.Words = 2
	}
	q, err := queue.New(ctx, gpu.Executor, gpu.Cache, item, options)
	if err != nil {
		return nil, err
	}
	if most := q.Options().Takes; most < w.takes {
		q.Close()
		return nil, fmt.Errorf("%d tasks of an invocation in a round: this driver ends its loops, at most %d are possible", w.takes, most)
	}
	return q, nil
}

// runTasks pushes tasks and runs until all are done.
func runTasks(ctx context.Context, q *queue.Queue, items []uint32) (queue.Report, error) {
	if err := q.Push(0, items...); err != nil {
		return queue.Report{}, err
	}
	return q.Run(ctx)
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
			steps = fmt.Sprintf("%d, %d of %d", lightSteps, row.Tasks/row.Groups, row.Heavy)
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%.1f\t%.0f\t%d\t%d\t%d\n", row.Tasks, steps, row.Form, row.Micros, row.TasksPerSecond, row.Least, row.Most, row.Stolen)
	}
	fmt.Fprintln(w)
	bench.PrintVerified(w, r.Verified, "every task was done exactly once", "TASKS WERE LOST, OR DONE TWICE")
}
