package executor

import (
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/glctx"
)

// recorder turns stages into GL calls.
//
// A barrier is needed before a dispatch that uses memory which was written since
// the last barrier, or writes memory which was used. Barriers are numbered, and
// Memory holds the numbers of its last read and write, so that no sets are needed.
type recorder struct {
	e       *Executor
	copier  copier
	barrier uint64 // number of the last barrier; in Memory, 0 means never

	// State of the context, valid during one stage.
	program uint32
	values  []value // uniforms of the program that are set
	storage [trackedBindings]binding
}

// binding is the buffer range at a storage binding point.
type binding struct {
	buffer uint32
	span
}

// trackedBindings is the number of binding points that are set only when they
// change. The others are set by each command.
const trackedBindings = 16

func (r *recorder) prepare(e *Executor) { r.e, r.barrier = e, 1 }

// stage records a stage, without its fence. It stores the error of a job in the job
// and returns errors that belong to no job.
func (r *recorder) stage(gl *glctx.GL, s *stage) error {
	_ = gl.Err() // errors of earlier callbacks
	r.program, r.values, r.storage = 0, nil, [trackedBindings]binding{}
	if s.whole != nil {
		r.wholeBatch(gl, s.whole)
		return gl.Err()
	}
	r.poison(gl, s.up)
	if b := s.up; b != nil {
		r.copyRange(gl, b.slot.up.Buffer, b.slot.inputs, b.upFrom, b.upBytes())
	}
	if b := s.down; b != nil {
		r.copyRange(gl, b.slot.outputs, b.slot.down.Buffer, b.downFrom, b.downBytes())
	}
	if s.run != nil {
		r.commands(gl, s.run)
	}
	r.synchronize(gl, glctx.BarrierAllKinds)
	return gl.Err()
}

// wholeBatch records a batch with copies by the driver, which are ordered with
// respect to kernels.
func (r *recorder) wholeBatch(gl *glctx.GL, b *batch) {
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

// poison overwrites the device memory of a slot that was reset, in tests.
func (r *recorder) poison(gl *glctx.GL, b *batch) {
	if b == nil || !r.e.options.test.poison {
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

const poisonWord = 0x7fc0_dead // a NaN that no test kernel computes

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
	r.useProgram(gl, c.program)
	for i := range binds {
		r.bind(gl, b.slot, &binds[i])
	}
	if !slices.Equal(values, r.values) {
		r.values = nil
		setValues(gl, values)
		if err := gl.Err(); err != nil {
			b.jobs[c.job].err = fmt.Errorf("executor: set the uniforms of a job, are their types right? %w", err)
			return
		}
		r.values = values
	}
	if c.indirect != nil {
		c.indirect.readAt = r.barrier
		gl.DispatchIndirect(c.indirect.buffer, c.offset)
		return
	}
	gl.Dispatch(c.groups[0], c.groups[1], c.groups[2])
}

// hazard reports whether a barrier is needed before a command.
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

// synchronize inserts a memory barrier.
func (r *recorder) synchronize(gl *glctx.GL, kinds uint32) {
	gl.MemoryBarrier(kinds)
	r.barrier++
	r.e.counts.barriers.Add(1)
}

func (r *recorder) useProgram(gl *glctx.GL, program uint32) {
	if r.program != program {
		gl.UseProgram(program)
		r.program, r.values = program, nil
	}
}

func (r *recorder) bind(gl *glctx.GL, s *slot, b *bind) {
	switch b.from {
	case slotInputs:
		r.bindStorage(gl, b.binding, s.inputs, b.span)
	case slotOutputs:
		r.bindStorage(gl, b.binding, s.outputs, b.span)
	case slotParams:
		gl.BindUniformsRange(b.binding, s.inputs, b.offset, b.size)
	case deviceMemory:
		r.bindStorage(gl, b.binding, b.memory.buffer, b.span)
		if b.readOnly {
			b.memory.readAt = r.barrier
		} else {
			b.memory.writtenAt = r.barrier
		}
	}
}

func (r *recorder) bindStorage(gl *glctx.GL, point uint32, buffer glctx.Buffer, part span) {
	bound := binding{buffer.ID, part}
	if point < trackedBindings {
		if r.storage[point] == bound {
			return
		}
		r.storage[point] = bound
	}
	gl.BindStorageRange(point, buffer, part.offset, part.size)
}

// setValues sets uniforms of the current program.
func setValues(gl *glctx.GL, values []value) {
	for _, v := range values {
		v.kind.set(gl, v.location, v.bits)
	}
}
