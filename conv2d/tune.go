//go:build linux

package conv2d

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// TuneOptions say how to search. The zero value is a good choice.
type TuneOptions struct {
	// Budget ends the search: candidates that were not reached by then are skipped.
	// The likeliest of each algorithm come first. One that runs is not interrupted,
	// and the reference on the CPU is not part of it. Default: 30 s.
	Budget time.Duration

	// Exact leaves out the algorithms that may err by more than [Tolerance].
	Exact bool

	// Only are the choices to compare. Default: all candidates of all algorithms.
	Only []Choice

	// CheckTimed compares the results of the timed runs as well, which start from
	// poison too: for figures that are to be published. Products that add to what
	// was there (Beta) are run once more instead. It costs one comparison for each
	// candidate that is measured.
	CheckTimed bool

	// Seed is that of the random inputs. Default: 0, always the same inputs.
	Seed uint64

	// Progress is called on the calling goroutine after each candidate; nil = not.
	Progress func(done, total int, c Candidate)
}

const (
	defaultBudget = 30 * time.Second

	// At least leastAtOnce candidates are compiled together, so that drivers that can
	// use several threads, and at most mostAtOnce; the next come when these are
	// measured.
	leastAtOnce = 2
	mostAtOnce  = 16

	// finalists are measured again, in turn.
	finalists = 3

	// slowCandidates of an algorithm, and none that kept up, put it last.
	slowCandidates = 3
)

// Verdict says what became of a candidate.
type Verdict string

// The verdicts.
const (
	Measured Verdict = "measured"
	Slow     Verdict = "slow"    // right, but far behind the best, and perhaps timed once only
	Wrong    Verdict = "wrong"   // its result is not what the reference gives
	Failed   Verdict = "failed"  // it does not compile, or does not fit
	Skipped  Verdict = "skipped" // the budget was spent
)

// Candidate is one choice with what was found about it.
type Candidate struct {
	Choice     Choice  `json:"choice"`
	Verdict    Verdict `json:"verdict"`
	Nanos      float64 `json:"nanos"`                 // of one run; 0 unless measured or slow
	LeastNanos float64 `json:"least_nanos,omitempty"` // of a run in the shortest batch; 0 unless measured
	MostNanos  float64 `json:"most_nanos,omitempty"`  // and in the longest
	GFLOPS     float64 `json:"gflops"`                // operations of the problem a nanosecond
	MaxError   float64 `json:"max_error"`             // see Compare; math.MaxFloat64 for a difference in kind
	Reason     string  `json:"reason,omitempty"`
}

func (c Candidate) right() bool { return c.Verdict == Measured || c.Verdict == Slow }

// TuneResult is what a search found.
type TuneResult struct {
	Problem    string        `json:"problem"` // as Shape prints it
	Exact      bool          `json:"exact"`
	Best       Candidate     `json:"best"`
	Candidates []Candidate   `json:"candidates"` // the fastest first, then those that count nothing
	Timer      string        `json:"timer"`      // "gpu", or "wall" where the driver's clock is of no use
	Check      string        `json:"check"`      // what of each result was compared
	Elapsed    time.Duration `json:"elapsed_ns"`

	shape Shape
}

// Tune finds what computes a problem fastest on a context. programs is a cache over
// it, or nil. Every candidate is
// compiled, run in poisoned memory, checked against the CPU on every element, and
// only then timed; one that is wrong or writes elsewhere counts nothing and is
// named. Problems too large for the CPU are checked by random projection: see
// docs/tuning.md.
//
// With a *cache.Cache for programs, a candidate that takes the process down, in the
// driver's compiler or while it runs, is held against it: it fails in later searches,
// with the reason. The candidates' programs neither stay in the cache nor push out
// others.
//
// It blocks the GL thread for one candidate at a time, and takes device memory for
// the tensors and workspaces. When no candidate is right it returns an error, with
// the result so far. It fails for an invalid problem, when ctx ends, and with
// shader.ErrContextLost.
func Tune(ctx context.Context, c *glctx.Context, programs Programs, s Shape, o TuneOptions) (TuneResult, error) {
	start := time.Now()
	t, err := newTask(s, c.Info())
	if err != nil {
		return TuneResult{}, err
	}
	if o.Exact {
		t = t.exact()
	}
	choices := o.Only
	if choices == nil {
		choices = t.choices()
	}
	search := &search{task: t, context: c, options: o}
	if search.trial, err = newTuneTrial(c, programs); err != nil {
		return TuneResult{}, fmt.Errorf("conv2d: tune %v: %w", s, err)
	}
	defer search.close()
	if err := search.open(); err != nil {
		return TuneResult{}, fmt.Errorf("conv2d: tune %v: %w", s, err)
	}
	if err := search.all(ctx, choices); err != nil {
		return TuneResult{}, fmt.Errorf("conv2d: tune %v: %w", s, err)
	}
	r := search.result()
	r.Elapsed = time.Since(start)
	if len(r.Candidates) == 0 || !r.Candidates[0].right() {
		return r, r.nothing()
	}
	r.Best = r.Candidates[0]
	return r, nil
}

