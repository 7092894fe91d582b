//go:build linux

package executor

import (
	"sync/atomic"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/shader"
)

// batch is jobs that go to the GPU together and complete together. It has a
// piece of one slot, and everything that the GL thread needs to know, flat.
//
//	open     takes jobs                                  one batch at most
//	sealed   takes no more; starts when all inputs are written
//	reached  the GPU has finished, or the context is gone
//	spare    all its jobs were waited for or released; to be used again
//
// A reached batch leaves its slot when no job has data there any more: its jobs
// were waited for or released, or their results were moved.
//
// Being settled is another matter: then waiters know the outcome. A batch is
// settled when it is reached, or before that by a timeout.
type batch struct {
	e        *Executor
	slot     *slot
	sequence uint64 // counts batches
	state    batchState
	large    bool // worth the stages
	left     bool // the slot
	moved    int  // jobs whose results were moved, and whose owners have not come

	upFrom, upTo, downFrom, downTo int // bytes of the slot

	jobs     []outcome
	outputs  []delivery
	commands []command
	binds    []bind
	values   []value
	programs []program
	memory   []*Memory

	writing atomic.Int32 // jobs whose inputs are not written yet
	sealed  atomic.Bool  // as state says, for those who have no lock
	held    atomic.Int32 // jobs with data in the slot: not waited for, released or moved
	settled atomic.Bool  // err and jobs are final
	err     error
	waiters waiterList // guarded by Executor.mu
}

type batchState uint8

const (
	spareBatch batchState = iota
	openBatch
	sealedBatch
	reachedBatch
)

// outcome is how one job ended, and which deliveries are its own.
type outcome struct {
	claimed              atomic.Bool // by its owner, or by makeRoom: whoever sets it takes care of the data
	err                  error
	firstOutput, outputs int
}

// delivery is one output on its way to the caller.
type delivery struct {
	to       []byte
	read     func([]byte)
	at, size int    // in the slot's mapped memory
	moved    []byte // what read gets, if it was moved
}

// command is one dispatch.
type command struct {
	program  uint32
	groups   [3]uint32
	indirect *Memory // nil: groups
	offset   int
	chained  bool // needs what the command before has written
	job      int
	binds    int // those of the batch up to here belong to this command
	values   int
}

// bind is one buffer at one binding.
type bind struct {
	from     source
	readOnly bool
	binding  uint32
	memory   *Memory
	at, size int
}

type source uint8

const (
	slotInputs source = iota
	slotOutputs
	slotParams
	deviceMemory
)

// value is one uniform.
type value struct {
	location int32
	kind     uniformKind
	bits     uint32
}

// program is kept resident until the GPU has done with the batch.
type program struct {
	id     uint32
	handle cache.Handle
}

func (b *batch) upBytes() int   { return b.upTo - b.upFrom }
func (b *batch) downBytes() int { return b.downTo - b.downFrom }

// open makes a spare batch take jobs at the end of s. Executor.mu is held.
func (b *batch) open(s *slot, sequence uint64) {
	b.slot, b.sequence, b.state = s, sequence, openBatch
	b.upFrom, b.upTo = s.upUsed, s.upUsed
	b.downFrom, b.downTo = s.downUsed, s.downUsed
	b.jobs, b.outputs, b.commands = b.jobs[:0], b.outputs[:0], b.commands[:0]
	b.binds, b.values = b.binds[:0], b.values[:0]
	b.err, b.left = nil, false
	b.sealed.Store(false)
	b.settled.Store(false)
	s.batches = append(s.batches, b)
}

