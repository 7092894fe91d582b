//go:build linux

package tune

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// copyKernel writes the weights to binding 4, in reverse.
const copyKernel = `
layout(local_size_x = 32) in;
layout(std430, binding = 1) readonly buffer Weights { float weights[]; };
layout(std430, binding = 4) buffer Packed { float reversed[]; };
uniform int count;
void main() {
    int i = int(gl_GlobalInvocationID.x);
    if (i < count) {
        reversed[count - 1 - i] = weights[i] * 2.0;
    }
}
`

// overrunWorkspace adds a step that writes one element too many.
func overrunWorkspace(weights int) func(s *kernel.Sequence) {
	return func(s *kernel.Sequence) {
		s.WorkspaceLen, s.PackedLen = weights-1, weights
		s.Prepare = []kernel.Step{{
			Source: shader.MustSource("test_pack", copyKernel, nil), Groups: [3]int{(weights + 31) / 32, 1, 1},
			Uniforms: kernel.Ints{{"count", weights}}.Uniforms(),
			Bindings: []kernel.Binding{kernel.Weights.At(1), kernel.Workspace.At(4)},
		}}
	}
}

// TestSearchCountsWrongCandidatesAsNothing checks that only right candidates are
// timed, and that the others have their reason.
func TestSearchCountsWrongCandidatesAsNothing(t *testing.T) {
	p := sampleConv
	p.Bias = true
	s := p.Shape()
	spoil := map[string]func(s *kernel.Sequence){
		"off_by_a_bit":           rewritten("sum += weights", "sum += 1.0001 * weights"),
		"leaves_one_out":         rewritten("int pixel = int(here);", "int pixel = int(here); if (pixel == 5) return;"),
		"overruns":               rewritten("outputs[at] =", "outputs[pixel + 1 == outputH * outputW ? at + 1 : at] ="),
		"does_not_compile":       rewritten("void main()", "void main("),
		"has_no_steps":           func(s *kernel.Sequence) { s.Steps = nil },
		"overruns_its_workspace": overrunWorkspace(p.WeightsLen()),
	}
	device := gltest.Open(t)
	before := device.Counters()
	calls := 0
	names := []string{"off_by_a_bit", "leaves_one_out", "overruns", "does_not_compile", "has_no_steps", "overruns_its_workspace", "direct"}
	r, err := searchSpoiled(t, device, s, Options{Budget: time.Hour, Seed: newSeed(t), Progress: func(done, total int, c Candidate) {
		calls++
		if done != calls || total != len(names) {
			t.Errorf("progress %d of %d", done, total)
		}
	}}, spoil, names...)
	if err != nil {
		t.Fatal(err)
	}
	if r.Best.Choice.Algorithm != "direct" || r.Best.Verdict != Measured || r.Best.Nanos <= 0 || r.Best.GFLOPS <= 0 || r.Problem != s.String() || r.Check != "every element" {
		t.Errorf("best is %+v of %s, checked %s", r.Best, r.Problem, r.Check)
	}
	if spent := r.Spent; spent.Reference <= 0 || spent.Compile <= 0 || spent.Check <= 0 || spent.Time <= 0 ||
		spent.Reference+spent.Compile+spent.Check+spent.Time > r.Elapsed {
		t.Errorf("of %v it spent %+v", r.Elapsed, spent)
	}
	want := map[string]struct {
		verdict Verdict
		reason  string
	}{
		"off_by_a_bit":           {Wrong, "elements are wrong"},
		"leaves_one_out":         {Wrong, "not written"},
		"overruns":               {Failed, "past the end of its output"},
		"does_not_compile":       {Failed, "does not compile"},
		"has_no_steps":           {Failed, "without steps"},
		"overruns_its_workspace": {Failed, "in its workspace"},
		"direct":                 {Measured, ""},
	}
	for _, c := range r.Candidates {
		w := want[c.Choice.Algorithm]
		if c.Verdict != w.verdict || !strings.Contains(c.Reason, w.reason) {
			t.Errorf("%s is %s: %s", c.Choice.Algorithm, c.Verdict, c.Reason)
		}
		if (c.Nanos > 0) != (w.verdict == Measured) {
			t.Errorf("%s takes %v ns", c.Choice.Algorithm, c.Nanos)
		}
	}
	if len(r.Candidates) != len(names) || r.Candidates[0].Choice != r.Best.Choice {
		t.Errorf("%d candidates, %v first", len(r.Candidates), r.Candidates[0].Choice)
	}
	if err := device.Do(func(*glctx.GL) error { return nil }); err != nil { // deletions are posted
		t.Error(err)
	}
	if after := device.Counters(); after.Buffers != before.Buffers || after.Programs != before.Programs {
		t.Errorf("counters before %+v, after %+v", before, after)
	}
}

func TestSearchWithoutARightCandidate(t *testing.T) {
	spoil := map[string]func(s *kernel.Sequence){"wrong": rewritten("sum += weights", "sum -= weights")}
	r, err := searchSpoiled(t, gltest.Open(t), sampleShapes[0], Options{}, spoil, "wrong")
	if err == nil || !strings.Contains(err.Error(), "none of 1 candidates is right") || !strings.Contains(err.Error(), "elements are wrong") {
		t.Errorf("error is %v", err)
	}
	if len(r.Candidates) != 1 || r.Best.Verdict != "" {
		t.Errorf("found %+v", r)
	}
}

