package executor

import (
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// placeCounters gives the atomic counters of a job their places. The size of a buffer in
// a slot is the largest that a program of the job needs.
func (e *Executor) placeCounters(j *Job, l *layout) error {
	for i := range j.Counters {
		c := &j.Counters[i]
		if c.Buffer != nil {
			if c.Start != nil || c.To != nil {
				return fmt.Errorf("executor: counters at binding %d: has Memory beside Start or To", c.Binding)
			}
			if err := e.checkRange(&Bound{Buffer: c.Buffer, Offset: c.Offset}, 4); err != nil {
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
		if size == 0 {
			return fmt.Errorf("executor: counters at binding %d: no program of the job has a counter there", c.Binding)
		}
		l.counters = append(l.counters, counter{up: l.addUp(size, e.align), down: l.addDown(size, e.align)})
	}
	return nil
}

// counterBytes returns the size of the atomic counter buffer at a binding, 0 for none.
func counterBytes(resources []shader.Resource, binding uint32) int {
	for i := range resources {
		if r := &resources[i]; r.Kind == shader.AtomicCounter && r.Binding == int32(binding) {
			return int(r.Bytes)
		}
	}
	return 0
}

// bindCounters binds an atomic counter buffer.
func (e *Executor) bindCounters(j *Job, r *shader.Resource, l *layout) error {
	found := -1
	for i := range j.Counters {
		if j.Counters[i].Binding != uint32(r.Binding) {
			continue
		}
		if found >= 0 {
			return fmt.Errorf("the atomic counters at binding %d are bound twice", r.Binding)
		}
		found = i
	}
	if found < 0 {
		return fmt.Errorf("the atomic counters at binding %d are not bound: Job.Counters needs a Counter there", r.Binding)
	}
	c, b := &j.Counters[found], bind{from: slotCounters, binding: uint32(r.Binding), span: l.counters[found].down}
	if c.Buffer != nil {
		b.from, b.memory, b.span = deviceCounters, memoryOf(c.Buffer), span{c.Offset, c.Buffer.Size() - c.Offset}
	}
	if b.size < int(r.Bytes) {
		return fmt.Errorf("the atomic counters at binding %d need %d bytes and are bound to %d", r.Binding, r.Bytes, b.size)
	}
	b.size = min(b.size, int(max(e.info.MaxCounters, int64(r.Bytes))))
	l.binds = append(l.binds, b)
	return nil
}

// checkGroupSize checks the size of work groups, which only programs with
// local_size_variable leave to the dispatch.
func (e *Executor) checkGroupSize(d *Dispatch, h *cache.Handle) error {
	isVariable := h.WorkGroup()[0] == 0
	if !isVariable {
		if d.GroupSize != [3]uint32{} {
			return errors.New("has a GroupSize and the program declares its own: local_size_variable leaves it to the dispatch")
		}
		return nil
	}
	if d.Indirect != nil {
		return errors.New("a program with local_size_variable cannot be dispatched indirectly")
	}
	invocations := int64(1)
	for axis, n := range d.GroupSize {
		if limit := e.info.MaxVariableSize[axis]; n == 0 || int64(n) > int64(limit) {
			return fmt.Errorf("a GroupSize of %d along %c: the program has local_size_variable, this device allows 1 to %d", n, 'x'+rune(axis), limit)
		}
		invocations *= int64(n)
	}
	if limit := e.info.MaxVariableInvocations; invocations > int64(limit) {
		return fmt.Errorf("a GroupSize of %d invocations, this device allows %d", invocations, limit)
	}
	return nil
}

// barriersOf returns the kinds of barrier that a command adds to those for storage.
func (l *layout) barriersOf(j *Job, c *command) (kinds uint32) {
	if len(l.images)+len(l.textures)+len(j.TextureInputs)+len(j.TextureOutputs) > 0 {
		kinds = glctx.BarrierImage | glctx.BarrierTexture | glctx.BarrierTextureUpdate
	}
	for i := range l.binds[:c.binds] {
		if l.binds[i].zero {
			kinds |= glctx.BarrierUpdate
		}
		switch l.binds[i].from {
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
