//go:build linux

package executor

import (
	"bytes"
	"slices"

	"github.com/shadercache/shadercache/glctx"
)

// slot is a piece of memory, the same twice: mapped and on the device. Batches
// take it from the front. It starts over when no batch is in it any more.
type slot struct {
	up, down         glctx.Staging // mapped
	inputs, outputs  glctx.Buffer  // on the device, the same layout
	upUsed, downUsed int           // bytes; guarded by Executor.mu, as is all below
	jobs             int
	batches          []*batch // those that have not left it
	fresh            bool     // nothing was in it since it started over
}

// newSlot makes the memory of a slot of size bytes each way.
func newSlot(gl *glctx.GL, size int) (*slot, error) {
	s := &slot{fresh: true}
	if err := s.make(gl, size); err != nil {
		s.delete(gl)
		return nil, err
	}
	return s, nil
}

func (s *slot) make(gl *glctx.GL, size int) (err error) {
	if s.up, err = gl.NewStaging(size, glctx.Upload); err != nil {
		return err
	}
	if s.down, err = gl.NewStaging(size, glctx.Download); err != nil {
		return err
	}
	if s.inputs, err = gl.NewBuffer(size, nil); err != nil {
		return err
	}
	s.outputs, err = gl.NewBuffer(size, nil)
	return err
}

func (s *slot) delete(gl *glctx.GL) {
	gl.DeleteStaging(s.up)
	gl.DeleteStaging(s.down)
	gl.DeleteBuffer(s.inputs)
	gl.DeleteBuffer(s.outputs)
}

// fits reports whether there is room for a job.
func (s *slot) fits(n need, o *Options) bool {
	return s.jobs < o.SlotJobs && s.upUsed+n.up <= o.SlotBytes && s.downUsed+n.down <= o.SlotBytes
}

// startOver makes an empty slot new.
func (s *slot) startOver() {
	s.upUsed, s.downUsed, s.jobs, s.fresh = 0, 0, 0, true
}

// recycle takes a batch out of its slot, and makes it spare, once nobody needs
// it there. mu is held.
func (e *Executor) recycle(b *batch) {
	if b.state != reachedBatch || b.held.Load() != 0 {
		return
	}
	if !b.left {
		b.left = true
		e.leave(b.slot, b)
	}
	if b.moved > 0 {
		return
	}
	b.state = spareBatch
	clear(b.jobs)
	clear(b.outputs)
	clear(b.commands)
	clear(b.binds)
	e.mu.spare = append(e.mu.spare, b)
}

// leave takes a batch out of a slot, which starts over when it was the last. mu
// is held.
func (e *Executor) leave(s *slot, b *batch) {
	last := len(s.batches) - 1
	s.batches[slices.Index(s.batches, b)] = s.batches[last]
	s.batches[last] = nil
	s.batches = s.batches[:last]
	if last > 0 {
		return
	}
	s.startOver()
	if s != e.mu.slot {
		e.mu.free = append(e.mu.free, s)
	}
	e.mu.space.wake()
}

// makeRoom empties a slot whose results are all there and not fetched: without
// that, goroutines which hold results while they submit could all wait for each
// other.
func (e *Executor) makeRoom() {
	e.mu.Lock()
	defer e.unlock()
	for _, s := range e.slots {
		if len(s.batches) > 0 && s.reached() {
			for _, b := range slices.Clone(s.batches) {
				e.counts.moved.Add(b.moveResults())
				e.recycle(b)
			}
			return
		}
	}
}

// reached reports whether the GPU has finished with all batches of the slot.
func (s *slot) reached() bool {
	for _, b := range s.batches {
		if b.state != reachedBatch {
			return false
		}
	}
	return true
}

// moveResults takes what owners have not claimed out of the slot, and returns
// how many jobs that were. Executor.mu is held.
func (b *batch) moveResults() (n uint64) {
	for i := range b.jobs {
		job := &b.jobs[i]
		if job.claimed.Swap(true) {
			continue
		}
		for k := range job.outputs {
			out := &b.outputs[job.firstOutput+k]
			if out.read != nil {
				out.moved = bytes.Clone(b.slot.down.Data[out.at : out.at+out.size])
			} else {
				out.deliver(b.slot.down.Data)
			}
		}
		b.moved++
		b.held.Add(-1)
		n++
	}
	return n
}
