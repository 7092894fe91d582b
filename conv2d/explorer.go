//go:build linux

package conv2d

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/executor"
)

// ExploreOptions configure an [Explorer]. The zero value is a good choice.
type ExploreOptions struct {
	// Share is how much of the time of all runs may be spent on other variants.
	// Default: 0.1. Negative: nothing is explored.
	Share float64

	// Variants is how many other choices are compared, the likeliest of each algorithm
	// first. Default: 4.
	Variants int
}

const (
	defaultShare    = 0.1
	defaultVariants = 4
)

// Explorer is a plan that learns: most runs take the best choice so far, and a small share
// other choices, until it is known which one is the fastest with this driver. That one is
// kept as a result of tuning is, and later plans and explorers take it without exploring.
//
// Only choices count that are right: before its first run, a choice computes a small
// problem, or a sample of this one, that the CPU computes too. Exploring costs the share of
// the time of all runs at most, but for the last thing that took longer than expected;
// preparing a choice, which may compile, is part of the cost, and delays the run that it
// comes before.
//
// A choice of the caller, or one that was tuned with this driver, is not explored. Methods
// may be called from any goroutine, as those of [Plan]; Release comes last.
type Explorer struct {
	ctx      context.Context // of NewExplorer, for its values only
	e        *executor.Executor
	programs executor.Programs
	options  PlanOptions
	tunings  Tunings
	shape    Shape
	choices  []Choice

	mu struct {
		sync.Mutex
		exploration *exploration
		plans       []*Plan                                  // nil: not prepared, or left out
		runs        []int                                    // in progress, of each
		weights     func(ctx context.Context, p *Plan) error // sets the latest; nil: there are none
		settings    int                                      // calls of SetWeights
		stats       ExploreStats
		kept        bool
	}
}

// ExploreStats count the work of an explorer.
type ExploreStats struct {
	Runs     uint64        `json:"runs"`
	Explored uint64        `json:"explored"` // runs that took another choice than the best so far
	Wrong    uint64        `json:"wrong"`    // choices that failed their check, or could not be built
	Changes  uint64        `json:"changes"`  // times that another choice became the best
	Time     time.Duration `json:"time_ns"`  // of all runs
	Cost     time.Duration `json:"cost_ns"`  // of exploring
	Done     bool          `json:"done"`     // nothing is left to explore
}

// NewExplorer makes an explorer for a problem. It returns the errors of [NewPlan].
func NewExplorer(ctx context.Context, e *executor.Executor, programs executor.Programs, s Shape, o PlanOptions, explore ExploreOptions) (*Explorer, error) {
	began := time.Now()
	first, err := newPlan(ctx, e, programs, s, o)
	if err != nil {
		return nil, err
	}
	x := &Explorer{ctx: context.WithoutCancel(ctx), e: e, programs: programs, options: o, tunings: o.tunings(programs), shape: first.Shape()}
	x.choices = []Choice{first.Choice()}
	share := cmp.Or(explore.Share, defaultShare)
	if share > 0 && first.Basis() != ByCaller && first.Basis() != ByTuning {
		x.choices = append(x.choices, otherChoices(first, cmp.Or(max(explore.Variants, 0), defaultVariants))...)
	}
	x.mu.exploration = newExploration(share, len(x.choices), time.Since(began))
	x.mu.plans, x.mu.runs = make([]*Plan, len(x.choices)), make([]int, len(x.choices))
	x.mu.plans[0] = first
	x.mu.kept = len(x.choices) == 1
	return x, nil
}

// otherChoices returns the first choices for the task of a plan that can be built, without
// its own.
func otherChoices(p *Plan, n int) (others []Choice) {
	own := p.Choice().String()
	for _, c := range p.choices() {
		if len(others) < n && c.String() != own && p.builds(c) {
			others = append(others, c)
		}
	}
	return others
}

// SetWeights is [Plan.SetWeights]. The slices must not change while the explorer is used:
// choices that are prepared later get them too.
func (x *Explorer) SetWeights(ctx context.Context, version uint64, weights, bias []float32) error {
	set := func(ctx context.Context, p *Plan) error { return p.SetWeights(ctx, version, weights, bias) }
	x.mu.Lock()
	x.mu.weights = set
	x.mu.settings++ // a plan that is being prepared gets them before it runs
	plans := slices.Clone(x.mu.plans)
	x.mu.Unlock()
	for _, p := range plans {
		if p == nil {
			continue
		}
		if err := set(ctx, p); err != nil && !errors.Is(err, ErrReleased) {
			return err
		}
	}
	return nil
}

// Run is [Plan.Run], by the best choice or another one that is right.
func (x *Explorer) Run(ctx context.Context, input, output []float32) error {
	return x.explore(func(p *Plan) (time.Duration, error) {
		var t Timing
		err := p.runTimed(ctx, input, output, &t)
		return t.Run, err
	})
}

// RunOn runs on device memory, see [Plan.Dispatches], and waits until the device has
// finished.
func (x *Explorer) RunOn(ctx context.Context, o Operands) error {
	return x.explore(func(p *Plan) (time.Duration, error) {
		dispatches, err := p.Dispatches(o)
		if err != nil {
			return 0, err
		}
		began := time.Now()
		err = p.run(ctx, dispatches)
		return time.Since(began), err
	})
}

