//go:build linux

package resident

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/resident/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

var quick = Options{TickTime: 2 * time.Millisecond}

// TestClaimedStepsRunOnce has groups claim steps; each step counts itself.
func TestClaimedStepsRunOnce(t *testing.T) {
	const text = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 8) in;
layout(std430, binding = 0) buffer Seen { uint seen[]; };
layout(std430, binding = 1) buffer Work { uint work[]; };
uint residentStep(uvec2 step) {
    if (residentLeader()) {
        atomicAdd(seen[step.x], 1u);
        atomicAdd(work[gl_WorkGroupID.x], 1u);
    }
    return RESIDENT_GO;
}
`
	const steps = 9001
	f := newFixture(t)
	for _, strategy := range []Strategy{Redispatch, Mega, Chain, Triple} {
		t.Run(strategy.String(), func(t *testing.T) {
			o := quick
			o.Strategy, o.Poll = strategy, 5
			s := f.session(Kernel{Source: MustSource("claims", text, nil), Groups: 7, Claim: true,
				State: []State{{Block: "Seen", Bytes: 4 * (steps + 64)}, {Block: "Work", Bytes: 4 * 7}}}, o)
			run(t, s, 4000)
			run(t, s, steps-4000)
			for i, n := range words(t, s, "Seen", steps+64) {
				want := uint32(1)
				if i >= steps {
					want = 0
				}
				if n != want {
					t.Fatalf("step %d ran %d times", i, n)
				}
			}
			sum := uint32(0)
			for _, n := range words(t, s, "Work", 7) {
				sum += n
			}
			if sum != steps {
				t.Errorf("groups did %d steps of %d", sum, steps)
			}
		})
	}
}

// TestPhasesSeeThePhaseBefore compares two phases with the CPU.
func TestPhasesSeeThePhaseBefore(t *testing.T) {
	f := newFixture(t)
	for _, strategy := range Strategies() {
		t.Run(strategy.String(), func(t *testing.T) {
			o := quick
			o.Strategy = strategy
			n := Neighbours{Groups: 16, Local: 4}
			s := f.session(n.Kernel(), o)
			run(t, s, 1)
			run(t, s, 299)
			wantWords(t, words(t, s, "Ring", 64), n.after(300))
		})
	}
}

// signalText raises a syscall at every step whose number ends in 7, and halts group by
// group from step 40 on.
const signalText = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 4) in;
layout(std430, binding = 0) buffer Steps { uint steps[]; };
uint residentStep(uvec2 step) {
    if (residentLeader()) {
        ++steps[gl_WorkGroupID.x];
        residentLog(step.x, gl_WorkGroupID.x, 77u);
    }
    if (step.x % 10u == 7u && gl_WorkGroupID.x == 1u) {
        if (residentLeader()) {
            residentSignal(RESIDENT_SYSCALL, step.x);
        }
        return RESIDENT_LEAVE;
    }
    return step.x >= 40u + gl_WorkGroupID.x ? RESIDENT_HALT : RESIDENT_GO;
}
`

func TestSignalsEndTheRunAndGroupsHalt(t *testing.T) {
	f := newFixture(t)
	for _, strategy := range []Strategy{Redispatch, Chain, Double} {
		t.Run(strategy.String(), func(t *testing.T) {
			o := quick
			o.Strategy = strategy
			s := f.session(Kernel{Source: MustSource("signals", signalText, nil), Groups: 3,
				State: []State{{Block: "Steps", Bytes: 12}}}, o)
			for want := uint32(7); want < 40; want += 10 {
				out, err := s.Run(t.Context(), 1000)
				if err != nil || out.Signal != (Signal{SignalSyscall, want, 1}) {
					t.Fatalf("run ended with %v, %v", out, err)
				}
				if n := words(t, s, "Steps", 3); n[1] != want+1 {
					t.Fatalf("group 1 did %d steps up to its signal in step %d", n[1], want)
				}
			}
			out, err := s.Run(t.Context(), 1000)
			if err != nil || out.Signal.Kind != SignalHalt {
				t.Fatalf("run ended with %v, %v", out, err)
			}
			wantWords(t, words(t, s, "Steps", 3), []uint32{41, 42, 43})
			if s.Progress() != 43 {
				t.Errorf("progress is %d, not the 43 steps of the last group to halt", s.Progress())
			}
			if out, err = s.Run(t.Context(), 5); err != nil || out.Signal.Kind != SignalHalt || out.Steps != 0 {
				t.Errorf("a run of halted groups ended with %v, %v", out, err)
			}
			wantLogs(t, s, 41+42+43)
		})
	}
}

// TestEveryKindOfSignalArrives raises each kind in turn, and another one in the same step:
// the run returns the first one, and the next run continues.
func TestEveryKindOfSignalArrives(t *testing.T) {
	const text = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 2) in;
