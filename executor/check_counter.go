package executor

import (
	"fmt"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// maxCounters is more than any driver has: each is looked for in each program.
const maxCounters = 64

// placeCounters gives the atomic counters of a job their places. The size of a buffer in
// a slot is the largest that a program of the job needs.
func (e *Executor) placeCounters(j *job.Job, l *layout) error {
	if n := len(j.Counters); n > maxCounters {
		return fmt.Errorf("executor: %w: %d atomic counter buffers, at most %d can be", job.ErrInvalid, n, maxCounters)
	}
	for i := range j.Counters {
		c := &j.Counters[i]
		if c.Buffer != nil {
			if err := e.checkMemory(memoryOf(c.Buffer), l); err != nil {
				return fmt.Errorf("executor: counters at binding %d: %w", c.Binding, err)
			}
			l.counters = append(l.counters, counter{})
			continue
		}
		size := 4 * max(len(c.Start), len(c.To))
		for k := range j.Count() {
			if h := handleOf(j.At(k)); h != nil {
				size = max(size, counterBytes(h.Interface().Resources, c.Binding))
			}
		}
		l.counters = append(l.counters, counter{up: l.addUp(size, e.align), down: l.addDown(size, e.align)})
	}
	return nil
}

// counterBytes returns the size of the atomic counter buffer at a binding, 0 for none.
func counterBytes(resources []shader.Resource, binding uint32) int {
	for i := range resources {
		switch r := &resources[i]; {
		case r.Kind > shader.AtomicCounter: // they are sorted
			return 0
		case r.Kind == shader.AtomicCounter && r.Binding == int32(binding):
			return int(r.Bytes)
		}
	}
	return 0
}

// barriers returns the kinds of barrier that the dispatch that is checked adds to those for storage. The
// recorder has those of the dispatches before.
func (l *layout) barriers(j *job.Job) (kinds uint32) {
	if len(l.images)+len(l.textures)+len(j.TextureInputs)+len(j.TextureOutputs) > 0 {
		kinds = glctx.BarrierImage | glctx.BarrierTexture | glctx.BarrierTextureUpdate
	}
	for _, bound := range l.binds[len(l.earlierBinds()):] {
		if bound.zero {
			kinds |= glctx.BarrierUpdate
		}
		switch bound.from {
		case slotCounters:
			kinds |= glctx.BarrierCounters | glctx.BarrierUpdate
		case deviceCounters:
			kinds |= glctx.BarrierCounters
		case deviceBlock:
			kinds |= glctx.BarrierUniform
		}
	}
	return kinds
}

// copiesBefore returns the number of copies before the job's first dispatch.
func (l *layout) copiesBefore() int {
	n := len(l.textureInputs)
	for _, c := range l.counters {
		if c.up.size > 0 {
			n++
		}
	}
	return n
}
