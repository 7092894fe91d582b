//go:build linux

package resident

import (
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
)

const namesText = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 1) in;
struct Body { vec3 at; float mass; uint marks[3]; };
layout(std430, binding = 0) buffer Bodies { uint count; Body bodies[]; };
layout(std430, binding = 1) buffer Totals { float energy; ivec2 corner; uint hits[4]; };
uint residentStep(uvec2 step) {
    for (uint i = 0u; i < 4u; ++i) {
        bodies[i].at += vec3(1.0, 2.0, 3.0) * float(i);
        bodies[i].mass = 0.5 * float(i);
        bodies[i].marks[i % 3u] += 10u + i;
        hits[i] += i;
    }
    ++count;
    energy += 0.25;
    corner += ivec2(1, -1);
    return RESIDENT_GO;
}
`

// TestStateIsReadByName compares variables of several shapes while the session
// runs and after it.
func TestStateIsReadByName(t *testing.T) {
	f := newFixture(t)
	s := f.session(Kernel{Source: MustSource("names", namesText, nil), Groups: 1, Loops: 4,
		State: []State{{Block: "Bodies", Bytes: 16 + 4*32}, {Block: "Totals", Bytes: 64}}}, quick)
	run(t, s, 1) // a run that is stopped at once may have no step
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	last := uint32(0)
	for range 3 {
		count, err := s.State(t.Context(), "count")
		if err != nil {
			t.Fatal(err)
		}
		if count.Uint() < last {
			t.Errorf("count went from %d to %d", last, count.Uint())
		}
		last = count.Uint()
	}
	if _, err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := uint32(s.Progress())
	wants := map[string][]uint32{"count": {n}, "hits": {0, n, 2 * n, 3 * n}, "hits[2]": {2 * n}, "corner": {n, -n},
		"bodies[1].marks[1]": {11 * n}, "bodies[2].marks": nil, "bodies[3].marks[0]": {13 * n}, "bodies[3].marks[1]": {0}}
	for name, want := range wants {
		v, err := s.State(t.Context(), name)
		if want == nil {
			if err == nil {
				t.Errorf("%s is %v", name, v)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if len(v.Words) != len(want) {
			t.Fatalf("%s has %d words, not %d", name, len(v.Words), len(want))
		}
		wantWords(t, v.Words, want)
	}
	for name, want := range map[string]float32{"energy": 0.25 * float32(n), "bodies[3].mass": 1.5} {
		if v, err := s.State(t.Context(), name); err != nil || v.Float() != want {
			t.Errorf("%s is %v, %v, not %v", name, v, err, want)
		}
	}
	at, err := s.State(t.Context(), "bodies[2].at")
	if err != nil || len(at.Words) != 3 || at.Floats()[2] != 6*float32(n) {
		t.Errorf("bodies[2].at is %v, %v", at, err)
	}
	for _, name := range []string{"nothing", "hits[4]", "bodies[4].mass", "bodies[0]"} {
		if v, err := s.State(t.Context(), name); err == nil {
			t.Errorf("%s is %v", name, v)
		}
	}
}

// TestReadsAreConsistent takes checkpoints of a running session of several groups, with
// every strategy: all groups have done the same steps.
func TestReadsAreConsistent(t *testing.T) {
	f := newFixture(t)
	for _, strategy := range Strategies() {
		t.Run(strategy.String(), func(t *testing.T) {
			s := f.session(chainKernel(), Options{Strategy: strategy, TickTime: time.Millisecond, Slice: time.Millisecond, Capabilities: claimed})
			if err := s.Start(0); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				c, err := s.Checkpoint(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				got := make([]uint32, chainCells)
				copy(glctx.Bytes(got), c.states[0].data)
				wantWords(t, got, chainAfter(c.Steps))
			}
			if _, err := s.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}