layout(std430, binding = 0) buffer Steps { uint steps[]; };
uint residentStep(uvec2 step) {
    if (residentLeader()) {
        ++steps[gl_WorkGroupID.x];
        residentSignal(step.x + 1u, 100u + step.x);
        residentSignal(99u, 99u);
    }
    return RESIDENT_LEAVE;
}
`
	f := newFixture(t)
	for _, strategy := range []Strategy{Redispatch, Mega, Chain, Triple} {
		o := quick
		o.Strategy = strategy
		s := f.session(Kernel{Source: MustSource("kinds", text, nil), Groups: 1, State: []State{{Block: "Steps", Bytes: 4}}}, o)
		for step := range uint32(20) {
			out, err := s.Run(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			if want := (Signal{SignalKind(step + 1), 100 + step, 0}); out.Signal != want {
				t.Fatalf("%v: step %d ends with %v, not %v", strategy, step, out.Signal, want)
			}
		}
		wantWords(t, words(t, s, "Steps", 1), []uint32{20})
	}
}

// TestTheLogKeepsTheNewest writes more entries than fit.
func TestTheLogKeepsTheNewest(t *testing.T) {
	const text = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Sums { uint sum; };
uint residentStep(uvec2 step) {
    ++sum;
    residentLog(step.x, 3u * step.x, 7u);
    return RESIDENT_GO;
}
`
	const steps = 2*wire.LogLength + 100
	f := newFixture(t)
	s := f.session(Kernel{Source: MustSource("logs", text, nil), Groups: 1, State: []State{{Block: "Sums", Bytes: 4}}}, quick)
	run(t, s, steps)
	logs, err := s.Logs(t.Context())
	if err != nil || len(logs) != wire.LogLength || s.Stats().Logged != steps {
		t.Fatalf("%d entries of %d, %d counted, %v", len(logs), wire.LogLength, s.Stats().Logged, err)
	}
	for i, e := range logs {
		n := uint32(steps - wire.LogLength + i)
		if e != (LogEntry{Number: uint64(n) + 1, Step: uint64(n), A: n, B: 3 * n, C: 7}) {
			t.Fatalf("entry %d is %+v", i, e)
		}
	}
}

// TestBarriersInsideADispatch has groups call residentGridBarrier: on a GPU as many as are
// co-resident, on a CPU one.
func TestBarriersInsideADispatch(t *testing.T) {
	const text = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 8) in;
layout(std430, binding = 0) coherent buffer Ring { uint ring[]; };
layout(std430, binding = 1) buffer Wrong { uint wrong[]; };
uint residentStep(uvec2 step) {
    uint next = (gl_WorkGroupID.x + 1u) % gl_NumWorkGroups.x;
    if (residentLeader()) {
        ring[gl_WorkGroupID.x] = step.x + 1u;
    }
    residentGridBarrier();
    if (residentLeader() && ring[next] != step.x + 1u) {
        ++wrong[gl_WorkGroupID.x];
    }
    residentGridBarrier();
    return RESIDENT_GO;
}
`
	f := newFixture(t)
	groups := uint32(1)
	if !f.context.Info().Software() {
		caps, err := Probe(t.Context(), f.context, f.cache, nil)
		if err != nil {
			t.Fatal(err)
		}
		groups = max(1, min(caps.Residency, 132))
	}
	s := f.session(Kernel{Source: MustSource("barriers", text, nil), Groups: groups,
		State: []State{{Block: "Ring", Bytes: 4 * int(groups)}, {Block: "Wrong", Bytes: 4 * int(groups)}}}, quick)
	run(t, s, 200)
	want := make([]uint32, groups)
	wantWords(t, words(t, s, "Wrong", int(groups)), want)
	for i := range want {
		want[i] = 200
	}
	wantWords(t, words(t, s, "Ring", int(groups)), want)
}

// TestStuckBarriersAreAnError has one of two groups not call the barrier: the other continues
// without it, also where a signal came first, and nothing of the state is returned.
func TestStuckBarriersAreAnError(t *testing.T) {
	const text = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Seen { uint seen[]; };
uint residentStep(uvec2 step) {
    ++seen[gl_WorkGroupID.x];
    if (gl_WorkGroupID.x == 1u) {
#ifdef SIGNAL_FIRST
        if (residentLeader()) {
            residentSignal(RESIDENT_SYSCALL, 3u);
        }
#endif
        residentGridBarrier();
    }
    return RESIDENT_LEAVE;
}
`
	f := newFixture(t)
	for _, defines := range []shader.Defines{{}, {"SIGNAL_FIRST": "1"}} {
		defines["RESIDENT_BARRIER_POLLS"] = "1000"
		source := MustSource("absent", text, defines)
		s := f.session(Kernel{Source: source, Groups: 2, Loops: 1000, State: []State{{Block: "Seen", Bytes: 8}}}, quick)
		out, err := s.Run(t.Context(), 1)
		if !errors.Is(err, ErrBarrierStuck) {
			t.Errorf("run ended with %v, %v", out, err)
		}
		if err := s.Read(t.Context(), "Seen", 0, make([]byte, 4)); !errors.Is(err, ErrBarrierStuck) {
			t.Errorf("the state is read, with %v", err)
		}
	}
}

