//go:build linux

package resident

import (
	"testing"
	"time"

	"github.com/shadercache/shadercache/executor"
)

// TestEveryStrategyGivesTheSameState runs the same steps with every strategy, in runs of
// odd lengths, and compares every word with the CPU.
func TestEveryStrategyGivesTheSameState(t *testing.T) {
	f := newFixture(t)
	want := chainAfter(5000)
	for _, strategy := range Strategies() {
		t.Run(strategy.String(), func(t *testing.T) {
			s := f.session(chainKernel(), Options{Strategy: strategy, TickTime: 2 * time.Millisecond, Slice: 5 * time.Millisecond})
			for _, steps := range []uint64{1, 3999, 17, 983} {
				run(t, s, steps)
			}
			wantWords(t, words(t, s, "Cells", chainCells), want)
			if p := s.Progress(); p != 5000 {
				t.Errorf("progress is %d, not 5000", p)
			}
			t.Log(s.Mode())
		})
	}
}

// TestTheHotPathDoesNotStopTheGPU counts operations that make the GPU or a thread wait.
func TestTheHotPathDoesNotStopTheGPU(t *testing.T) {
	f := newFixture(t)
	for _, strategy := range Strategies() {
		s := f.session(chainKernel(), Options{Strategy: strategy, TickTime: time.Millisecond})
		before := f.context.Counters()
		run(t, s, 500)
		after := f.context.Counters()
		if after.Finishes != before.Finishes || after.Readbacks != before.Readbacks {
			t.Errorf("%v: %d finishes, %d readbacks", strategy, after.Finishes-before.Finishes, after.Readbacks-before.Readbacks)
		}
		if after.Buffers != before.Buffers || after.Compiles != before.Compiles {
			t.Errorf("%v makes buffers or programs while it runs", strategy)
		}
		if n := s.Stats().Dispatches; after.Dispatches-before.Dispatches != n || n == 0 {
			t.Errorf("%v counts %d dispatches of %d", strategy, n, after.Dispatches-before.Dispatches)
		}
	}
}

// TestRestsBetweenTicks compares the time of a run with its pauses.
func TestRestsBetweenTicks(t *testing.T) {
	f := newFixture(t)
	s := f.session(chainKernel(), Options{Budget: 10, Rest: 2 * time.Millisecond})
	began := time.Now()
	run(t, s, 100)
	if took, ticks := time.Since(began), s.Stats().Ticks; ticks != 10 || took < 9*2*time.Millisecond {
		t.Errorf("%d ticks in %v: there were no pauses", ticks, took)
	}
	wantWords(t, words(t, s, "Cells", chainCells), chainAfter(100))
}

// TestUseIsCounted compares the counters of lanes and groups with the launch.
func TestUseIsCounted(t *testing.T) {
	f := newFixture(t)
	s := f.session(chainKernel(), quick)
	run(t, s, 300)
	if _, err := s.Logs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := s.Stats(); n.Lanes != 300*chainCells || n.LaunchedLanes != n.Lanes || n.ActiveGroups != n.LaunchedGroups || n.Steps != 300 {
		t.Errorf("%+v", n)
	}
}

