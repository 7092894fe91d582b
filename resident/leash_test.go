//go:build linux

package resident

import (
	"testing"
	"time"
)

// unevenText has group 0 do fewer steps in a tick than group 1: a driver that ends
// loops counts more back-edges for each of its steps.
const unevenText = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Sums { uint sums[]; };
uint residentStep(uvec2 step) {
    uint sum = 0u;
    for (uint i = 0u; i < 20u - 19u * gl_WorkGroupID.x; ++i) {
        sum += step.x ^ i;
    }
    sums[gl_WorkGroupID.x] += sum;
    return RESIDENT_GO;
}
`

// TestGroupsOfASliceStayTogether has one group be slower than the other, slice by
// slice, and compares how far they get apart: what is to be caught up with when
// somebody looks does not grow with the time that has gone.
func TestGroupsOfASliceStayTogether(t *testing.T) {
	f := newFixture(t)
	if !f.context.Info().Software() {
		t.Skip("this driver ends no loops, so no group is the slower one for sure")
	}
	k := Kernel{Source: MustSource("uneven", unevenText, nil), Groups: 2, State: []State{{Block: "Sums", Bytes: 8}}}
	s := f.session(k, Options{Strategy: Persistent, Slice: time.Millisecond, Capabilities: claimed})
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for s.Stats().Ticks < 40 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	r := s.readReport()
	if apart := r.most - r.least; r.ticks < 40 || apart > softwareLoops/2 {
		t.Errorf("groups are %d steps apart after %d ticks", apart, r.ticks)
	}
	if _, err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	var want [2]uint32
	for step := range uint32(s.Progress()) {
		for i := range uint32(20) {
			want[0] += step ^ i
		}
		want[1] += step
	}
	wantWords(t, words(t, s, "Sums", 2), want[:])
}
