package executor

import (
	"bytes"
	"errors"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job/texel"
)

// recorder turns stages into GL calls.
//
// A barrier is needed before a dispatch that uses memory which was written since
// the last barrier, or writes memory which was used. Barriers are numbered, and
// each object holds those of its last read and write, so that no sets are needed.
type recorder struct {
	e       *Executor
	copier  copier
	barrier uint64 // number of the last barrier; in an object, 0 means never

	// kinds of barrier between dispatches. Jobs with textures, counters or device memory
	// in uniform blocks add theirs, for good: a barrier of fewer kinds would count as one
	// for all.
	kinds    uint32
	samplers map[texel.Sampler]glctx.Sampler

	wroteMapped bool // a kernel of the stage writes memory that the host reads

	// State of the context, valid until another callback runs.
	callback uint64 // see glctx.GL.OthersRan
	program  uint32
	storage  [trackedBindings]binding

	// The same, valid during one stage.
	inputs  glctx.Buffer // of the batch whose commands are recorded, as is outputs
	outputs glctx.Buffer
	values  []value // uniforms of the program that are set, with their words
	words   []byte
	sampled uint64 // texture units with a sampler, one bit for each; the last for all others
}

// binding is the buffer range at a storage binding point.
type binding struct {
	buffer uint32
	span
}

// trackedBindings is the number of binding points that are set only when they
// change. The others are set by each command.
const trackedBindings = 16

func (r *recorder) prepare(e *Executor) {
	r.e, r.barrier, r.kinds = e, 1, glctx.BarrierStorage|glctx.BarrierCommand
	r.samplers = map[texel.Sampler]glctx.Sampler{}
}

// begin begins a callback of the pump.
func (r *recorder) begin(gl *glctx.GL) {
	if gl.OthersRan(&r.callback) {
		r.forget()
	}
}

// forget has the state of the context set again.
func (r *recorder) forget() { r.program, r.storage = 0, [trackedBindings]binding{} }

// stage records a stage, without its fence. It stores the error of a job in the job
// and returns errors that belong to no job.
func (r *recorder) stage(gl *glctx.GL, s *stage) error {
	_ = gl.Err() // of earlier calls
	r.values = nil
	if s.whole != nil {
		r.wholeBatch(gl, s)
		return gl.Err()
	}
	r.poison(gl, s.up)
	if s.run != nil {
		r.zeroOutputs(gl, s.run, s.run.slot.outputs) // here, since no copy of the driver runs beside the kernels below
	}
	if b := s.up; b != nil {
		r.copyRange(gl, b.slot.up.Buffer, b.slot.inputs, b.upFrom, b.upBytes())
	}
	if b := s.down; b != nil {
		r.copyRange(gl, b.slot.outputs, b.slot.down.Buffer, b.downFrom, b.downBytes())
	}
	if s.run != nil {
		r.commands(gl, s.run, s.run.slot.inputs, s.run.slot.outputs)
	}
	r.synchronize(gl, glctx.BarrierAllKinds)
	r.wroteMapped = false
	return gl.Err()
}

// wholeBatch records a batch with copies by the driver, which are ordered with
// respect to kernels.
func (r *recorder) wholeBatch(gl *glctx.GL, s *stage) {
	b := s.whole
	r.poison(gl, b)
	mapped := s.form == inPlace
	if b.upBytes() > 0 && !mapped {
		gl.Copy(b.slot.up.Buffer, b.upFrom, b.slot.inputs, b.upFrom, b.upBytes())
	}
	r.e.markTrace(gl, s, uploadEnd)
	if mapped {
		r.zeroOutputs(gl, b, b.slot.down.Buffer)
		r.commands(gl, b, b.slot.up.Buffer, b.slot.down.Buffer)
	} else {
		r.zeroOutputs(gl, b, b.slot.outputs)
		r.commands(gl, b, b.slot.inputs, b.slot.outputs)
	}
	r.e.markTrace(gl, s, kernelEnd)
	if b.downBytes() > 0 || r.wroteMapped {
		r.synchronize(gl, glctx.BarrierAllKinds)
		r.wroteMapped = false
	}
	if b.downBytes() > 0 && !mapped {
		gl.Copy(b.slot.outputs, b.downFrom, b.slot.down.Buffer, b.downFrom, b.downBytes())
	}
}

// zeroOutputs sets the outputs of a batch to zero, where one of its jobs asks for it: the slot
// has those of earlier jobs, whose kernels and copies were complete before it was reused.
func (r *recorder) zeroOutputs(gl *glctx.GL, b *batch, outputs glctx.Buffer) {
	if b.zeroes && b.downBytes() > 0 {
		gl.Clear(outputs, b.downFrom, b.downBytes())
	}
}

// poison overwrites the device memory of a slot before the first batch in it, in tests.
func (r *recorder) poison(gl *glctx.GL, b *batch) {
	if r.e.options.test.poison && b != nil && b.upFrom+b.downFrom == 0 {
		gl.Fill(b.slot.inputs, poisonWord)
		gl.Fill(b.slot.outputs, poisonWord)
		gl.Fill(b.slot.down.Buffer, poisonWord)
	}
}

const poisonWord = 0x7fc0_dead // a NaN that no test kernel computes

// commands records the dispatches of a batch, whose operands are in these buffers.
func (r *recorder) commands(gl *glctx.GL, b *batch, inputs, outputs glctx.Buffer) {
	r.inputs, r.outputs = inputs, outputs
	last, before := new(command), r.errorOfJob(gl)
	for i := range b.commands {
		c := &b.commands[i]
		if err := &b.jobs[c.job].err; *err == nil {
			*err = errors.Join(before, r.command(gl, b, c, last), r.errorOfJob(gl))
		}
		last = c
		if i+1 == len(b.commands) || b.commands[i+1].job != c.job {
			r.endJob(gl, b)
		}
	}
	r.unbindSamplers(gl)
}

