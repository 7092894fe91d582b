//go:build linux

package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

const (
	// At most mostAtOnce candidates are compiled together, for drivers that use several
	// threads; the next come when these are measured.
	mostAtOnce = 16
	// finalists are measured again, in turn.
	finalists = 3
	// slowCandidates of an algorithm, and none that was measured, put it last.
	slowCandidates = 3
)

// builder has the choices of a search and builds them. conv2d.SearchSpace is one.
type builder interface {
	Choices() []conv2d.Choice
	Build(c conv2d.Choice) (sequence kernel.Sequence, tolerance float64, err error)
}

// search is one run of Search.
type search struct {
	space    conv2d.SearchSpace
	builder  builder // the space, but in tests
	context  *glctx.Context
	options  Options
	bench    bench
	programs *candidatePrograms
	deadline time.Time
	found    []Candidate
	leader   *benchRun // of the fastest so far, with which others are compared; or nil
	full     bool      // every candidate is measured in full
	best     float64   // nanoseconds; 0 until a candidate was measured
	least    float64   // of the costs: see Candidate.cost
	runs     float64   // see Options.Runs
	spent    Spent
	whole    measured // candidates in full
	compared measured // candidates beside the fastest
	ended    bool     // what is left of the budget is not enough for one more
}

func newSearch(c *glctx.Context, programs executor.Programs, space conv2d.SearchSpace, o Options) (*search, error) {
	s := &search{space: space, builder: space, context: c, options: o, full: o.CheckTimed, runs: o.breakEven(c.Info())}
	var err error
	s.programs, err = newCandidatePrograms(c, programs)
	return s, s.named(err)
}

// named returns an error with the problem in front, or nil.
func (s *search) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("conv2d: tune %v: %w", s.space.Shape(), err)
}

// run compares the candidates and releases what the search has taken.
func (s *search) run(ctx context.Context) (Result, error) {
	start := time.Now()
	defer s.close()
	choices := s.options.Only
	if choices == nil {
		choices = s.builder.Choices()
	}
	if err := s.open(); err != nil {
		return Result{}, s.named(err)
	}
	if err := s.compareAll(ctx, choices); err != nil {
		return Result{}, s.named(err)
	}
	r := s.result()
	r.Elapsed = time.Since(start)
	if len(r.Candidates) == 0 || !r.Candidates[0].right() {
		return r, r.noneRight()
	}
	r.Best = r.Candidates[0]
	return r, nil
}

// open computes the references and puts the tensors on the device.
func (s *search) open() error {
	start := time.Now()
	s.deadline = start.Add(s.options.budget())
	s.bench.sets = newTestSets(s.space, s.options.Seed)
	defer addSince(start, &s.spent.Reference)
	return s.context.Do(s.bench.open)
}

func (s *search) close() {
	// It fails only where the context is gone, and the memory with it.
	_ = s.context.Do(func(gl *glctx.GL) error {
		s.setLeader(gl, nil)
		s.bench.close(gl)
		return nil
	})
	s.programs.close()
}

// compareAll compiles, checks and times choices, a batch at a time.
func (s *search) compareAll(ctx context.Context, choices []conv2d.Choice) error {
	for len(choices) > 0 {
		choices = s.slowAlgorithmsLast(choices)
		n := s.atOnce(s.left())
		if s.ended = n == 0; s.ended {
			n = len(choices)
		}
		batch := choices[:min(len(choices), n)]
		choices = choices[len(batch):]
		if err := s.compareBatch(ctx, batch, len(choices)); err != nil {
			return err
		}
	}
	return s.final(ctx)
}

// slowAlgorithmsLast moves the choices of algorithms whose likeliest candidates were
// all far behind to the end.
func (s *search) slowAlgorithmsLast(choices []conv2d.Choice) []conv2d.Choice {
	slow, measured := map[string]int{}, map[string]bool{}
	for _, c := range s.found {
		switch name := c.Choice.Algorithm; c.Verdict {
		case Slow:
			slow[name]++
		case Measured:
			measured[name] = true
		}
	}
	var first, last []conv2d.Choice
	for _, c := range choices {
		if slow[c.Algorithm] >= slowCandidates && !measured[c.Algorithm] {
			last = append(last, c)
		} else {
			first = append(first, c)
		}
	}
	return append(first, last...)
}

