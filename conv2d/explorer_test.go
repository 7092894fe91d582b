//go:build linux

package conv2d

import (
	"errors"
	"testing"

	"github.com/shadercache/shadercache/binary"
)

// Every run of an explorer is right, whatever it takes; the result is kept, and the next
// explorer takes it and explores no more.
func TestExplorerIsRightAndKeepsItsResult(t *testing.T) {
	e, programs := newExecutor(t)
	s := GEMMProblem{M: 17, N: 33, K: 9}.Shape()
	k, err := newTask(s, e.Context().Info())
	if err != nil {
		t.Fatal(err)
	}
	in, want := hostOf(t, k, newSeed(t))
	x, err := NewExplorer(t.Context(), e, programs, s, PlanOptions{}, ExploreOptions{Share: 1e6, Variants: 2}) // every other run
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	run := func(x *Explorer) {
		t.Helper()
		out := poisoned(k.output)
		if err := x.Run(t.Context(), in.Input, out); err != nil {
			t.Fatal(err)
		}
		checkOutput(t, x.Choice().String(), out, want, 1e-3)
	}
	if err := x.Run(t.Context(), in.Input, poisoned(k.output)); !errors.Is(err, ErrNoWeights) {
		t.Errorf("without weights: %v", err)
	}
	if err := x.SetWeights(t.Context(), 1, in.Weights, in.Bias); err != nil {
		t.Fatal(err)
	}
	for range 20 * exploreTrials {
		if run(x); x.Stats().Done {
			break
		}
	}
	stats := x.Stats()
	if !stats.Done || stats.Explored == 0 || stats.Wrong != 0 {
		t.Fatalf("stats %+v", stats)
	}
	kept, err := programs.Store().Tuning(TuningKey(s, Restriction{}))
	if err != nil || kept.Nanos <= 0 || kept.Candidates != 3 {
		t.Fatalf("kept %+v, %v", kept, err)
	}
	next, err := NewExplorer(t.Context(), e, programs, s, PlanOptions{}, ExploreOptions{Share: 1e6})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Release()
	if next.Choice().String() != x.Choice().String() || len(next.choices) != 1 {
		t.Errorf("the next explorer has %v of %d choices, and %v was kept", next.Choice(), len(next.choices), x.Choice())
	}
}

// New weights reach every choice, also one that is prepared later, and device memory.
func TestExplorerUsesTheLatestWeights(t *testing.T) {
	e, programs := newExecutor(t)
	s := Problem{N: 1, C: 3, H: 12, W: 14, K: 5, R: 3, S: 3, PadH: 1, PadW: 1}.Shape()
	k, err := newTask(s, e.Context().Info())
	if err != nil {
		t.Fatal(err)
	}
	x, err := NewExplorer(t.Context(), e, programs, s, PlanOptions{}, ExploreOptions{Share: 1e6, Variants: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	for version := range uint64(4 * exploreTrials) {
		in, want := hostOf(t, k, version)
		if err := x.SetWeights(t.Context(), version+1, in.Weights, in.Bias); err != nil {
			t.Fatal(err)
		}
		device, out := deviceCopy(t, e, poisoned(k.output)), poisoned(k.output)
		if err := x.RunOn(t.Context(), Operands{Input: deviceCopy(t, e, in.Input).Memory, Output: device.Memory}); err != nil {
			t.Fatal(err)
		}
		if err := device.Download(t.Context(), 0, out); err != nil {
			t.Fatal(err)
		}
		checkOutput(t, "version", out, want, 1e-3)
	}
	if s := x.Stats(); s.Explored == 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestExplorerCanBeSwitchedOff(t *testing.T) {
	e, programs := newExecutor(t)
	s := GEMMProblem{M: 17, N: 33, K: 9}.Shape()
	plain := mustPlan(t, e, programs, s, PlanOptions{})
	for name, c := range map[string]struct {
		plan    PlanOptions
		explore ExploreOptions
	}{
		"off":         {explore: ExploreOptions{Share: -1}},
		"by a choice": {plan: PlanOptions{Choice: &plain.choice}},
	} {
		x, err := NewExplorer(t.Context(), e, programs, s, c.plan, c.explore)
		if err != nil {
			t.Fatal(err)
		}
		if len(x.choices) != 1 || !x.mu.kept {
			t.Errorf("%s: %d choices", name, len(x.choices))
		}
		x.Release()
	}
	if _, err := programs.Store().Tuning(TuningKey(s, Restriction{})); !errors.Is(err, binary.ErrNotFound) {
		t.Errorf("something was kept: %v", err)
	}
}

// A choice that cannot be used, or that fails later, costs the run nothing but time.
func TestExplorerLeavesOutWhatFails(t *testing.T) {
	e, programs := newExecutor(t)
	s := GEMMProblem{M: 17, N: 33, K: 9}.Shape()
	k, err := newTask(s, e.Context().Info())
	if err != nil {
		t.Fatal(err)
	}
	in, want := hostOf(t, k, newSeed(t))
	x, err := NewExplorer(t.Context(), e, programs, s, PlanOptions{}, ExploreOptions{Share: 1e6, Variants: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	if err := x.SetWeights(t.Context(), 1, in.Weights, in.Bias); err != nil {
		t.Fatal(err)
	}
	x.choices[1] = Choice{Algorithm: "no such algorithm"}
	for range 6 * exploreTrials {
		out := poisoned(k.output)
		if err := x.Run(t.Context(), in.Input, out); err != nil {
			t.Fatal(err)
		}
		checkOutput(t, x.Choice().String(), out, want, 1e-3)
		if p := x.mu.plans[2]; p != nil && x.mu.exploration.best == 0 {
			p.Release() // the next run by it fails
		}
	}
	if stats := x.Stats(); stats.Wrong != 1 || !x.mu.exploration.variants[1].out || !x.mu.exploration.variants[2].out && x.mu.exploration.best != 2 {
		t.Errorf("stats %+v", stats)
	}
}