// TestLanesWithoutWorkAreCounted has only some lanes and groups work.
func TestLanesWithoutWorkAreCounted(t *testing.T) {
	const text = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 8) in;
layout(std430, binding = 0) buffer Sums { uint sums[]; };
uint residentStep(uvec2 step) {
    if (gl_LocalInvocationIndex < 3u) {
        ++sums[8u * gl_WorkGroupID.x + gl_LocalInvocationIndex];
    }
    if (residentLeader()) {
        residentLanes(3u);
    }
    return gl_WorkGroupID.x == 1u ? RESIDENT_HALT : RESIDENT_GO;
}
`
	f := newFixture(t)
	o := Options{Budget: 10}
	s := f.session(Kernel{Source: MustSource("some", text, nil), Groups: 2, State: []State{{Block: "Sums", Bytes: 64}}}, o)
	run(t, s, 50)
	if _, err := s.Logs(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Group 1 is active in the first of 5 ticks only.
	n := s.Stats()
	if n.Lanes != 3*51 || n.LaunchedLanes != 2*8*50 || n.LaunchedGroups != 10 || n.ActiveGroups != 6 {
		t.Errorf("%+v", n)
	}
}

// wantLogs asserts that every group logged its steps in order.
func wantLogs(t *testing.T, s *Session, n int) {
	t.Helper()
	logs, err := s.Logs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(logs) != n || s.Stats().Logged != uint64(n) {
		t.Fatalf("%d log entries of %d, counted %d", len(logs), n, s.Stats().Logged)
	}
	next := map[uint32]uint64{}
	for i, e := range logs {
		if e.Number != uint64(i+1) || e.Step != next[e.Group] || e.A != uint32(e.Step) || e.B != e.Group || e.C != 77 {
			t.Fatalf("log entry %d is %+v", i, e)
		}
		next[e.Group]++
	}
}

func TestBadKernelsAreRefused(t *testing.T) {
	f := newFixture(t)
	good := chainKernel()
	for name, c := range map[string]struct {
		change func(k *Kernel)
		want   string
	}{
		"no source":     {func(k *Kernel) { k.Source = nil }, "without a source"},
		"no groups":     {func(k *Kernel) { k.Groups = 0 }, "0 groups"},
		"claim, phases": {func(k *Kernel) { k.Claim, k.Phases = true, 2 }, "only one of them"},
		"no state":      {func(k *Kernel) { k.State = nil }, "uses storage block Cells"},
		"wrong block":   {func(k *Kernel) { k.State = []State{{Block: "Sells", Bytes: 4}} }, "no storage block Sells"},
		"no bytes":      {func(k *Kernel) { k.State = []State{{Block: "Cells"}} }, "no bytes"},
		"too many": {func(k *Kernel) {
			k.State = []State{{Block: "Cells", Bytes: int(f.context.Info().MaxStorage) + 16}}
		}, "this device allows"},
	} {
		t.Run(name, func(t *testing.T) {
			k := good
			c.change(&k)
			s, err := New(t.Context(), f.context, f.cache, k, Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v does not contain %q", err, c.want)
			}
			if s != nil {
				s.Close()
			}
		})
	}
	if _, err := NewSource("plain", "#version 450 core\nvoid main() {}\n", nil); err == nil || !strings.Contains(err.Error(), "#include") {
		t.Errorf("a source without the include: %v", err)
	}
}

// TestClosedSessionsReturnErrClosed calls methods of a session that runs, and after Close.
func TestClosedSessionsReturnErrClosed(t *testing.T) {
	f := newFixture(t)
	s := f.session(chainKernel(), quick)
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(1); !errors.Is(err, ErrRunning) {
		t.Errorf("start of a session that runs: %v", err)
	}
	s.Close()
	if err := s.Start(1); !errors.Is(err, errClosed) {
		t.Errorf("start: %v", err)
	}
	if _, err := s.Wait(t.Context()); err != nil && !errors.Is(err, errClosed) {
		t.Errorf("wait: %v", err)
	}
	if err := s.Read(t.Context(), "Cells", 0, make([]byte, 4)); !errors.Is(err, errClosed) {
		t.Errorf("read: %v", err)
	}
}