// compareBatch compiles choices together and measures them in turn. left is the
// number of choices that come later.
func (s *search) compareBatch(ctx context.Context, choices []conv2d.Choice, left int) error {
	built := make([]builtChoice, len(choices))
	sequences := make([]kernel.Sequence, len(choices))
	for i, c := range choices {
		built[i] = s.build(c)
		sequences[i] = built[i].sequence
	}
	failures := map[shader.Key]error{}
	if !s.isSpent() {
		start := time.Now()
		failures = s.programs.compile(ctx, sequences)
		addSince(start, &s.spent.Compile)
	}
	for i, b := range built {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, source := range b.sequence.Sources() {
			b.err = errors.Join(b.err, failures[source.Key()])
		}
		candidate, err := s.candidate(b)
		if err != nil {
			return err
		}
		s.found = append(s.found, candidate)
		if s.options.Progress != nil {
			s.options.Progress(len(s.found), len(s.found)+len(choices)-i-1+left, candidate)
		}
	}
	return nil
}

// builtChoice is a choice with the sequence that computes it.
type builtChoice struct {
	choice    conv2d.Choice
	sequence  kernel.Sequence
	tolerance float64
	err       error
}

func (s *search) build(c conv2d.Choice) builtChoice {
	b := builtChoice{choice: c}
	b.sequence, b.tolerance, b.err = s.builder.Build(c)
	return b
}

// candidate measures a choice, unless it failed or the budget is spent.
func (s *search) candidate(b builtChoice) (Candidate, error) {
	c := Candidate{Choice: b.choice, Verdict: Skipped}
	if b.err != nil {
		c.fail(b.err)
		return c, nil
	}
	if s.isSpent() {
		return c, nil
	}
	if c.Compile = s.programs.compileTime(b.sequence); s.least > 0 && float64(c.Compile)/s.runs >= s.least {
		c.Reason = fmt.Sprintf("its compile of %v does not pay within %.0f runs", c.Compile.Round(time.Millisecond), s.runs)
		return c, nil
	}
	err := s.measure(&c, b)
	return c, err
}

func (c *Candidate) fail(err error) { c.Verdict, c.Reason = Failed, err.Error() }

// measure checks and times a candidate. An error is one of the context.
func (s *search) measure(c *Candidate, b builtChoice) error {
	err := s.programs.guarded(fmt.Sprintf("%v for %v", c.Choice, s.space.Shape()), func() error {
		return s.context.Do(func(gl *glctx.GL) error { return s.measureOn(gl, c, b) })
	})
	if errors.Is(err, binary.ErrQuarantined) {
		c.fail(err)
		return nil
	}
	return err
}

func (s *search) measureOn(gl *glctx.GL, c *Candidate, b builtChoice) error {
	start := time.Now()
	run, err := s.bench.load(gl, b.sequence, s.programs.byKey)
	if err != nil {
		c.fail(err)
		return fatal(err)
	}
	if s.leader != nil {
		s.leader.GL = gl
	}
	defer func() { s.leave(gl, run) }()
	report, err := run.check(b.tolerance)
	addSince(start, &s.spent.Check)
	if right, err := c.setReport(report, err, ""); !right {
		return err
	}
	if s.options.CheckTimed {
		run.timed().device.PoisonOutput(gl)
	}
	count, timed := &s.compared, time.Now()
	if s.leader == nil {
		count = &s.whole
	}
	took, whole, err := s.time(run)
	addSince(timed, &s.spent.Time)
	count.add(time.Since(start))
	if err = errors.Join(err, run.Err()); err != nil {
		c.fail(err)
		return fatal(err)
	}
	if s.options.CheckTimed && whole {
		report, err := run.checkTimed(b.tolerance)
		if right, err := c.setReport(report, err, "after it was timed, "); !right {
			return err
		}
	}
	c.Verdict, c.Nanos = Slow, took
	if whole {
		c.Verdict, c.LeastNanos, c.MostNanos, c.compared = Measured, run.least, run.most, run.compared
	}
	c.GFLOPS = float64(s.space.Shape().FLOPs()) / took
	if s.best == 0 || took < s.best {
		s.best = took
		if whole && !s.full {
			s.setLeader(gl, run)
		}
	}
	if cost := c.cost(s.runs); s.least == 0 || cost < s.least {
		s.least = cost
	}
	return nil
}

