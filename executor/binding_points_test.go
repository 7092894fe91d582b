//go:build linux

package executor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cache"
)

// addingProgram returns a program that adds 1 to the first word of the block at the first
// binding point, 2 to that at the second, and so on.
func addingProgram(f *fixture, points []uint32) *cache.Handle {
	var blocks, adds strings.Builder
	for i, at := range points {
		fmt.Fprintf(&blocks, "layout(std430, binding = %d) buffer B%d { uint b%[2]d[]; };\n", at, i)
		fmt.Fprintf(&adds, "b%d[0] += %du;\n", i, i+1)
	}
	return f.program(fmt.Sprintf("adding %v", points), "layout(local_size_x = 1) in;\n"+blocks.String()+"void main() {\n"+adds.String()+"}", nil)
}

// TestBindingPoints runs jobs of many dispatches, whose blocks are ranges of two memories.
// Some or all of them change from dispatch to dispatch, at neighbouring binding points and at
// others. Every word is compared.
func TestBindingPoints(t *testing.T) {
	f := newFixture(t, Options{})
	info, random := f.context.Info(), rand.New(rand.NewPCG(4, 7))
	const places = 24 // in each of the two memories
	words := max(4, info.StorageAlignment/4)
	var memories [2]*Buffer[uint32]
	var want [2][]uint32
	for i := range memories {
		want[i] = make([]uint32, places*words)
		for k := range want[i] {
			want[i][k] = random.Uint32()
		}
		memories[i] = f.buffer(want[i])
	}
	for _, points := range [][]uint32{{0, 1, 2, 3, 4, 5, 6, 7}, {1, 2, 3, 4, 6, 7, 9, 15}, {0, 12, 13, 14, 15, trackedBindings}} {
		if int(slices.Max(points)) >= info.MaxBindings {
			continue
		}
		program := addingProgram(f, points)
		place := random.Perm(2 * places)
		var dispatches []Dispatch
		for range 80 {
			from := random.IntN(len(points))
			for i := from; i < from+1+random.IntN(len(points)-from); i++ {
				other := len(points) + random.IntN(len(place)-len(points))
				place[i], place[other] = place[other], place[i]
			}
			d := Dispatch{Program: program, Groups: [3]uint32{1, 1, 1}}
			for i, at := range points {
				m, first := place[i]/places, place[i]%places*words
				d.Buffers = append(d.Buffers, Bound{Binding: at, Buffer: memories[m].Memory, Offset: 4 * first, Size: 4 * words})
				want[m][first] += uint32(i + 1)
			}
			dispatches = append(dispatches, d)
		}
		f.wait(f.submit(Job{Dispatch: dispatches[0], Then: dispatches[1:]}))
	}
	for i, m := range memories {
		got := make([]uint32, m.Len())
		if err := m.Download(t.Context(), 0, got); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want[i]) {
			t.Errorf("memory %d has other words than what its blocks were given", i)
		}
	}
}

// BenchmarkBindings measures jobs of 64 dispatches of one work group, many in flight.
// Each dispatch has other buffers than the one before.
func BenchmarkBindings(b *testing.B) {
	for _, n := range []int{2, 3, 4, 5, 6, 8} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := newFixture(b, Options{})
			points := []uint32{0, 1, 2, 3, 4, 5, 6, 7}[:n]
			program := addingProgram(f, points)
			var sets [2]Dispatch
			for i := range sets {
				sets[i] = Dispatch{Program: program, Groups: [3]uint32{1, 1, 1}}
				for _, at := range points {
					sets[i].Buffers = append(sets[i].Buffers, f.buffer(make([]uint32, 64)).BindReadOnly(at))
				}
			}
			job := Job{Dispatch: sets[0]}
			for i := range 63 {
				job.Then = append(job.Then, sets[(i+1)%2])
			}
			var window [16]Pending
			for i := 0; b.Loop(); i++ {
				p := &window[i%len(window)]
				if p.batch != nil {
					f.wait(p)
				}
				if err := f.SubmitInto(b.Context(), &job, p); err != nil {
					b.Fatal(err)
				}
			}
			for i := range window {
				window[i].Release()
			}
		})
	}
}