// nothing is the error of a search without a right candidate.
func (r TuneResult) nothing() error {
	errs := []error{fmt.Errorf("conv2d: tune %s: none of %d candidates is right", r.Problem, len(r.Candidates))}
	for i, c := range r.Candidates {
		if i == 5 {
			break
		}
		errs = append(errs, fmt.Errorf("%v: %s: %s", c.Choice, c.Verdict, c.Reason))
	}
	return errors.Join(errs...)
}

// Keep puts the best candidate into a table. A nil table keeps nothing.
func (r TuneResult) Keep(to Tunings) error {
	if to == nil {
		return nil
	}
	choice, err := json.Marshal(r.Best.Choice)
	if err != nil {
		return err
	}
	measured := 0
	for _, c := range r.Candidates {
		if c.right() {
			measured++
		}
	}
	return to.PutTuning(binary.Tuning{
		Problem:    tuningKey(r.shape, r.Exact),
		Choice:     choice,
		Nanos:      r.Best.Nanos,
		GFLOPS:     r.Best.GFLOPS,
		MaxError:   r.Best.MaxError,
		Candidates: measured,
	})
}

// search is one run of Tune.
type search struct {
	task
	context  *glctx.Context
	options  TuneOptions
	bench    bench
	trial    *tuneTrial
	deadline time.Time
	found    []Candidate
	best     float64 // nanoseconds; 0 until something was measured
}

// open computes the references and puts the tensors on the device.
func (s *search) open() error {
	s.bench.sets = testSetsOf(s.task, s.options.Seed)
	budget := s.options.Budget
	if budget <= 0 {
		budget = defaultBudget
	}
	s.deadline = time.Now().Add(budget)
	return s.context.Do(s.bench.open)
}

func (s *search) close() {
	// It fails only where the context is gone, and the memory with it.
	_ = s.context.Do(func(gl *glctx.GL) error {
		s.bench.close(gl)
		return nil
	})
	s.trial.close()
}

func (s *search) all(ctx context.Context, choices []Choice) error {
	for len(choices) > 0 {
		choices = s.hopefulFirst(choices)
		// No more than are done: a short budget does not pay for many that it skips.
		atOnce := min(max(len(s.found), leastAtOnce), mostAtOnce)
		some := choices[:min(len(choices), atOnce)]
		choices = choices[len(some):]
		if err := s.some(ctx, some, len(choices)); err != nil {
			return err
		}
	}
	return s.final(ctx)
}

// hopefulFirst puts the choices of algorithms that are out of the race last: their
// likeliest candidates were all far behind.
func (s *search) hopefulFirst(choices []Choice) []Choice {
	slow, kept := map[string]int{}, map[string]bool{}
	for _, c := range s.found {
		switch name := c.Choice.Algorithm; c.Verdict {
		case Slow:
			slow[name]++
		case Measured:
			kept[name] = true
		}
	}
	var first, last []Choice
	for _, c := range choices {
		if slow[c.Algorithm] >= slowCandidates && !kept[c.Algorithm] {
			last = append(last, c)
		} else {
			first = append(first, c)
		}
	}
	return append(first, last...)
}

// some compiles and measures a few choices.
func (s *search) some(ctx context.Context, choices []Choice, more int) error {
	recipes := make([]kernel.Sequence, len(choices))
	errs := make([]error, len(choices))
	tolerances := make([]float64, len(choices))
	for i, c := range choices {
		recipes[i], tolerances[i], errs[i] = s.build(c)
	}
	failures := map[shader.Key]error{}
	if !s.spent() {
		failures = s.trial.compile(ctx, recipes)
	}
	for i, c := range choices {
		if err := ctx.Err(); err != nil {
			return err
		}
		candidate := Candidate{Choice: c, Verdict: Skipped}
		for _, step := range recipes[i].All() {
			errs[i] = errors.Join(errs[i], failures[step.Source.Key()])
		}
		switch {
		case errs[i] != nil:
			candidate.fail(errs[i])
		case !s.spent():
			if err := s.measure(&candidate, recipes[i], tolerances[i]); err != nil {
				return err
			}
		}
		s.found = append(s.found, candidate)
		if s.options.Progress != nil {
			s.options.Progress(len(s.found), len(s.found)+len(choices)-i-1+more, candidate)
		}
	}
	return nil
}

