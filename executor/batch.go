package executor

import (
	"sync/atomic"

	"github.com/shadercache/shadercache/cache"
)

// batch is a group of jobs that go to the GPU together and complete together. It
// occupies one range of a slot and holds all that the GL thread needs, in flat
// lists.
//
//	open       accepts jobs; there is at most one such batch
//	sealed     accepts no more jobs and starts when all inputs are written
//	completed  the GPU has finished it, or the context is gone
//	spare      all its jobs were waited for or released; the value is reused
//
// A completed batch is removed from its slot when no job has data there: its jobs
// were waited for or released, or their results were moved.
//
// A batch is resolved when its outcome is final and waiters return: when it is
// completed, or before that by a timeout.
type batch struct {
	e           *Executor
	slot        *slot
	sequence    uint64 // number of the batch
	state       batchState
	large       bool // runs in stages
	removed     bool // from the slot
	movedOwners int  // jobs whose results were moved and not yet waited for or released

	upFrom, upTo, downFrom, downTo int // byte ranges of the slot

	jobs     []jobResult
	outputs  []output
	commands []command
	binds    []bind
	values   []value
	programs []program
	memory   []*Memory

	writing  atomic.Int32 // jobs whose inputs are not written yet
	sealed   atomic.Bool  // state, for readers without the lock
	held     atomic.Int32 // jobs with data in the slot: not waited for, released or moved
	resolved atomic.Bool  // err and jobs are final
	err      error
	waiters  waiterList // guarded by Executor.mu
}

type batchState uint8

const (
	spareBatch batchState = iota
	openBatch
	sealedBatch
	completedBatch
)

// jobResult is the outcome of one job and the range of its outputs in
// batch.outputs.
type jobResult struct {
	claimed              atomic.Bool // set by the owner or by makeRoom, which then handles the data
	err                  error
	firstOutput, outputs int
}

// output is one output of a job.
type output struct {
	span         // in the slot's mapped memory
	to    []byte // destination, where read is nil
	read  func([]byte)
	moved []byte // argument of read, after the result was moved
}

// command is one dispatch.
type command struct {
	program  uint32
	groups   [3]uint32
	indirect *Memory // holds the group counts at offset; nil: groups
	offset   int
	chained  bool // reads what the command before it has written
	job      int
	binds    int // end of this command's range in the batch's binds
	values   int // likewise in its values
}

// bind is a range of a buffer at one binding.
type bind struct {
	span
	from     bindSource
	readOnly bool
	binding  uint32
	memory   *Memory
}

type bindSource uint8

const (
	slotInputs bindSource = iota
	slotOutputs
	slotParams
	deviceMemory
)

// value is the value of one uniform.
type value struct {
	location int32
	kind     uniformKind
	bits     uint32
}

// program is retained until the GPU has finished the batch.
type program struct {
	id     uint32
	handle cache.Handle
}

func (b *batch) upBytes() int   { return b.upTo - b.upFrom }
func (b *batch) downBytes() int { return b.downTo - b.downFrom }

// open makes a spare batch accept jobs, at the end of s. Executor.mu is held.
func (b *batch) open(s *slot, sequence uint64) {
	b.slot, b.sequence, b.state = s, sequence, openBatch
	b.upFrom, b.upTo = s.upUsed, s.upUsed
	b.downFrom, b.downTo = s.downUsed, s.downUsed
	b.jobs, b.outputs, b.commands = b.jobs[:0], b.outputs[:0], b.commands[:0]
	b.binds, b.values = b.binds[:0], b.values[:0]
	b.err, b.removed = nil, false
	b.sealed.Store(false)
	b.resolved.Store(false)
	s.batches = append(s.batches, b)
}

// addJob appends a job that fits. It returns the job's index and the offset of its
// inputs in the slot. Executor.mu is held.
func (b *batch) addJob(job *Job, l *layout) (index, up int) {
	s := b.slot
	index, up = len(b.jobs), s.upUsed
	b.jobs = append(b.jobs, jobResult{firstOutput: len(b.outputs), outputs: len(l.outputs)})
	for i, place := range l.outputs {
		out := &job.Outputs[i]
		b.outputs = append(b.outputs, output{span: place.shift(s.downUsed), to: out.To, read: out.Read})
	}
	b.addCommands(job, l, index)
	b.addBinds(l, up, s.downUsed)
	b.values = append(b.values, l.values...)
	s.upUsed, s.downUsed = s.upUsed+l.upBytes, s.downUsed+l.downBytes
	s.jobs++
	b.upTo, b.downTo = s.upUsed, s.downUsed
	b.writing.Add(1)
	b.held.Add(1)
	return index, up
}

// addCommands appends the commands of a job, before its binds and values.
func (b *batch) addCommands(job *Job, l *layout, index int) {
	for i := range l.commands {
		c := l.commands[i]
		c.program = b.keepProgram(job.dispatch(i).Program)
		c.job = index
		c.binds += len(b.binds)
		c.values += len(b.values)
		if c.indirect != nil {
			b.keepMemory(c.indirect)
		}
		b.commands = append(b.commands, c)
	}
}

// addBinds appends the binds of a job whose data starts at up and down.
func (b *batch) addBinds(l *layout, up, down int) {
	for i := range l.binds {
		bound := l.binds[i]
		switch bound.from {
		case slotInputs, slotParams:
			bound.span = bound.shift(up)
		case slotOutputs:
			bound.span = bound.shift(down)
		case deviceMemory:
			b.keepMemory(bound.memory)
		}
		b.binds = append(b.binds, bound)
	}
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

// releaseKept releases the programs and memory that the batch retained. Executor.mu
// is held.
func (b *batch) releaseKept() {
	for i := range b.programs {
		b.programs[i].handle.Release()
	}
	for i, m := range b.memory {
		m.removeOwner()
		b.memory[i] = nil
	}
	b.programs, b.memory = b.programs[:0], b.memory[:0]
}

// resolve sets the outcome of the batch and wakes its waiters. Only the first call
// has an effect. Executor.mu is held.
func (b *batch) resolve(err error) {
	if !b.resolved.Load() {
		b.err = err
		b.resolved.Store(true)
		b.waiters.wake()
	}
}
