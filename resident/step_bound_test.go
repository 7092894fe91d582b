//go:build linux

package resident

import (
	"testing"
	"time"

	"github.com/shadercache/shadercache/resident/internal/pace"
	"github.com/shadercache/shadercache/resident/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// unevenText limits group 0 to 100 steps in a tick.
const unevenText = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Sums { uint sums[]; };
uint residentStep(uvec2 step) {
    sums[gl_WorkGroupID.x] += step.x ^ 5u;
    return gl_WorkGroupID.x == 0u && step.x % 100u == 99u ? RESIDENT_LEAVE : RESIDENT_GO;
}
`

// TestStepBoundLimitsTheLead has one group be slower than the other in every slice, and
// bounds the difference of their steps, which must not grow with time: an alignment has
// to do it.
func TestStepBoundLimitsTheLead(t *testing.T) {
	const maxLead = 20_000 // far below the steps of an unbounded group in that time
	f := newFixture(t)
	k := Kernel{Source: MustSource("uneven", unevenText, nil), Groups: 2, State: []State{{Block: "Sums", Bytes: 8}}}
	s := f.session(k, Options{Strategy: Persistent, Slice: time.Millisecond, Capabilities: claimed})
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	eventually(func() bool { return s.Stats().Ticks >= 40 })
	v := s.mail.words.ReadStatus()
	if lead := v.Most - v.Least; v.Ticks < 40 || lead > maxLead {
		t.Errorf("one group leads by %d steps after %d ticks", lead, v.Ticks)
	}
	if _, err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	sum := uint32(0)
	for step := range uint32(s.Progress()) {
		sum += step ^ 5
	}
	wantWords(t, words(t, s, "Sums", 2), []uint32{sum, sum})
}

// TestStepBoundIsLifted submits slices with and without a step bound: groups must not stay
// at that of the slice before, where they would not even take a message.
func TestStepBoundIsLifted(t *testing.T) {
	f := newFixture(t)
	_, sc := f.stopped(chainKernel(), Options{Strategy: Persistent, Capabilities: claimed, test: testOptions{groupsWait: true}})
	sc.estimator.Observe(1, pace.Bounds{Least: stepTime, Most: stepTime})
	if err := sc.run.startRun(1000); err != nil {
		t.Fatal(err)
	}
	sc.beginBurst()
	for _, c := range []struct{ idle, target, flags uint32 }{{0, 10, wire.FlagStepBound}, {1, 1000, 0}} {
		sc.status.Idle = c.idle
		if err := sc.submitSteps(10, 10, false); err != nil {
			t.Fatal(err)
		}
		target, flags := sc.words.Load(wire.AtCommand+1), sc.words.Load(wire.AtBase+2)&wire.FlagStepBound
		if target != c.target || flags != c.flags {
			t.Errorf("%d idle groups: target %d, step bound %#x", c.idle, target, flags)
		}
		if _, err := sc.completeOldest(1000); err != nil {
			t.Fatal(err)
		}
		sc.status.Least, sc.status.Most = 0, 0
	}
}

// TestGroupsWaitForGroupZero has groups wait for group 0, as they do on a GPU, with loops
// too short for the limit of software drivers: the state is the same as without.
func TestGroupsWaitForGroupZero(t *testing.T) {
	f := newFixture(t)
	k := chainKernel()
	k.Source = MustSource("chain", chainText, shader.Defines{"RESIDENT_LEAD_POLLS": "50"})
	s := f.session(k, Options{Strategy: Persistent, Poll: 4, Capabilities: claimed, test: testOptions{groupsWait: true}})
	if flags := s.config.commandFlags(); flags&wire.FlagBoundLead == 0 {
		t.Fatalf("flags %#x", flags)
	}
	for _, steps := range []uint64{1, 600, 99} {
		run(t, s, steps)
	}
	wantWords(t, words(t, s, "Cells", chainCells), chainAfter(700))
	k.Phases = 2
	if flags := f.session(k, Options{Strategy: Persistent, Capabilities: claimed, test: testOptions{groupsWait: true}}).config.commandFlags(); flags&wire.FlagBoundLead != 0 {
		t.Errorf("groups in lockstep wait for each other twice: flags %#x", flags)
	}
}

// TestGroupZeroAnswersAtTheBound has group 0 be far ahead of the other, so that it waits at
// the step bound.
func TestGroupZeroAnswersAtTheBound(t *testing.T) {
	const text = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Sums { uint sums[]; };
uint residentStep(uvec2 step) {
    sums[gl_WorkGroupID.x] += step.x ^ 5u;
    uvec3 message;
    if (gl_WorkGroupID.x == 0u) {
        if (residentReceive(message)) {
            residentSend(message * 3u);
        }
        return RESIDENT_GO;
    }
    return step.x % 50u == 49u ? RESIDENT_LEAVE : RESIDENT_GO;
}
`
	f := newFixture(t)
	defines := shader.Defines{"RESIDENT_LEAD_POLLS": "50", "RESIDENT_BOUND_POLLS": "1000"}
	k := Kernel{Source: MustSource("bound", text, defines), Groups: 2, State: []State{{Block: "Sums", Bytes: 8}}}
	s, ctx := started(t, f, k, Options{Strategy: Persistent, Slice: time.Millisecond, Poll: 4, Capabilities: claimed, test: testOptions{groupsWait: true}})
	for i := range uint32(100) {
		if err := s.Send(Message{Kind: i, A: 2, B: 3}); err != nil {
			t.Fatal(err)
		}
		if m, err := s.Receive(ctx); err != nil || m != (Message{Kind: 3 * i, A: 6, B: 9}) {
			t.Fatalf("answer %d: %+v, %v", i, m, err)
		}
	}
	if _, err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	sum := uint32(0)
	for step := range uint32(s.Progress()) {
		sum += step ^ 5
	}
	wantWords(t, words(t, s, "Sums", 2), []uint32{sum, sum})
	// At the goal of a run group 0 does not wait.
	for range 3 {
		run(t, s, 77)
	}
}

