//go:build linux

package executor

import (
	"slices"
	"testing"
)

// TestBindOperand binds memory in place of operands for the dispatches that use them alone: a job
// may have many large ones, and many dispatches.
func TestBindOperand(t *testing.T) {
	f := newFixture(t, Options{})
	reads := f.program("reads", `
layout(local_size_x = 1) in;
layout(std430, binding = 0) restrict readonly buffer From { uint x; };
layout(std430, binding = 2) restrict writeonly buffer To { uint y; };
void main() { y = x; }`, nil)
	writes := f.program("writes", everyThird, nil)
	memory := f.must(f.NewMemory(64))
	own := Bound{Binding: 0, Buffer: memory, Offset: 16}
	j := Job{Dispatch: Dispatch{Program: reads}, Then: []Dispatch{
		{Program: writes}, {Program: reads, Buffers: []Bound{own}}, {Host: &HostCall{}},
	}}
	for _, binding := range []uint32{0, 1, 2, 100} {
		BindOperand(&j, Bound{Binding: binding, Buffer: memory})
	}
	for i, want := range [][]uint32{{0, 2}, {1}, {0, 2}, {0, 1, 2, 100}} {
		var got []uint32
		for _, b := range j.At(i).Buffers {
			got = append(got, b.Binding)
		}
		if !slices.Equal(got, want) {
			t.Errorf("dispatch %d has buffers at %d, want %d", i, got, want)
		}
	}
	if got := j.Then[1].Buffers[0]; got != own {
		t.Errorf("a dispatch's own buffer is now %v", got)
	}
}