// endJob is called behind the commands of a job: a software driver has run them.
func (r *recorder) endJob(gl *glctx.GL, b *batch) {
	r.e.ran()
	if b.marked {
		b.marks = append(b.marks, gl.NewFence())
	}
}

// errorOfJob returns what the driver refused since the last call, with Options.ErrorOfJob.
func (r *recorder) errorOfJob(gl *glctx.GL) (err error) {
	if r.e.options.ErrorOfJob {
		err = gl.Err()
	}
	if err != nil {
		r.forget() // what it refused to bind is not bound
	}
	return err
}

// command records a command. last is the one before it.
func (r *recorder) command(gl *glctx.GL, b *batch, c, last *command) error {
	if err := r.copyTexels(gl, b.slot, b.copies[last.after:c.before]); err != nil {
		return err
	}
	binds := b.binds[last.binds:c.binds]
	if c.host != nil {
		if err := r.onHost(gl, b.slot, c.host, binds); err != nil {
			return err
		}
		return r.copyTexels(gl, b.slot, b.copies[c.before:c.after])
	}
	images, textures := b.images[last.images:c.images], b.textures[last.textures:c.textures]
	added := r.addKinds(c.barriers)
	if added || c.chained || r.hazard(c, binds) || r.textureHazard(images, textures) {
		r.synchronize(gl, r.kinds)
	}
	r.useProgram(gl, c.program)
	for i := range binds {
		r.bind(gl, &binds[i])
	}
	r.bindImages(gl, images)
	if err := r.bindTextures(gl, textures); err != nil {
		return err
	}
	r.setValues(gl, b.values[last.values:c.values], b.words)
	r.dispatch(gl, c)
	return r.copyTexels(gl, b.slot, b.copies[c.before:c.after])
}

func (r *recorder) dispatch(gl *glctx.GL, c *command) {
	gl.SetOperations(c.operations)
	switch {
	case c.indirect != nil:
		c.indirect.readAt = r.barrier
		gl.DispatchIndirect(c.indirect.buffer, c.offset)
	case c.groups == [3]uint32{} && c.size[0] == 0:
		gl.DispatchNone() // a plain one, which is faster, does not make the driver ready
	case c.size[0] != 0:
		gl.DispatchSized(c.groups[0], c.groups[1], c.groups[2], c.size)
	default:
		gl.Dispatch(c.groups[0], c.groups[1], c.groups[2])
	}
}

// hazard reports whether a barrier is needed before a command uses its memory.
func (r *recorder) hazard(c *command, binds []bind) bool {
	if c.indirect != nil && c.indirect.writtenAt == r.barrier {
		return true
	}
	for i := range binds {
		if m := binds[i].memory; m != nil && r.isHazard(&m.object, binds[i].readOnly) {
			return true
		}
	}
	return false
}

// isHazard reports whether a barrier is needed before a use of an object.
func (r *recorder) isHazard(o *object, readOnly bool) bool {
	return o.writtenAt == r.barrier || o.readAt == r.barrier && !readOnly
}

// uses records a use of an object by a kernel.
func (r *recorder) uses(o *object, readOnly bool) {
	if readOnly {
		o.readAt = r.barrier
	} else {
		o.writtenAt = r.barrier
	}
}

// addKinds adds to the kinds of barriers and reports whether there are more than before.
func (r *recorder) addKinds(kinds uint32) bool {
	more := r.kinds|kinds != r.kinds
	r.kinds |= kinds
	return more
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

func (r *recorder) bind(gl *glctx.GL, b *bind) {
	switch b.from {
	case slotInputs:
		r.bindStorage(gl, b.binding, r.inputs, b.span)
	case slotOutputs:
		r.bindStorage(gl, b.binding, r.outputs, b.span)
	case slotParams:
		gl.BindUniformsRange(b.binding, r.inputs, b.offset, b.size)
	case slotCounters:
		gl.BindCounters(b.binding, r.outputs, b.offset, b.size)
	case deviceMemory:
		if b.zero {
			gl.Clear(b.memory.buffer, b.offset, b.size)
		}
		r.bindStorage(gl, b.binding, b.memory.buffer, b.span)
		r.wroteMapped = r.wroteMapped || b.memory.isMapped() && !b.readOnly
		r.uses(&b.memory.object, b.readOnly)
	case deviceBlock:
		gl.BindUniformsRange(b.binding, b.memory.buffer, b.offset, b.size)
		r.uses(&b.memory.object, b.readOnly)
	case deviceCounters:
		gl.BindCounters(b.binding, b.memory.buffer, b.offset, b.size)
		r.uses(&b.memory.object, b.readOnly)
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

// setValues sets the uniforms of the current program that have other values than before.
// They stay those of the program while no other one is used.
func (r *recorder) setValues(gl *glctx.GL, values []value, words []byte) {
	if len(values) == len(r.values) && r.areSet(values, words) {
		return
	}
	for i := range values {
		gl.SetUniform(values[i].location, values[i].kind, values[i].of(words))
	}
	r.values, r.words = values, words
}

// areSet reports whether the program has these values. A job has all of its program's, in
// one order.
func (r *recorder) areSet(values []value, words []byte) bool {
	for i := range values {
		if !bytes.Equal(values[i].of(words), r.values[i].of(r.words)) {
			return false
		}
	}
	return true
}