// add takes a job that fits, and returns its number and where its inputs go.
// Executor.mu is held.
func (b *batch) add(job *Job, n need) (number, up int) {
	s, e := b.slot, b.e
	number, up = len(b.jobs), s.upUsed
	params, down := up, s.downUsed
	for i := range job.Inputs {
		size, _ := job.Inputs[i].size()
		params += e.padded(size)
	}
	first := len(b.outputs)
	for i := range job.Outputs {
		out := &job.Outputs[i]
		size, _ := out.size()
		b.outputs = append(b.outputs, delivery{to: out.To, read: out.Read, at: down, size: size})
		down += e.padded(size)
	}
	b.jobs = append(b.jobs, outcome{firstOutput: first, outputs: len(b.outputs) - first})
	for i := range job.dispatches() {
		d := job.dispatch(i)
		b.addDispatch(job, d, up, params, first)
		b.commands[len(b.commands)-1].chained = i > 0
		params += e.padded(len(d.Params))
	}
	s.upUsed, s.downUsed = s.upUsed+n.up, s.downUsed+n.down
	s.jobs++
	b.upTo, b.downTo = s.upUsed, s.downUsed
	b.writing.Add(1)
	b.held.Add(1)
	return number, up
}

// addDispatch adds a command. The job's inputs begin at up, the parameters of
// the dispatch at params, and first is the number of the job's first output.
func (b *batch) addDispatch(job *Job, d *Dispatch, up, params, first int) {
	resources := d.Program.Interface().Resources
	for i := range resources {
		r := &resources[i]
		switch r.Kind {
		case shader.StorageBuffer:
			b.binds = append(b.binds, b.storage(job, d, uint32(r.Binding), up, first))
		case shader.UniformBuffer:
			b.binds = append(b.binds, bind{from: slotParams, binding: uint32(r.Binding), at: params, size: len(d.Params)})
		case shader.Uniform:
			if v := d.uniform(r.Name); v >= 0 && r.Binding >= 0 {
				b.values = append(b.values, value{r.Binding, d.Uniforms[v].kind, d.Uniforms[v].bits})
			}
		}
	}
	c := command{
		program: b.keepProgram(d.Program),
		groups:  d.Groups,
		job:     len(b.jobs) - 1,
		binds:   len(b.binds),
		values:  len(b.values),
	}
	if d.Indirect != nil {
		c.indirect, c.offset = d.Indirect.Memory, d.Indirect.Offset
		b.keepMemory(c.indirect)
	}
	b.commands = append(b.commands, c)
}

// storage is what a storage binding of a dispatch is bound to.
func (b *batch) storage(job *Job, d *Dispatch, binding uint32, up, first int) bind {
	from, i := job.find(d, binding)
	switch from {
	case inInput:
		for k := range i {
			size, _ := job.Inputs[k].size()
			up += b.e.padded(size)
		}
		size, _ := job.Inputs[i].size()
		return bind{from: slotInputs, binding: binding, at: up, size: size}
	case inOutput:
		out := &b.outputs[first+i]
		return bind{from: slotOutputs, binding: binding, at: out.at, size: out.size}
	}
	m := &d.Memory[i]
	b.keepMemory(m.Memory)
	return bind{from: deviceMemory, readOnly: m.ReadOnly, binding: binding, memory: m.Memory, at: m.Offset, size: m.bytes()}
}

// keepProgram retains a program, once for the batch, and returns its GL name.
func (b *batch) keepProgram(h *cache.Handle) uint32 {
	id := h.Program()
	for i := len(b.programs) - 1; i >= 0; i-- {
		if b.programs[i].id == id {
			return id
		}
	}
	b.programs = append(b.programs, program{id: id})
	h.RetainInto(&b.programs[len(b.programs)-1].handle)
	return id
}

// keepMemory retains memory, once for the batch.
func (b *batch) keepMemory(m *Memory) {
	if m.lastUse != b.sequence {
		m.retain()
		m.lastUse = b.sequence
		b.memory = append(b.memory, m)
	}
}

// drop releases what the batch kept for the GPU. Executor.mu is held.
func (b *batch) drop() {
	for i := range b.programs {
		b.programs[i].handle.Release()
	}
	for i, m := range b.memory {
		m.drop()
		b.memory[i] = nil
	}
	b.programs, b.memory = b.programs[:0], b.memory[:0]
}

// settle tells the waiters how the batch ended, once. Executor.mu is held.
func (b *batch) settle(err error) {
	if !b.settled.Load() {
		b.err = err
		b.settled.Store(true)
		b.waiters.wake()
	}
}
