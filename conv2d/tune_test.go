//go:build linux

package conv2d

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// spoiled is direct with another kernel or another plan.
func spoiled(name string, spoil func(r *kernel.Sequence, p Problem)) algorithm[Problem] {
	return algorithm[Problem]{
		name:       name,
		candidates: func(Problem, device) []Params { return []Params{{"local": 64}} },
		tolerance:  directAlgorithm.tolerance,
		sequence: func(p Problem, params Params, on device) (kernel.Sequence, error) {
			r, err := directSequence(p, params, on)
			spoil(&r, p)
			return r, err
		},
	}
}

// rewritten replaces a piece of the kernel.
func rewritten(old, fresh string) func(*kernel.Sequence, Problem) {
	return func(r *kernel.Sequence, p Problem) {
		text := r.Steps[0].Source.Text()
		for i := range r.Steps {
			r.Steps[i].Source = shader.MustSource("spoiled", strings.Replace(text, old, fresh, 1), nil)
		}
	}
}

// TestTuneCountsWrongCandidatesAsNothing: only what is right is timed, and what is
// not is named with the reason.
func TestTuneCountsWrongCandidatesAsNothing(t *testing.T) {
	withConvAlgorithms(t,
		spoiled("off_by_a_bit", rewritten("sum += weights", "sum += 1.0001 * weights")),
		spoiled("leaves_one_out", rewritten("int pixel = int(here);", "int pixel = int(here); if (pixel == 5) return;")),
		spoiled("overruns", rewritten("outputs[at] =", "outputs[pixel + 1 == outputH * outputW ? at + 1 : at] =")),
		spoiled("does_not_compile", rewritten("void main()", "void main(")),
		spoiled("has_no_steps", func(r *kernel.Sequence, _ Problem) { r.Steps = nil }),
		spoiled("overruns_its_workspace", func(r *kernel.Sequence, p Problem) {
			n := p.WeightsLen()
			r.WorkspaceLen = n - 1
			r.PackedLen = n
			r.Prepare = []kernel.Step{{
				Source: shader.MustSource("test_pack", copyKernel, nil), Groups: [3]int{ceilDiv(n, 32), 1, 1},
				Uniforms: kernel.Ints{{"count", n}}.Uniforms(), Bindings: []kernel.Binding{kernel.Weights.At(1), kernel.Workspace.At(4)},
			}}
		}),
		directAlgorithm,
	)
	s := Problem{N: 1, C: 3, H: 12, W: 14, K: 5, R: 3, S: 3, PadH: 1, PadW: 1, Bias: true}.Shape()
	context := gltest.Open(t)
	before := context.Counters()
	calls := 0
	r, err := Tune(t.Context(), context, nil, s, TuneOptions{Budget: time.Hour, Seed: newSeed(t), Progress: func(done, total int, c Candidate) {
		calls++
		if done != calls || total != 8 {
			t.Errorf("progress %d of %d", done, total)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Best.Choice.Algorithm != "direct" || r.Best.Verdict != Measured || r.Best.Nanos <= 0 || r.Best.GFLOPS <= 0 || r.Problem != s.String() || r.Check != "every element" {
		t.Errorf("best is %+v of %s, checked %s", r.Best, r.Problem, r.Check)
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
		if c.Verdict == Slow && w.verdict == Measured {
			c.Verdict = Measured // something else took the CPU while it was timed
		}
		if c.Verdict != w.verdict || !strings.Contains(c.Reason, w.reason) {
			t.Errorf("%s is %s: %s", c.Choice.Algorithm, c.Verdict, c.Reason)
		}
		if (c.Nanos > 0) != (w.verdict == Measured) {
			t.Errorf("%s takes %v ns", c.Choice.Algorithm, c.Nanos)
		}
	}
	if len(r.Candidates) != 8 || r.Candidates[0].Choice.String() != r.Best.Choice.String() {
		t.Errorf("%d candidates, %v first", len(r.Candidates), r.Candidates[0].Choice)
	}
	if err := context.Do(func(*glctx.GL) error { return nil }); err != nil { // deletions are posted
		t.Error(err)
	}
	if after := context.Counters(); after.Buffers != before.Buffers || after.Programs != before.Programs {
		t.Errorf("counters before %+v, after %+v", before, after)
	}
}

func TestTuneWithoutARightCandidate(t *testing.T) {
	withConvAlgorithms(t, spoiled("wrong", rewritten("sum += weights", "sum -= weights")))
	r, err := Tune(t.Context(), gltest.Open(t), nil, planProblems[0], TuneOptions{})
	if err == nil || !strings.Contains(err.Error(), "none of 1 candidates is right") || !strings.Contains(err.Error(), "elements are wrong") {
		t.Errorf("error is %v", err)
	}
	if len(r.Candidates) != 1 || r.Best.Verdict != "" {
		t.Errorf("found %+v", r)
	}
}

// TestTuneEnds: by its budget, and with its context.
func TestTuneEnds(t *testing.T) {
	many := directAlgorithm
	many.candidates = func(Problem, device) []Params {
		var list []Params
		for local := 1; local <= 40; local++ {
			list = append(list, Params{"local": local})
		}
		return list
	}
	withConvAlgorithms(t, many)
	device := gltest.Open(t)
	r, err := Tune(t.Context(), device, nil, planProblems[0], TuneOptions{Budget: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	if n := device.Counters().Compiles; n != leastAtOnce {
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
	_, err = Tune(ctx, device, nil, planProblems[0], TuneOptions{Progress: func(done, _ int, _ Candidate) {
		if done == 2 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

// TestProjection: what is right passes exactly, and one wrong element anywhere does
// not.
func TestProjection(t *testing.T) {
	seed := newSeed(t)
	for _, p := range []GEMMProblem{
		plain(13, 17, 19),
		{M: 9, N: 8, K: 7, TransA: true, TransB: true, LDC: 11, Beta: 0.5, Alpha: -1.5, Bias: RowBias},
		{M: 5, N: 6, K: 8, Batch: 3, StrideA: 40, StrideB: 0, StrideC: 33, Bias: ColumnBias},
	} {
		set, ok := newProjection(p, seed)
		if !ok {
			t.Errorf("%v has no projection", p)
			continue
		}
		e := ReferenceGEMM(p, GEMMTensors{A: set.Input, B: set.Weights, C: set.Output, Bias: set.Bias})
		got := make([]float32, len(e.Values))
		for i, v := range e.Values {
			got[i] = float32(v)
		}
		if r := set.checker.check(got, 0); !r.OK() || r.Elements != p.CLen() {
			t.Errorf("%v: a right result: %v", p, r)
		}
		for i := range got {
			for _, wrong := range []float32{got[i] + 0.25, float32(math.NaN()), math.Float32frombits(Poison)} {
				spoilt := slices.Clone(got)
				spoilt[i] = wrong
				gap := p.LDC > 0 && i%p.LDC >= p.N || p.Batch > 1 && i%p.StrideC >= p.M*p.N
				if r := set.checker.check(spoilt, 0); r.OK() && !gap {
					t.Errorf("%v: element %d of %v is not noticed", p, i, wrong)
				}
			}
		}
	}
	for _, p := range []GEMMProblem{
		{M: 2, N: 2, K: 2, Activation: ReLU},
		{M: 2, N: 2, K: 2, Alpha: 0.3},
		plain(2, 2, 1<<24),
	} {
		if _, ok := newProjection(p, seed); ok {
			t.Errorf("%v has a projection", p)
		}
	}
}

// TestRowChecker compares its rows with the whole reference.
func TestRowChecker(t *testing.T) {
	seed := newSeed(t)
	for _, s := range planProblems {
		k := task{shape: s.canonical()}
		if p := s.Conv2D; p != nil {
			k.input, k.weights, k.output = p.InputLen(), p.WeightsLen(), p.OutputLen()
			if p.Bias {
				k.bias = p.BiasLen()
			}
		} else {
			p := s.GEMM
			k.input, k.weights, k.output, k.bias = p.ALen(), p.BLen(), p.CLen(), p.BiasLen()
			k.keepsOutput = p.Beta != 0
		}
		in, want := hostOf(t, k, seed)
		j := newRowChecker(k, in, seed)
		got := make([]float32, len(want.Values))
		for i, v := range want.Values {
			got[i] = float32(v)
		}
		if r := j.check(got, 1e-6); !r.OK() || r.Elements == 0 || j.elements() != len(got) {
			t.Errorf("%v: %v", s, r)
		}
		last := j.rows[len(j.rows)-1]
		got[last.at] += 1
		if r := j.check(got, 1e-6); r.Wrong != 1 || r.Worst != last.at {
			t.Errorf("%v: element %d is wrong: %v", s, last.at, r)
		}
	}
}

// TestTuneLargeProblems: a search over a problem that the CPU has no reference for.
func TestTuneLargeProblems(t *testing.T) {
	before := referenceProducts
	t.Cleanup(func() { referenceProducts = before })
	referenceProducts = 1
	device := gltest.Open(t)
	for _, s := range []Shape{plain(40, 36, 44).Shape(), planProblems[1]} {
		k, err := newTask(s, device.Info())
		if err != nil {
			t.Fatal(err)
		}
		r, err := Tune(t.Context(), device, nil, s, TuneOptions{Only: k.choices()[:2]})
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

// TestShippedTable: every entry can be read, is valid, and can be built on a device
// of its family.
func TestShippedTable(t *testing.T) {
	entries := 0
	for family, list := range shippedTable() {
		seen := map[string]bool{}
		for _, e := range list {
			entries++
			if e.shape.String() != e.Problem || seen[e.Problem] {
				t.Errorf("%s: %q is there twice, or not in its canonical form", family, e.Problem)
			}
			seen[e.Problem] = true
			if err := buildsOn(families[family], e.shape, e.Choice); err != nil {
				t.Errorf("%s: %s: %v", family, e.Problem, err)
			}
		}
	}
	if want := strings.Count(string(defaultsJSON), `"problem"`); entries != want {
		t.Errorf("%d of %d entries can be read", entries, want)
	}
}

// families are what the drivers of a family are known to offer.
var families = map[string]device{
	"nvidia": {nvidia: true, sharedBytes: 48 << 10, maxInvocations: 1024, maxGroups: [3]int32{math.MaxInt32, 65535, 65535}},
	"llvmpipe": {software: true, sharedBytes: 32 << 10, maxInvocations: 1024, simdBits: 256,
		maxGroups: [3]int32{65535, 65535, 65535}},
}

func buildsOn(on device, s Shape, c Choice) error {
	if s.GEMM != nil {
		return buildsBy(gemmAlgorithms, *s.GEMM, c, on)
	}
	return buildsBy(convAlgorithms, *s.Conv2D, c, on)
}

func buildsBy[P any](algorithms []algorithm[P], p P, c Choice, on device) error {
	for _, a := range algorithms {
		if a.name == c.Algorithm {
			_, err := a.sequence(p, c.Params, on)
			return err
		}
	}
	return fmt.Errorf("there is no algorithm %q", c.Algorithm)
}
