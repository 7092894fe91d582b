//go:build linux

package tune

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// TestCompileTimeIsPartOfTheChoice has a candidate that runs a tenth faster and takes
// 14 s to compile, and one that takes 0.3 s: by the number of runs one or the other is
// the best.
func TestCompileTimeIsPartOfTheChoice(t *testing.T) {
	slow := Candidate{Choice: directChoice("slow to compile", 1), Verdict: Measured, Nanos: 0.9e6, Compile: 14 * time.Second}
	fast := Candidate{Choice: directChoice("soon compiled", 1), Verdict: Measured, Nanos: 1e6, Compile: 300 * time.Millisecond}
	for runs, want := range map[float64]Candidate{10_000: fast, 136_000: fast, 138_000: slow, 1e9: slow} {
		s := search{runs: runs, found: []Candidate{slow, fast, {Verdict: Skipped}}}
		if s.sort(); s.found[0].Choice != want.Choice {
			t.Errorf("%v runs: %v is the best", runs, s.found[0].Choice)
		}
	}
	software := glctx.Info{GPU: "llvmpipe (LLVM 15.0.6, 256 bits)"}
	if a, b, c := (Options{}).breakEven(software), (Options{}).breakEven(glctx.Info{}), (Options{Runs: 5}).breakEven(software); a != softwareRuns || b != defaultRuns || c != 5 {
		t.Errorf("break-even after %v, %v and %v runs", a, b, c)
	}
}

// TestCompilesEndWithTheBudget checks how many candidates are compiled together, so that all
// of them are compiled and compared within the rest of a budget.
func TestCompilesEndWithTheBudget(t *testing.T) {
	took := map[shader.Key]time.Duration{{1}: 2 * time.Second, {2}: 4 * time.Second}
	found := make([]Candidate, 10)
	const alone, sideBySide = 30 * time.Second, 5 * time.Second // ten compiles
	for _, c := range []struct {
		took     map[shader.Key]time.Duration
		best     float64
		left     time.Duration
		found    []Candidate
		compiles time.Duration
		compared measured
		full     bool
		want     int
	}{
		{want: 1, left: time.Hour},
		{took: took, left: time.Second, want: 1}, // one candidate is measured in any case
		{took: took, best: 1, left: time.Hour, found: found, compiles: alone, want: 10},
		{took: took, best: 1, left: 10 * time.Second, found: found, compiles: alone, want: 3},
		{took: took, best: 1, left: 5 * time.Second, found: found, compiles: sideBySide, want: 9},
		{took: took, best: 1, left: 2 * time.Second, found: found, compiles: sideBySide, want: 0},
		{took: took, best: 1, left: 10 * time.Second, found: found, compiles: alone, compared: measured{2, 2 * time.Second}, want: 2},
		{took: took, best: 1e9, left: time.Minute, found: found, compiles: alone, want: 4}, // ten batches of a second each
		{took: took, best: 1, left: time.Minute, found: found, compiles: sideBySide, compared: measured{2, 2}, full: true, want: 5},
	} {
		s := search{programs: &candidatePrograms{took: c.took}, best: c.best, found: c.found, compared: c.compared, full: c.full, whole: measured{1, 10 * time.Second}}
		s.spent.Compile = c.compiles
		if got := s.atOnce(c.left); got != c.want {
			t.Errorf("%+v: %d at once", c, got)
		}
	}
}

// TestSearchMeasuresCompiles searches where a compile has to pay within one run, and where
// it hardly counts.
func TestSearchMeasuresCompiles(t *testing.T) {
	device := gltest.Open(t)
	choices := []conv2d.Choice{directChoice("direct", 8), directChoice("direct", 64), directChoice("direct", 32)}
	for _, runs := range []int{1, 1 << 40} {
		r, err := Search(t.Context(), device, nil, sampleShapes[0], Options{Only: choices, Runs: runs})
		if err != nil {
			t.Fatal(err)
		}
		right := slices.DeleteFunc(slices.Clone(r.Candidates), func(c Candidate) bool { return !c.right() })
		if len(right) == 0 || right[0].Choice != r.Best.Choice {
			t.Fatalf("%+v", r)
		}
		if !slices.IsSortedFunc(right, func(a, b Candidate) int { return int(a.cost(float64(runs)) - b.cost(float64(runs))) }) {
			t.Errorf("%d runs: not in the order of their costs: %+v", runs, right)
		}
		for _, c := range r.Candidates {
			if c.Compile <= 0 {
				t.Errorf("%v has no time to compile", c.Choice)
			}
			if !c.right() && (c.Verdict != Skipped || !strings.Contains(c.Reason, "does not pay within")) {
				t.Errorf("%+v", c)
			}
		}
	}
}
