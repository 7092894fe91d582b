//go:build linux

package conv2d

import (
	"cmp"
	"slices"
)

// What the estimate of a convolution takes a GPU to be: an NVIDIA H200. The latency of a
// step and the shares of instructions were fitted to matrix products measured there.
const (
	gpuProcessors     = 132
	gpuLanes          = 128.0  // multiply-adds in a cycle, each processor
	gpuSharedBytes    = 200e3  // each processor
	gpuRegisters      = 65536  // each processor
	gpuTraffic        = 3000.0 // bytes from the second-level cache in a cycle, all processors
	gpuMemory         = 2500.0 // bytes from and to memory in a cycle
	gpuDispatchCycles = 6000.0
	gpuGroupCycles    = 1500.0 // before the first step and after the last
	gpuTailCycles     = 600.0  // to read a part of a sum back
	gpuStepCycles     = 700.0  // the least that a step takes: its loads have to arrive
)

// stepsOfGroups is the work of a dispatch whose groups sum up in steps.
type stepsOfGroups struct {
	groups    int
	steps     int // of a group
	resident  int // groups that fit onto one processor at a time
	stepBytes int // that a step reads
}

// cycles estimates how long the dispatch takes, with those of one step where a number of
// groups are on a processor, and more that all of them take.
func (s stepsOfGroups) cycles(step func(resident int) float64, more float64) float64 {
	rounds := ceilDiv(s.groups, gpuProcessors)
	resident := min(rounds, s.resident)
	sum := float64(rounds/resident) * (gpuGroupCycles + float64(s.steps)*step(resident))
	if rest := rounds % resident; rest > 0 {
		sum += gpuGroupCycles + float64(s.steps)*step(rest)
	}
	sum += more
	traffic := float64(s.groups) * float64(s.steps) * float64(s.stepBytes) / gpuTraffic
	return max(sum+traffic/4, traffic) // most of it overlaps
}

// timed is the form of the shortest estimated time among some.
type timed[T any] struct {
	form   T
	cycles float64 // 0: there is none
}

// improve replaces the form by a faster one.
func (best *timed[T]) improve(form T, cycles float64) {
	if best.cycles == 0 || cycles < best.cycles {
		*best = timed[T]{form, cycles}
	}
}

// bestOf returns the best form of each height and width, the fastest first.
func bestOf[T any](heights, widths []int, best func(height, width int) timed[T]) []T {
	var all []timed[T]
	for _, height := range heights {
		for _, width := range widths {
			all = append(all, best(height, width))
		}
	}
	return fastest(all)
}

// fastest returns the forms that there are, the fastest first.
func fastest[T any](list []timed[T]) []T {
	slices.SortStableFunc(list, func(a, b timed[T]) int { return cmp.Compare(a.cycles, b.cycles) })
	var forms []T
	for _, t := range list {
		if t.cycles > 0 {
			forms = append(forms, t.form)
		}
	}
	return forms
}
