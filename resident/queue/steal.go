//go:build linux

package queue

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
)

//go:embed kernels/steal.glsl
var stealText string

// StealReport is the result of the steal workload.
type StealReport struct {
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

// StealOptions configure Steal.
type StealOptions struct {
	Options // those of New; Capacity is the number of tasks by default

	// Form is one of StealForms. Default: stolen where Options.Steal is set, else shared.
	Form string

	// Heavy makes the costs of tasks uneven: the tasks that are dealt to the first group
	// have this many steps, all others LightSteps. Default: 0, 1 to 512 steps at random.
	Heavy int

	// Tasks is the number of tasks, which are done Repeat times. Both must be at
	// least 1.
	Tasks, Repeat int

	// Progress is called after each repeat, if it is set.
	Progress func()
}

// StealForms are the forms of the steal workload: all groups take from one range; each has
// a range of its own; and they steal from each other.
var StealForms = []string{"shared", "divided", "stolen"}

// LightSteps are the steps of a task beside heavy ones.
const LightSteps = 16

// withForm returns the options with the form that both ways of choosing it mean.
func (o StealOptions) withForm() StealOptions {
	if o.Form == "" {
		o.Form = "shared"
		if o.Steal {
			o.Form = "stolen"
		}
	}
	o.Steal, o.divided = o.Form == "stolen", o.Form == "divided"
	if o.Heavy > 0 {
		o.Words = 2
	}
	return o
}

// steps returns the steps of a task.
func (o StealOptions) steps(task int) uint32 {
	switch {
	case o.Heavy == 0:
		return 1 + uint32(task)*2654435761>>23
	case task < o.Tasks/o.Groups:
		return uint32(o.Heavy)
	}
	return LightSteps
}

// words returns the items of n tasks.
func (o StealOptions) words(n int) []uint32 {
	var words []uint32
	for task := range n {
		if words = append(words, uint32(task)); o.Heavy > 0 {
			words = append(words, o.steps(task))
		}
	}
	return words
}

// Steal runs the steal workload: tasks of unequal cost, each of which must be done exactly
// once. It returns the errors of New and Run. Where a result is wrong, the report is not
// Verified.
func Steal(ctx context.Context, e *executor.Executor, programs executor.Programs, o StealOptions) (StealReport, error) {
	tasks, repeat := o.Tasks, o.Repeat
	if tasks < 1 || repeat < 1 {
		return StealReport{}, fmt.Errorf("queue: %d tasks, %d times", tasks, repeat)
	}
	o.Capacity = cmp.Or(o.Capacity, tasks)
	o = o.withForm()
	results, err := executor.BufferOf(e, make([]uint32, tasks))
	if err != nil {
		return StealReport{}, err
	}
	defer results.Release()
	item := Item{Name: "queue_steal", Text: stealText, Loops: uint32(max(512, o.Heavy) + 1), Memory: []job.Bound{results.Bind(FirstBinding)},
		Check: func(ctx context.Context, q *Queue) error { return o.check(ctx, q, results) }}
	q, err := New(ctx, e, programs, item, o.Options)
	if err != nil {
		return StealReport{}, err
	}
	defer q.Close()
	if q.options.Takes < o.Takes {
		return StealReport{}, fmt.Errorf("queue: %d tasks of an invocation in a round: this driver ends its loops, at most %d are possible", o.Takes, q.options.Takes)
	}
	o.Groups = q.options.Groups
	s := StealReport{Tasks: tasks, Groups: o.Groups, Local: q.options.Local, Form: o.Form, Steal: o.Steal, Heavy: o.Heavy, Repeat: repeat}
	micros := make([]float64, repeat)
	for i := range micros {
		spent, err := q.stealRun(ctx, o.words(tasks))
		if err != nil {
			return s, err
		}
		micros[i] = float64(spent) / float64(time.Microsecond)
		if o.Progress != nil {
			o.Progress()
		}
	}
	slices.Sort(micros)
	s.Micros = micros[repeat/2]
	s.TasksPerSecond = float64(tasks) / s.Micros * 1e6
	return s, s.verifyResults(ctx, q, results, o)
}

// check does up to 1,000 tasks once, and sets the results to 0 again.
func (o StealOptions) check(ctx context.Context, q *Queue, results *executor.Buffer[uint32]) error {
	o.Groups = q.options.Groups
	s := StealReport{Tasks: min(1000, results.Len(), q.options.Capacity), Repeat: 1}
	if _, err := q.stealRun(ctx, o.words(s.Tasks)); err != nil {
		return err
	}
	if err := s.verifyResults(ctx, q, results, o); err != nil {
		return err
	}
	if !s.Verified {
		return errors.New("queue: tasks have wrong results")
	}
	return results.Upload(ctx, 0, make([]uint32, s.Tasks))
}

// stealRun pushes every task and runs until all are done.
func (q *Queue) stealRun(ctx context.Context, words []uint32) (time.Duration, error) {
	start := time.Now()
	if err := q.Push(0, words...); err != nil {
		return 0, err
	}
	_, err := q.Run(ctx)
	return time.Since(start), err
}

// verifyResults compares every result, and adds the counters of the groups.
func (s *StealReport) verifyResults(ctx context.Context, q *Queue, results *executor.Buffer[uint32], o StealOptions) error {
	got := make([]uint32, s.Tasks)
	groups, err := q.Groups(ctx)
	if err := errors.Join(err, results.Download(ctx, 0, got)); err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	s.Verified = true
	for task, sum := range got {
		s.Verified = s.Verified && sum == uint32(s.Repeat)*stealResult(task, o.steps(task))
	}
	s.Rounds = q.lastReport.Rounds
	s.Least = ^uint64(0)
	for _, g := range groups {
		s.Least, s.Most = min(s.Least, g.Taken+g.Stolen), max(s.Most, g.Taken+g.Stolen)
		s.Stolen += g.Stolen
	}
	if s.Steal && s.Tasks >= s.Groups {
		s.Verified = s.Verified && s.Least >= uint64(s.Repeat) // at least the last task of its range in every repeat
	}
	return nil
}

// stealResult returns the result of a task with a number of steps.
func stealResult(task int, steps uint32) uint32 {
	x := uint32(task)
	for range steps {
		x = x*1664525 + 1013904223
	}
	return x + 1
}
