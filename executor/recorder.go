//go:build linux

package executor

import (
	"fmt"

	"github.com/shadercache/shadercache/glctx"
)

// recorder turns stages into GL calls.
//
// A barrier is due before a dispatch that uses memory which was written since
// the last barrier, or writes memory which was used. Barriers are numbered, and
// memory knows the numbers of its last use, so that no sets have to be kept.
type recorder struct {
	e       *Executor
	copier  copier
	barrier uint64 // number of the last barrier; 0 means never in Memory

	// What is current in the context, valid during one stage.
	program uint32
	storage [trackedBindings]binding
}

// binding is what a storage binding point is bound to.
type binding struct {
	buffer   uint32
	at, size int
}

// trackedBindings is how many binding points are known not to need a call. The
// others get one each time.
const trackedBindings = 16

func (r *recorder) prepare(gl *glctx.GL, e *Executor) {
	r.e, r.barrier = e, 1
	if e.copier != nil {
		r.copier.program = e.copier.Program()
		r.copier.count = gl.UniformLocation(r.copier.program, "count")
	}
}

// stage records a stage, without its fence. An error of a job is noted in the
// job; one that cannot be attributed is returned.
func (r *recorder) stage(gl *glctx.GL, s *stage) error {
	_ = gl.Err() // what somebody else left behind
	r.program, r.storage = 0, [trackedBindings]binding{}
	if s.whole != nil {
		r.whole(gl, s.whole)
		return gl.Err()
	}
	r.poison(gl, s.up)
	if b := s.up; b != nil {
		r.copyRange(gl, b.slot.up.Buffer, b.slot.inputs, b.upFrom, b.upTo)
	}
	if b := s.down; b != nil {
		r.copyRange(gl, b.slot.outputs, b.slot.down.Buffer, b.downFrom, b.downTo)
	}
	if s.run != nil {
		r.commands(gl, s.run)
	}
	r.synchronize(gl, glctx.BarrierAllKinds)
	return gl.Err()
}

// whole records a batch with copies by the driver, which order themselves
// against kernels.
func (r *recorder) whole(gl *glctx.GL, b *batch) {
	r.poison(gl, b)
	if b.upBytes() > 0 {
		gl.Copy(b.slot.up.Buffer, b.upFrom, b.slot.inputs, b.upFrom, b.upBytes())
	}
	r.commands(gl, b)
	if b.downBytes() > 0 {
		r.synchronize(gl, glctx.BarrierAllKinds)
		gl.Copy(b.slot.outputs, b.downFrom, b.slot.down.Buffer, b.downFrom, b.downBytes())
	}
}

// poison overwrites the device memory of a slot that starts over, in tests.
func (r *recorder) poison(gl *glctx.GL, b *batch) {
	if b == nil || !r.e.options.trial.poison {
		return
	}
	r.e.mu.Lock()
	fresh := b.slot.fresh
	b.slot.fresh = false
	r.e.mu.Unlock()
	if fresh {
		gl.Fill(b.slot.inputs, poisonWord)
		gl.Fill(b.slot.outputs, poisonWord)
	}
}

const poisonWord = 0x7fc0_dead // a NaN that no kernel makes

// commands records the dispatches of a batch.
func (r *recorder) commands(gl *glctx.GL, b *batch) {
	binds, values := 0, 0
	for i := range b.commands {
		c := &b.commands[i]
		if b.jobs[c.job].err == nil {
			r.command(gl, b, c, b.binds[binds:c.binds], b.values[values:c.values])
		}
		binds, values = c.binds, c.values
	}
}

func (r *recorder) command(gl *glctx.GL, b *batch, c *command, binds []bind, values []value) {
	if c.chained || r.hazard(c, binds) {
		r.synchronize(gl, glctx.BarrierStorage|glctx.BarrierCommand)
	}
	r.use(gl, c.program)
	for i := range binds {
		r.bind(gl, b.slot, &binds[i])
	}
	if len(values) > 0 {
		setValues(gl, values)
		if err := gl.Err(); err != nil {
			b.jobs[c.job].err = fmt.Errorf("executor: set the uniforms of a job, are their types right? %w", err)
			return
		}
	}
	if c.indirect != nil {
		c.indirect.readAt = r.barrier
		gl.DispatchIndirect(c.indirect.buffer, c.offset)
		return
	}
	gl.Dispatch(c.groups[0], c.groups[1], c.groups[2])
}

// hazard reports whether a barrier is due before a command.
func (r *recorder) hazard(c *command, binds []bind) bool {
	if c.indirect != nil && c.indirect.writtenAt == r.barrier {
		return true
	}
	for i := range binds {
		m := binds[i].memory
		if m != nil && (m.writtenAt == r.barrier || m.readAt == r.barrier && !binds[i].readOnly) {
			return true
		}
	}
	return false
}

// synchronize is a memory barrier.
func (r *recorder) synchronize(gl *glctx.GL, kinds uint32) {
	gl.MemoryBarrier(kinds)
	r.barrier++
	r.e.counts.barriers.Add(1)
}

func (r *recorder) use(gl *glctx.GL, program uint32) {
	if r.program != program {
		gl.UseProgram(program)
		r.program = program
	}
}

func (r *recorder) bind(gl *glctx.GL, s *slot, b *bind) {
	switch b.from {
	case slotInputs:
		r.bindStorage(gl, b.binding, s.inputs, b.at, b.size)
	case slotOutputs:
		r.bindStorage(gl, b.binding, s.outputs, b.at, b.size)
	case slotParams:
		gl.BindUniformsRange(b.binding, s.inputs, b.at, b.size)
	case deviceMemory:
		r.bindStorage(gl, b.binding, b.memory.buffer, b.at, b.size)
		if b.readOnly {
			b.memory.readAt = r.barrier
		} else {
			b.memory.writtenAt = r.barrier
		}
	}
}

func (r *recorder) bindStorage(gl *glctx.GL, point uint32, buffer glctx.Buffer, at, size int) {
	now := binding{buffer.ID, at, size}
	if point < trackedBindings {
		if r.storage[point] == now {
			return
		}
		r.storage[point] = now
	}
	gl.BindStorageRange(point, buffer, at, size)
}

// setValues sets uniforms of the current program.
func setValues(gl *glctx.GL, values []value) {
	for _, v := range values {
		v.kind.set(gl, v.location, v.bits)
	}
}
