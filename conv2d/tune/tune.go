//go:build linux

// Package tune finds the fastest way to compute a convolution or a matrix product on
// a device. [Search] compiles, checks and times the candidates of package conv2d;
// [Result.Keep] keeps the winner for later plans; [AddToTable] writes the table that
// conv2d ships. A plan searches by itself where conv2d.PlanOptions.Tune is an
// [*Options].
package tune

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
)

// Options configure a search. The zero value is a good choice.
type Options struct {
	// Budget ends the search: candidates that were not reached by then are skipped.
	// The likeliest of each algorithm come first. A candidate that compiles or runs is not
	// interrupted, but none begins that is likely to take longer than the rest of the
	// budget, by the mean so far. One candidate is measured in any case. Default: 30 s.
	Budget time.Duration

	// Runs is the number of runs over which the compile of a candidate has to pay: the
	// best has the least time of one run and its compile / Runs. A machine compiles once,
	// so a larger number is for programs that run for long. Default: 10,000 on a software
	// driver, where compiles differ by seconds, else 1,000,000.
	Runs int

	// Exact leaves out the algorithms that may err by more than conv2d.Tolerance.
	Exact bool

	// NoCPU leaves out the algorithms that the CPU computes without a kernel.
	NoCPU bool

	// Only are the choices to compare. Default: all candidates of all algorithms.
	Only []conv2d.Choice

	// CheckTimed also compares the results of the timed runs, which start from poison
	// too: for figures that are to be published. Products with a beta are run once
	// more instead. It costs one comparison for each candidate that is measured.
	CheckTimed bool

	// Seed is that of the random inputs. Default: 0, always the same inputs.
	Seed uint64

	// Progress is called on the calling goroutine after each candidate. Default: no
	// calls.
	Progress func(done, total int, c Candidate)
}

const (
	defaultBudget = 30 * time.Second
	defaultRuns   = 1_000_000
	softwareRuns  = 10_000
)

// budget returns Budget, or its default.
func (o Options) budget() time.Duration {
	if o.Budget <= 0 {
		return defaultBudget
	}
	return o.Budget
}

// breakEven returns Runs, or its default on a device.
func (o Options) breakEven(info glctx.Info) float64 {
	switch {
	case o.Runs > 0:
		return float64(o.Runs)
	case info.Software():
		return softwareRuns
	}
	return defaultRuns
}

// Verdict is the outcome for a candidate.
type Verdict string

// The verdicts.
const (
	Measured Verdict = "measured"
	Slow     Verdict = "slow"    // right, but far behind the best, and perhaps timed once only
	Wrong    Verdict = "wrong"   // its result differs from the reference
	Failed   Verdict = "failed"  // it does not compile, or does not fit
	Skipped  Verdict = "skipped" // the budget was spent
)

// Candidate is one choice with its measurements.
type Candidate struct {
	Choice     conv2d.Choice `json:"choice"`
	Verdict    Verdict       `json:"verdict"`
	Nanos      float64       `json:"nanos"`                 // of one run; 0 unless measured or slow
	LeastNanos float64       `json:"least_nanos,omitempty"` // of a run in the shortest batch; 0 unless measured
	MostNanos  float64       `json:"most_nanos,omitempty"`  // of a run in the longest batch
	Compile    time.Duration `json:"compile_ns"`            // of its programs, until they are ready to run
	GFLOPS     float64       `json:"gflops"`                // operations of the problem a nanosecond
	MaxError   float64       `json:"max_error"`             // see conv2d.Compare; math.MaxFloat64 for a difference in kind
	Reason     string        `json:"reason,omitempty"`

	compared bool // Nanos follows from those of another candidate
}

// cost returns the nanoseconds of a run, with its share of the compile.
func (c Candidate) cost(runs float64) float64 { return c.Nanos + float64(c.Compile)/runs }

func (c Candidate) right() bool { return c.Verdict == Measured || c.Verdict == Slow }

