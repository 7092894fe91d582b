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

// TestCompilesEndWithTheBudget checks how many candidates are compiled together.
func TestCompilesEndWithTheBudget(t *testing.T) {
	took := map[shader.Key]time.Duration{{1}: 2 * time.Second, {2}: 4 * time.Second}
	found := make([]Candidate, 10)
	for _, c := range []struct {
		took  map[shader.Key]time.Duration
		best  float64
		left  time.Duration
		found []Candidate
		want  int
	}{
		{nil, 0, time.Hour, nil, leastAtOnce},
		{took, 0, time.Second, nil, leastAtOnce}, // one candidate is measured in any case
		{took, 1, time.Hour, found, 10},
		{took, 1, 10 * time.Second, found, 3},
		{took, 1, time.Second, found, 1},
	} {
		s := search{programs: &candidatePrograms{took: c.took}, best: c.best, found: c.found}
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
