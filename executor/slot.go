package executor

import (
	"bytes"
	"slices"

	"github.com/shadercache/shadercache/glctx"
)

// slot is two blocks of memory with the same layout, one mapped and one on the
// device. Batches fill it from the front. It is reset when its last batch is
// removed.
type slot struct {
	up, down         glctx.Staging // mapped
	inputs, outputs  glctx.Buffer  // on the device
	upUsed, downUsed int           // bytes; guarded by Executor.mu, as are the fields below
	jobs             int
	batches          []*batch // those that are not removed
}

// newSlot allocates a slot of size bytes each way.
func newSlot(gl *glctx.GL, size int) (*slot, error) {
	s := &slot{}
	if err := s.allocate(gl, size); err != nil {
		s.delete(gl)
		return nil, err
	}
	return s, nil
}

func (s *slot) allocate(gl *glctx.GL, size int) (err error) {
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

// fits reports whether the slot has room for a job.
func (s *slot) fits(l *layout, o *Options) bool {
	return s.jobs < o.SlotJobs && s.upUsed+l.upBytes <= o.SlotBytes && s.downUsed+l.downBytes <= o.SlotBytes
}

// completed reports whether the GPU has finished all batches of the slot.
func (s *slot) completed() bool {
	return !slices.ContainsFunc(s.batches, func(b *batch) bool { return b.state != completedBatch })
}

// maxSpareItems is the length of lists that are reused: that of a slot full of jobs. An item is as long
// as so many bytes of values.
const (
	maxSpareItems = 1 << 15
	wordsOfItem   = 32
)

// recycle removes a completed batch from its slot once no job has data there, and
// makes it spare once no owner of a moved result refers to it. mu is held.
func (e *Executor) recycle(b *batch) {
	if b.state != completedBatch || b.held.Load() != 0 {
		return
	}
	if !b.removed {
		b.removed = true
		e.removeFromSlot(b)
	}
	if b.movedOwners > 0 {
		return
	}
	b.state = spareBatch
	clear(b.jobs)
	clear(b.outputs)
	b.reset()
	clear(b.copies)
	items := cap(b.binds) + cap(b.commands) + cap(b.values) + cap(b.images) + cap(b.textures) + cap(b.copies) + cap(b.words)/wordsOfItem
	if items <= maxSpareItems { // else it would keep the memory of its largest job for good
		e.mu.spare = append(e.mu.spare, b)
	}
}

// removeFromSlot removes a batch from its slot and resets the slot after the last
// one. mu is held.
func (e *Executor) removeFromSlot(b *batch) {
	s := b.slot
	last := len(s.batches) - 1
	s.batches[slices.Index(s.batches, b)] = s.batches[last]
	s.batches[last] = nil
	s.batches = s.batches[:last]
	if last > 0 {
		return
	}
	s.upUsed, s.downUsed, s.jobs = 0, 0, 0
	if s != e.mu.slot {
		e.mu.free = append(e.mu.free, s)
	}
	e.mu.space.wake()
}

// makeRoom empties a slot whose batches are all completed by moving their results.
// Without it, goroutines that hold results while they submit could all wait for
// each other.
func (e *Executor) makeRoom() {
	e.mu.Lock()
	defer e.unlock()
	for _, s := range e.slots {
		if len(s.batches) > 0 && s.completed() {
			for _, b := range slices.Clone(s.batches) {
				e.counts.moved.Add(b.moveResults())
				e.recycle(b)
			}
			return
		}
	}
}

// moveResults copies results that their owners have not claimed out of the slot, for Wait to
// deliver, and returns their number. Executor.mu is held.
func (b *batch) moveResults() (n uint64) {
	for i := range b.jobs {
		job := &b.jobs[i]
		if job.claimed.Swap(true) {
			continue
		}
		for k := range job.outputs {
			out := &b.outputs[job.firstOutput+k]
			out.moved = bytes.Clone(out.of(b.slot.down.Data))
		}
		b.movedOwners++
		b.held.Add(-1)
		n++
	}
	return n
}