// time returns the nanoseconds of one run, and whether that is a measurement: the time of a
// single run is none. The first candidate is measured in full, and others are compared with
// the fastest so far.
func (s *search) time(run *benchRun) (nanos float64, whole bool, err error) {
	if s.leader == nil {
		return run.time(s.best)
	}
	if nanos, whole, err = run.compare(s.leader, s.best); err != nil || !run.compared {
		return nanos, whole, err
	}
	factor := s.correct(run.leader)
	run.least, run.most = factor*run.least, factor*run.most
	return factor * nanos, whole, nil
}

// correct lowers the times so far where the fastest candidate has become faster, because the
// GPU's clock was lower when it was measured. It returns the factor.
func (s *search) correct(leader float64) float64 {
	if leader > settled*s.best {
		return 1
	}
	factor := leader / s.best
	s.best, s.least = leader, 0
	for i := range s.found {
		c := &s.found[i]
		if !c.right() {
			continue
		}
		c.Nanos, c.LeastNanos, c.MostNanos, c.GFLOPS = factor*c.Nanos, factor*c.LeastNanos, factor*c.MostNanos, c.GFLOPS/factor
		if cost := c.cost(s.runs); s.least == 0 || cost < s.least {
			s.least = cost
		}
	}
	return factor
}

// setLeader replaces the run that others are compared with.
func (s *search) setLeader(gl *glctx.GL, run *benchRun) {
	if s.leader != nil {
		s.leader.GL = gl
		s.leader.Free()
	}
	s.leader = run
}

// leave ends the use of runs in a callback: a run frees its memory, unless it leads.
func (s *search) leave(gl *glctx.GL, run *benchRun) {
	if run != s.leader {
		run.GL = gl
		run.Free()
	}
	if s.leader != nil {
		s.leader.GL = nil
	}
}

// setReport sets what a comparison of results found, and reports whether they are
// right. An error is one of the context.
func (c *Candidate) setReport(report conv2d.Report, err error, when string) (right bool, _ error) {
	if err != nil {
		c.fail(err)
		return false, fatal(err)
	}
	c.MaxError = max(c.MaxError, report.MaxError)
	if !report.OK() {
		c.Verdict, c.Reason = Wrong, when+report.String()
	}
	return report.OK(), nil
}

// fatal returns the errors after which nothing more can be measured, else nil.
func fatal(err error) error {
	if errors.Is(err, shader.ErrContextLost) || errors.Is(err, shader.ErrClosed) || errors.Is(err, kernel.ErrHangs) {
		return err
	}
	return nil
}

// final measures the fastest in full, in turn, as far as the budget is enough. Of those that were before it keeps the shorter
// of both times: a disturbed measurement is longer.
func (s *search) final(ctx context.Context) error {
	s.full, s.best = true, 0 // the fastest of many comparisons is too good by their noise
	if err := s.context.Do(func(gl *glctx.GL) error { s.setLeader(gl, nil); return nil }); err != nil {
		return err
	}
	s.sort()
	for i := range s.found[:min(len(s.found), finalists)] {
		again := Candidate{Choice: s.found[i].Choice, Compile: s.found[i].Compile}
		if s.found[i].Verdict != Measured || len(s.found) == 1 || s.left() < s.whole.mean() || ctx.Err() != nil {
			break
		}
		built := s.build(again.Choice)
		if built.err != nil {
			return built.err
		}
		if err := s.measure(&again, built); err != nil {
			return err
		}
		if again.Verdict == Wrong {
			s.found[i] = again // once right and once wrong is wrong
		} else if again.right() && (s.found[i].compared || again.Nanos < s.found[i].Nanos) {
			s.found[i] = again
		}
	}
	s.sort()
	return ctx.Err()
}

// sort puts the candidate of the least cost first, and what is not right last.
func (s *search) sort() {
	slices.SortStableFunc(s.found, func(a, b Candidate) int {
		if a.right() != b.right() {
			if a.right() {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.cost(s.runs), b.cost(s.runs))
	})
}

func (s *search) result() Result {
	return Result{
		Problem: s.space.Shape().String(), Exact: s.options.Exact, NoCPU: s.options.NoCPU, Candidates: s.found,
		Timer: s.bench.clock.name(), Check: s.bench.coverage(), Spent: s.spent, shape: s.space.Shape(),
	}
}