// spent reports whether the search is over. Something is measured in any case.
func (s *search) spent() bool { return s.best > 0 && time.Now().After(s.deadline) }

func (c *Candidate) fail(err error) { c.Verdict, c.Reason = Failed, err.Error() }

// measure checks and times a candidate. An error is one of the context.
func (s *search) measure(c *Candidate, r kernel.Sequence, tolerance float64) error {
	err := s.trial.try(fmt.Sprintf("%v for %v", c.Choice, s.shape), func() error {
		return s.context.Do(func(gl *glctx.GL) error { return s.measureOn(gl, c, r, tolerance) })
	})
	if errors.Is(err, binary.ErrQuarantined) {
		c.fail(err)
		return nil
	}
	return err
}

func (s *search) measureOn(gl *glctx.GL, c *Candidate, r kernel.Sequence, tolerance float64) error {
	run, err := s.bench.load(gl, r, s.trial.programs)
	if err != nil {
		c.fail(err)
		return lost(err)
	}
	defer run.Free()
	report, err := run.check(tolerance)
	if right, err := c.setReport(report, err, ""); !right {
		return err
	}
	if s.options.CheckTimed {
		run.timed().device.PoisonOutput(gl)
	}
	took, whole, err := run.time(s.best)
	if err != nil {
		c.fail(err)
		return lost(err)
	}
	if s.options.CheckTimed && whole {
		report, err := run.checkTimed(tolerance)
		if right, err := c.setReport(report, err, "after it was timed, "); !right {
			return err
		}
	}
	c.Verdict, c.Nanos = Slow, took
	if whole {
		c.Verdict, c.LeastNanos, c.MostNanos = Measured, run.least, run.most
	}
	c.GFLOPS = float64(s.flops) / took
	if s.best == 0 || took < s.best {
		s.best = took
	}
	return nil
}

// setReport notes what a comparison of results says, and reports whether they are
// right. An error is one of the context.
func (c *Candidate) setReport(report Report, err error, when string) (right bool, _ error) {
	if err != nil {
		c.fail(err)
		return false, lost(err)
	}
	c.MaxError = max(c.MaxError, report.MaxError)
	if !report.OK() {
		c.Verdict, c.Reason = Wrong, when+report.String()
	}
	return report.OK(), nil
}

// lost passes on the errors after which nothing more can be measured.
func lost(err error) error {
	if errors.Is(err, shader.ErrContextLost) || errors.Is(err, shader.ErrClosed) || errors.Is(err, kernel.ErrHangs) {
		return err
	}
	return nil
}

// final measures the fastest again, in turn, and keeps the shorter of both times:
// what disturbs a measurement makes it longer.
func (s *search) final(ctx context.Context) error {
	s.sort()
	for i := range s.found[:min(len(s.found), finalists)] {
		again := Candidate{Choice: s.found[i].Choice}
		if s.found[i].Verdict != Measured || len(s.found) == 1 || s.spent() || ctx.Err() != nil {
			break
		}
		r, tolerance, err := s.build(again.Choice)
		if err == nil {
			err = s.measure(&again, r, tolerance)
		}
		if err != nil {
			return err
		}
		if again.Verdict == Wrong {
			s.found[i] = again // once right and once wrong is wrong
		} else if again.Verdict == Measured && again.Nanos < s.found[i].Nanos {
			s.found[i] = again
		}
	}
	s.sort()
	return ctx.Err()
}

// sort puts the fastest first, and what counts nothing last.
func (s *search) sort() {
	slices.SortStableFunc(s.found, func(a, b Candidate) int {
		if a.right() != b.right() {
			if a.right() {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Nanos, b.Nanos)
	})
}

func (s *search) result() TuneResult {
	return TuneResult{
		Problem: s.shape.String(), Exact: s.options.Exact, Candidates: s.found,
		Timer: s.bench.clock.name(), Check: s.bench.coverage(), shape: s.shape,
	}
}
