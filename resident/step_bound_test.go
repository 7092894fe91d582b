//go:build linux

package resident

import (
	"testing"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// unevenText has group 0 do no more than 100 steps in a tick.
const unevenText = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Sums { uint sums[]; };
uint residentStep(uvec2 step) {
    sums[gl_WorkGroupID.x] += step.x ^ 5u;
    return gl_WorkGroupID.x == 0u && step.x % 100u == 99u ? RESIDENT_LEAVE : RESIDENT_GO;
}
`

// TestGroupsOfASliceStayTogether has one group be slower than the other, slice by
// slice, and compares how far they get apart: what is to be caught up with when
// somebody looks does not grow with the time that has gone.
func TestGroupsOfASliceStayTogether(t *testing.T) {
	const mostApart = 20_000 // far below what a group alone does in that time
	f := newFixture(t)
	k := Kernel{Source: MustSource("uneven", unevenText, nil), Groups: 2, State: []State{{Block: "Sums", Bytes: 8}}}
	s := f.session(k, Options{Strategy: Persistent, Slice: time.Millisecond, Capabilities: claimed})
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(2 * time.Minute)
	for s.Stats().Ticks < 40 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	r := s.readReport()
	if apart := r.most - r.least; r.ticks < 40 || apart > mostApart {
		t.Errorf("groups are %d steps apart after %d ticks", apart, r.ticks)
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

// TestGroupsWaitForGroupZero has groups of a slice wait for group 0, as they do on
// a GPU, so short that a driver which ends loops does not end these: the state is
// what it is without.
func TestGroupsWaitForGroupZero(t *testing.T) {
	f := newFixture(t)
	k := chainKernel()
	k.Source = MustSource("chain", chainText, shader.Defines{"RESIDENT_AHEAD_LOOKS": "50"})
	s := f.session(k, Options{Strategy: Persistent, Poll: 4, Capabilities: claimed, trial: trial{close: true}})
	if mode := s.mode(); mode&modeClose == 0 {
		t.Fatalf("mode %#x", mode)
	}
	for _, steps := range []uint64{1, 600, 99} {
		run(t, s, steps)
	}
	wantWords(t, words(t, s, "Cells", chainCells), chainAfter(700))
	k.Phases = 2
	if mode := f.session(k, Options{Strategy: Persistent, Capabilities: claimed, trial: trial{close: true}}).mode(); mode&modeClose != 0 {
		t.Errorf("groups in lockstep wait for each other twice: mode %#x", mode)
	}
}

// TestGroupZeroAnswersAtTheBound has group 0 be far ahead of the others, so that it
// comes to the bound of its slice and waits there.
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
	defines := shader.Defines{"RESIDENT_AHEAD_LOOKS": "50", "RESIDENT_DOOR_LOOKS": "1000"}
	k := Kernel{Source: MustSource("bound", text, defines), Groups: 2, State: []State{{Block: "Sums", Bytes: 8}}}
	s, ctx := started(t, f, k, Options{Strategy: Persistent, Slice: time.Millisecond, Poll: 4, Capabilities: claimed, trial: trial{close: true}})
	for i := range uint32(100) {
		if err := s.Send(Message{i, 2, 3}); err != nil {
			t.Fatal(err)
		}
		if m, err := s.Receive(ctx); err != nil || m != (Message{3 * i, 6, 9}) {
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
	// The goal of a run is no bound: nobody waits there.
	for range 3 {
		run(t, s, 77)
	}
}

// TestStepsWithNothingToDoAreLeftOut stops a session of which one group has nothing to
// do: it comes to the step of the other one without doing those in between.
func TestStepsWithNothingToDoAreLeftOut(t *testing.T) {
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
		"waiting":    {Strategy: Persistent, Slice: 2 * time.Millisecond, Capabilities: claimed, trial: trial{close: true}},
	} {
		t.Run(name, func(t *testing.T) {
			k := Kernel{Source: MustSource("sleeper", text, shader.Defines{"RESIDENT_IDLE_LOOKS": "16", "RESIDENT_AHEAD_LOOKS": "50"}),
				Groups: 2, State: []State{{Block: "Counts", Bytes: 8}}}
			s, ctx := started(t, f, k, o)
			for s.Stats().Ticks < 3 {
				time.Sleep(time.Millisecond)
			}
			if _, err := s.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			got := words(t, s, "Counts", 2)
			if steps := s.Progress(); uint64(got[0]) != steps || uint64(got[1]) > steps || got[1] == 0 {
				t.Errorf("%d steps; the group that works did %d, the other one %d", steps, got[0], got[1])
			}
			if name == "redispatch" && uint64(got[1]) > s.Stats().Ticks {
				t.Errorf("the group with nothing to do did %d steps in %d ticks", got[1], s.Stats().Ticks)
			}
			if r := s.readReport(); name == "redispatch" && s.Stats().Alignments > 0 && r.active != 0 {
				t.Errorf("%d groups did a step while steps were left out", r.active)
			}
		})
	}
}