// TestEpochsFollowEachOther has epochs of 700 steps, so that runs cross their borders, and
// step numbers beyond 32 bits.
func TestEpochsFollowEachOther(t *testing.T) {
	f := newFixture(t)
	for _, strategy := range []Strategy{Redispatch, Chain, Triple} {
		o := Options{Strategy: strategy, TickTime: time.Millisecond, test: testOptions{epochSteps: 700}}
		s := f.session(chainKernel(), o)
		for _, steps := range []uint64{699, 1, 1, 1400, 2000} {
			run(t, s, steps)
		}
		wantWords(t, words(t, s, "Cells", chainCells), chainAfter(4101))
		p := Persistence{Groups: 3, Local: 32, FMAs: 2, Claim: true}
		claims := f.session(p.Kernel(), o)
		run(t, claims, 2500)
		if err := p.compare(2500, state(t, claims, "Values"), state(t, claims, "Witness")); err != nil {
			t.Error(err)
		}
	}
	k := Kernel{Source: MustSource("number", `#version 450 core
#include "resident.glsl"
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Last { uvec2 last; };
uint residentStep(uvec2 step) { last = step; return RESIDENT_GO; }
`, nil), Groups: 1, State: []State{{Block: "Last", Bytes: 8}}}
	const before = 3<<32 - 10
	s := f.session(k, Options{test: testOptions{epochSteps: 7, base: before}})
	for n := uint64(1); n <= 25; n += 3 {
		run(t, s, 3)
		last := before + n + 1
		wantWords(t, words(t, s, "Last", 2), []uint32{uint32(last), uint32(last >> 32)})
	}
}

// TestTicksAreQueuedOnTheGPU counts the submissions in flight.
func TestTicksAreQueuedOnTheGPU(t *testing.T) {
	f := newFixture(t)
	for strategy, want := range map[Strategy]uint64{Redispatch: 1, Mega: 1, Chain: 1, Double: 2, Triple: 3} {
		s := f.session(chainKernel(), Options{Strategy: strategy, Budget: 2, ChainLength: 3})
		run(t, s, 60)
		if n := s.Stats().InFlight; n != want {
			t.Errorf("%v: %d submissions are in flight, not %d", strategy, n, want)
		}
	}
}

// TestTheRestOfAHaltedChainIsEmpty has all groups halt in the third of 32 dispatches that
// were issued at once: the others have no groups.
func TestTheRestOfAHaltedChainIsEmpty(t *testing.T) {
	f := newFixture(t)
	k := Kernel{Source: MustSource("third", `#version 450 core
#include "resident.glsl"
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Counts { uint counts[]; };
uint residentStep(uvec2 step) {
    ++counts[gl_WorkGroupID.x];
    return step.x == 2u ? RESIDENT_HALT : RESIDENT_GO;
}
`, nil), Groups: 3, State: []State{{Block: "Counts", Bytes: 12}}}
	s := f.session(k, Options{Strategy: Chain, Budget: 1})
	out, err := s.Run(t.Context(), 1000)
	if err != nil || out.Signal.Kind != SignalHalt {
		t.Fatalf("%+v, %v", out, err)
	}
	if n := s.Stats(); n.Dispatches != defaultChain || n.Ticks != 3 || n.Submissions != 1 {
		t.Errorf("%d of %d dispatches had groups, in %d submissions", n.Ticks, n.Dispatches, n.Submissions)
	}
	wantWords(t, words(t, s, "Counts", 3), []uint32{3, 3, 3})
}

// TestJobsRunBetweenTicks runs jobs of an executor, which make no request, while a session
// of each strategy runs: both make progress.
func TestJobsRunBetweenTicks(t *testing.T) {
	f := newFixture(t)
	e, err := executor.New(f.context, f.cache, executor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, strategy := range Strategies() {
		s := f.session(chainKernel(), Options{Strategy: strategy, TickTime: time.Millisecond, Slice: time.Millisecond, Capabilities: claimed})
		if err := s.Start(0); err != nil {
			t.Fatal(err)
		}
		waitStep(t, s)
		for i := range uint32(5) {
			b, err := executor.BufferOf(e, []uint32{i, ^i})
			if err != nil {
				t.Fatal(err)
			}
			got := []uint32{0xdeadbeef, 0xdeadbeef}
			if err := b.Download(t.Context(), 0, got); err != nil {
				t.Fatal(err)
			}
			b.Release()
			wantWords(t, got, []uint32{i, ^i})
		}
		out, err := s.Stop(t.Context())
		if err != nil || out.Steps == 0 {
			t.Fatalf("%v: %+v, %v", strategy, out, err)
		}
		wantWords(t, words(t, s, "Cells", chainCells), chainAfter(s.Progress()))
	}
}