// TestSearchEnds has searches that end by their budget and with their context.
func TestSearchEnds(t *testing.T) {
	var many []conv2d.Choice
	for local := 1; local <= 40; local++ {
		many = append(many, directChoice("direct", local))
	}
	device := gltest.Open(t)
	r, err := Search(t.Context(), device, nil, sampleShapes[0], Options{Budget: time.Nanosecond, Only: many})
	if err != nil {
		t.Fatal(err)
	}
	if n := device.Counters().Compiles; n != 1 {
		t.Errorf("%d candidates were compiled for one that is measured", n)
	}
	skipped := 0
	for _, c := range r.Candidates {
		if c.Verdict == Skipped {
			skipped++
		}
	}
	if skipped != 39 || !r.Best.right() {
		t.Errorf("%d of %d skipped, best %+v", skipped, len(r.Candidates), r.Best)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Search(ctx, device, nil, sampleShapes[0], Options{Only: many, Progress: func(done, _ int, _ Candidate) {
		if done == 2 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

// TestSearchOfLargeProblems searches problems that the CPU has no whole reference for.
func TestSearchOfLargeProblems(t *testing.T) {
	before := referenceProducts
	t.Cleanup(func() { referenceProducts = before })
	referenceProducts = 1
	device := gltest.Open(t)
	for _, s := range []conv2d.Shape{conv2d.GEMMProblem{M: 40, N: 36, K: 44}.Shape(), sampleShapes[1]} {
		space, err := conv2d.NewSearchSpace(s, device.Info(), conv2d.Restriction{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Search(t.Context(), device, nil, s, Options{Only: space.Choices()[:2]})
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(r.Check, "random rows") || (s.GEMM != nil) != strings.Contains(r.Check, "projections") {
			t.Errorf("%v: checked %s", s, r.Check)
		}
	}
}

func TestMedian(t *testing.T) {
	for want, figures := range map[float64][]float64{3: {3}, 4: {5, 3}, 2: {9, 1, 2}} {
		if got := median(figures); got != want {
			t.Errorf("the median of %v is %v", figures, got)
		}
	}
}

// TestTimesFollowTheClock has the fastest candidate become faster while it is compared: the
// times so far are those of a lower clock.
func TestTimesFollowTheClock(t *testing.T) {
	first := Candidate{Verdict: Measured, Nanos: 1000, LeastNanos: 900, MostNanos: 1100, GFLOPS: 3}
	for leader, factor := range map[float64]float64{500: 0.5, 990: 1, 1200: 1} {
		s := search{runs: 1, best: 1000, least: 1000, found: []Candidate{first, {Verdict: Slow, Nanos: 4000}, {Verdict: Failed}}}
		got := s.correct(leader)
		c := s.found[0]
		if got != factor || s.best != 1000*factor || s.least != 1000*factor || c.Nanos != 1000*factor || c.LeastNanos != 900*factor ||
			c.MostNanos != 1100*factor || c.GFLOPS != 3/factor || s.found[1].Nanos != 4000*factor || s.found[2].Nanos != 0 {
			t.Errorf("beside others it takes %v: factor %v, best %v, %+v", leader, got, s.best, s.found)
		}
	}
}

// TestOthersAreComparedWithTheFastest searches among equal candidates, with a workspace each:
// those after the first are compared with the fastest, and in the end the fastest are
// measured in full. For figures that are published every one is. A dispatch takes ten seconds
// of the clock, whatever else runs on the machine.
func TestOthersAreComparedWithTheFastest(t *testing.T) {
	spoil := map[string]func(s *kernel.Sequence){"equal": func(s *kernel.Sequence) { s.WorkspaceLen = 16 }}
	device := gltest.Open(t)
	buffers := device.Counters().Buffers
	for published, candidates := range map[bool]int{false: 1 + finalists + 1, true: 2} {
		names := slices.Repeat([]string{"equal"}, candidates)
		o := Options{Budget: time.Hour, Runs: 1 << 40, CheckTimed: published}
		search, err := newSpoiledSearch(device, nil, sampleConv.Shape(), o, spoil, names...)
		if err != nil {
			t.Fatal(err)
		}
		search.bench.clock.calibrated = true // the host's
		search.bench.clock.host = func() time.Duration { return time.Duration(device.Counters().Dispatches) * 10 * time.Second }
		r, err := search.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		compared := 0
		for _, c := range r.Candidates {
			if c.compared {
				compared++
			}
			if c.Verdict == Measured && !(0 < c.LeastNanos && c.LeastNanos <= c.Nanos && c.Nanos <= c.MostNanos) {
				t.Errorf("published %v: %+v", published, c)
			}
		}
		if most := max(0, candidates-finalists); compared > most || (compared == 0) != published {
			t.Errorf("published %v: %d of %d candidates were only compared", published, compared, len(r.Candidates))
		}
	}
	if err := device.Do(func(*glctx.GL) error { return nil }); err != nil { // deletions are posted
		t.Error(err)
	}
	if n := device.Counters().Buffers; n != buffers {
		t.Errorf("%d buffers, there were %d", n, buffers)
	}
}