// TestIdleGroupsSkipSteps stops a session of which one group is idle: it reaches the step
// of the other one without doing those in between.
func TestIdleGroupsSkipSteps(t *testing.T) {
	const text = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Counts { uint counts[]; };
uint residentStep(uvec2 step) {
    ++counts[gl_WorkGroupID.x];
    return gl_WorkGroupID.x == 0u ? RESIDENT_GO : RESIDENT_IDLE;
}
`
	f := newFixture(t)
	for name, o := range map[string]Options{
		"redispatch": quick,
		"persistent": {Strategy: Persistent, Slice: 2 * time.Millisecond, Capabilities: claimed},
		"waiting":    {Strategy: Persistent, Slice: 2 * time.Millisecond, Capabilities: claimed, test: testOptions{groupsWait: true}},
	} {
		t.Run(name, func(t *testing.T) {
			k := Kernel{Source: MustSource("idle", text, shader.Defines{"RESIDENT_IDLE_POLLS": "16", "RESIDENT_LEAD_POLLS": "50"}),
				Groups: 2, State: []State{{Block: "Counts", Bytes: 8}}}
			s, ctx := started(t, f, k, o)
			if !eventually(func() bool { return s.Stats().Ticks >= 3 }) {
				t.Fatal("no ticks")
			}
			if _, err := s.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			got := words(t, s, "Counts", 2)
			if steps := s.Progress(); uint64(got[0]) != steps || uint64(got[1]) > steps || got[1] == 0 {
				t.Errorf("%d steps; the busy group did %d, the idle one %d", steps, got[0], got[1])
			}
			if name == "redispatch" && uint64(got[1]) > s.Stats().Ticks {
				t.Errorf("the idle group did %d steps in %d ticks", got[1], s.Stats().Ticks)
			}
			if v := s.mail.words.ReadStatus(); name == "redispatch" && s.Stats().Alignments > 0 && v.Active != 0 {
				t.Errorf("%d groups did a step of the skipped ones", v.Active)
			}
		})
	}
}