// Result is the result of a search.
type Result struct {
	Problem    string        `json:"problem"` // as conv2d.Shape prints it
	Exact      bool          `json:"exact"`
	NoCPU      bool          `json:"no_cpu"`
	Best       Candidate     `json:"best"`
	Candidates []Candidate   `json:"candidates,omitempty"` // the best first; those that are not right last
	Timer      string        `json:"timer"`                // "gpu", or "wall" where the driver's clock cannot be used
	Check      string        `json:"check"`                // the part of each result that was compared
	Elapsed    time.Duration `json:"elapsed_ns"`
	Spent      Spent         `json:"spent"` // the parts of Elapsed

	shape conv2d.Shape
}

// Spent is what a search spent its time on.
type Spent struct {
	Reference time.Duration `json:"reference_ns"` // inputs, and their results on the CPU
	Compile   time.Duration `json:"compile_ns"`   // until the programs of candidates were ready
	Check     time.Duration `json:"check_ns"`     // first runs, and comparing their results
	Time      time.Duration `json:"time_ns"`      // timed runs
}

// addSince adds the time since start to a part.
func addSince(start time.Time, part *time.Duration) { *part += time.Since(start) }

// Search finds the fastest choice for a problem on a context. programs is a cache
// over the context, or nil. Every candidate is compiled, run in poisoned memory,
// checked against the CPU on every element, and only then timed. A candidate that is
// wrong or writes out of bounds is never the best, and has a Reason. Problems too
// large for the CPU are checked by random projection: see docs/tuning.md.
//
// With a *cache.Cache for programs, a candidate that crashes the process, in the
// driver's compiler or while it runs, fails in later searches, with the reason. The
// candidates' programs neither stay in the cache nor evict others.
//
// Search blocks the GL thread for one candidate at a time, and takes device memory
// for the tensors and workspaces. When no candidate is right it returns an error, with
// the result so far. It fails for an invalid problem, when ctx ends, and with
// shader.ErrContextLost.
func Search(ctx context.Context, c *glctx.Context, programs executor.Programs, s conv2d.Shape, o Options) (Result, error) {
	space, err := conv2d.NewSearchSpace(s, c.Info(), o.restriction())
	if err != nil {
		return Result{}, err
	}
	search, err := newSearch(c, programs, space, o)
	if err != nil {
		return Result{}, err
	}
	return search.run(ctx)
}

func (o Options) restriction() conv2d.Restriction {
	return conv2d.Restriction{Exact: o.Exact, NoCPU: o.NoCPU}
}

// Tune searches as [Search] does, for a plan, and keeps the result. The restriction is that
// of the request.
func (o *Options) Tune(ctx context.Context, r conv2d.TuneRequest) (conv2d.Choice, error) {
	options := *o
	options.Exact, options.NoCPU = r.Exact, r.NoCPU
	result, err := Search(ctx, r.Context, r.Programs, r.Shape, options)
	if err == nil {
		// A table that cannot be written to costs the next process a search.
		_ = result.Keep(r.Tunings)
	}
	return result.Best.Choice, err
}

// noneRight is the error of a search without a right candidate.
func (r Result) noneRight() error {
	errs := []error{fmt.Errorf("conv2d: tune %s: none of %d candidates is right", r.Problem, len(r.Candidates))}
	for _, c := range r.Candidates[:min(5, len(r.Candidates))] {
		errs = append(errs, fmt.Errorf("%v: %s: %s", c.Choice, c.Verdict, c.Reason))
	}
	return errors.Join(errs...)
}

// Keep puts the best candidate into a table. A nil table keeps nothing.
func (r Result) Keep(to cache.Tunings) error {
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
		Problem:    conv2d.TuningKey(r.shape, conv2d.Restriction{Exact: r.Exact, NoCPU: r.NoCPU}),
		Choice:     choice,
		Nanos:      r.Best.Nanos,
		GFLOPS:     r.Best.GFLOPS,
		MaxError:   r.Best.MaxError,
		Candidates: measured,
	})
}