// explore makes one run. One that fails by another choice than the best is made again by
// the best, unless it depends on the output from before, which may have changed.
func (x *Explorer) explore(run func(*Plan) (time.Duration, error)) error {
	n, p := x.take()
	took, err := run(p)
	if again := x.finish(n, took, err); err == nil || !again || p.keepsOutput {
		return err
	}
	n, p = x.takeBest()
	took, err = run(p)
	x.finish(n, took, err)
	return err
}

// finish adds a run, and releases and keeps what is due after it. It reports whether a run
// that failed was not by the best choice, which is left out from then on.
func (x *Explorer) finish(n int, took time.Duration, err error) (again bool) {
	x.mu.Lock()
	e := x.mu.exploration
	x.mu.runs[n]--
	switch other := n != e.best; {
	case err == nil:
		x.mu.stats.Runs++
		if other {
			x.mu.stats.Explored++
		}
		if e.ran(n, took) {
			x.mu.stats.Changes++
		}
	case other:
		e.variants[n].out, again = true, true
	}
	idle, keep := x.leaveOut()
	x.mu.Unlock()
	for _, p := range idle {
		p.Release()
	}
	if keep != nil {
		_ = x.tunings.PutTuning(*keep) // else a later process explores again
	}
	return again
}

// take returns the variant of the next run and its plan, which it prepares where that is
// due. One that is not right is left out, and the best one runs.
func (x *Explorer) take() (n int, p *Plan) {
	x.mu.Lock()
	n, prepare := x.mu.exploration.next()
	x.mu.runs[n]++
	p = x.mu.plans[n]
	x.mu.Unlock()
	if !prepare {
		return n, p
	}
	began := time.Now()
	p, err := x.prepare(n)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.exploration.prepared(n, time.Since(began), err == nil)
	if err == nil {
		return n, p
	}
	x.mu.stats.Wrong++
	x.mu.runs[n]--
	return x.best()
}

func (x *Explorer) takeBest() (n int, p *Plan) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.best()
}

// best begins a run by the best choice. The caller holds mu.
func (x *Explorer) best() (n int, p *Plan) {
	n = x.mu.exploration.best
	x.mu.runs[n]++
	return n, x.mu.plans[n]
}

// prepare makes the plan of a variant, checks it, and gives it the weights.
func (x *Explorer) prepare(n int) (*Plan, error) {
	o := x.options
	o.Choice = &x.choices[n]
	p, err := newPlan(x.ctx, x.e, x.programs, x.shape, o)
	if err != nil {
		return nil, err
	}
	if err = p.check(x.ctx); err == nil {
		err = x.publish(n, p)
	}
	if err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

// publish gives a plan the latest weights and makes it that of a variant.
func (x *Explorer) publish(n int, p *Plan) error {
	for had := 0; ; {
		x.mu.Lock()
		set, settings := x.mu.weights, x.mu.settings
		if settings == had {
			x.mu.plans[n] = p
			x.mu.Unlock()
			return nil
		}
		x.mu.Unlock()
		if err := set(x.ctx, p); err != nil {
			return err
		}
		had = settings
	}
}

// leaveOut returns the plans that no run uses or will use, and at the end what to keep. The
// caller holds mu.
func (x *Explorer) leaveOut() (idle []*Plan, keep *binary.Tuning) {
	e := x.mu.exploration
	for i, p := range x.mu.plans {
		if p != nil && e.variants[i].out && x.mu.runs[i] == 0 {
			idle = append(idle, p)
			x.mu.plans[i] = nil
		}
	}
	if x.mu.kept || !e.done() {
		return idle, nil
	}
	x.mu.kept = true
	return idle, x.result()
}

// result returns the best choice as a result of tuning. The caller holds mu.
func (x *Explorer) result() *binary.Tuning {
	e := x.mu.exploration
	choice, err := json.Marshal(x.choices[e.best])
	if err != nil || x.tunings == nil {
		return nil
	}
	nanos := float64(e.usual(e.best))
	return &binary.Tuning{
		Problem: TuningKey(x.shape, x.options.restriction()), Choice: choice, Nanos: nanos,
		GFLOPS: float64(x.shape.FLOPs()) / nanos, Candidates: len(x.choices) - int(x.mu.stats.Wrong),
	}
}

// Choice returns the best choice so far.
func (x *Explorer) Choice() Choice {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.choices[x.mu.exploration.best]
}

// Stats returns the counts so far.
func (x *Explorer) Stats() ExploreStats {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.mu.stats
	s.Time, s.Cost, s.Done = x.mu.exploration.total, x.mu.exploration.cost, x.mu.exploration.done()
	return s
}

// Release releases all plans. No run may be in progress.
func (x *Explorer) Release() {
	x.mu.Lock()
	plans := slices.Clone(x.mu.plans)
	clear(x.mu.plans)
	x.mu.Unlock()
	for _, p := range plans {
		if p != nil {
			p.Release()
		}
	}
}
