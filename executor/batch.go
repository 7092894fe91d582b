package executor

import (
	"context"
	"image/draw"
	"sync/atomic"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/internal/futex"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/shader"
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
	large       bool          // runs in stages
	removed     bool          // from the slot
	zeroes      bool          // its outputs are set to zero before its kernels
	short       bool          // its jobs were known to be short when they came
	slowed      uint64        // Executor.mu.slowed, when it was opened
	marked      bool          // its jobs have fences: they may be long
	marks       []glctx.Fence // behind each of them, but for those that the GPU has finished
	movedOwners int           // jobs whose results were moved and not yet waited for or released

	upFrom, upTo, downFrom, downTo int // byte ranges of the slot

	times batchTimes // with a Tracer

	jobs    []jobResult
	outputs []output
	commandLists
	copies   []transfer
	programs []program
	objects  []*object

	writing  atomic.Int32 // jobs whose inputs are not written yet
	sealed   atomic.Bool  // state, for readers without the lock
	held     atomic.Int32 // jobs with data in the slot: not waited for, released or moved
	resolved atomic.Bool  // err and jobs are final
	err      error
	waiters  waiterList // guarded by Executor.mu, as is slept
	slept    bool       // a thread sleeps until the batch is resolved
	sleeper  futex.Sleeper
}

// commandLists are commands and what they refer to.
type commandLists struct {
	commands []command
	binds    []bind
	values   []value
	images   []imageBind
	textures []textureBind
	words    []byte // of the values
}

// reset empties the lists for reuse: they refer to nothing any more.
func (c *commandLists) reset() {
	clear(c.commands)
	clear(c.binds)
	clear(c.images)
	clear(c.textures)
	*c = commandLists{c.commands[:0], c.binds[:0], c.values[:0], c.images[:0], c.textures[:0], c.words[:0]}
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
	owner                context.Context // of Pending
	work                 work
	firstOutput, outputs int
}

// output is one output of a job.
type output struct {
	span         // in the slot's mapped memory
	to    []byte // destination, where read and picture are nil
	read  func([]byte)
	moved []byte // the result, after it was moved out of the slot

	picture draw.Image
	format  texel.Format // of picture's texels
}

// command is one dispatch.
type command struct {
	program    uint32
	host       *job.HostCall // nil: program
	groups     [3]uint32
	indirect   *Memory // holds the group counts at offset; nil: groups
	offset     int
	chained    bool      // reads what the command before it has written
	size       [3]uint32 // of a work group, with local_size_variable
	operations float64   // Dispatch.Operations
	barriers   uint32    // kinds that the recorder has to use from now on
	job        int

	// Ends of this command's ranges in the lists of the batch.
	binds, values, images, textures int
	before, after                   int // copies before the dispatch and after it
}

// bind is a range of a buffer at one binding.
type bind struct {
	span
	from     bindSource
	readOnly bool
	zero     bool // is set to zero before
	binding  uint32
	memory   *Memory // at deviceMemory, deviceBlock and deviceCounters
}

type bindSource uint8

const (
	slotInputs bindSource = iota
	slotOutputs
	slotParams
	slotCounters
	deviceMemory
	deviceBlock
	deviceCounters
)

// value is the value of one uniform, a range of the batch's words.
type value struct {
	location int32
	kind     shader.Type
	span
}

// imageBind is an image at one image unit.
type imageBind struct {
	unit         uint32
	texture      *Texture
	level, layer int // the layer may be texel.AllLayers
	access       string
	format       texel.Format
}

// textureBind is a texture at one texture unit.
type textureBind struct {
	unit    uint32
	texture *Texture
	sampler texel.Sampler
}

// transfer is a copy on the device between a slot and a texture, or, without a texture,
// of the start of counters from the slot's inputs to its outputs.
type transfer struct {
	span    // in memory, else in the slot's inputs, or in its outputs where out is set
	memory  *Memory
	texture *Texture
	region  texel.Region
	out     bool
	to      int // offset of counters in the slot's outputs
}

// counter is the place of an atomic counter buffer in both directions.
type counter struct{ up, down span }

// program is retained until the GPU has finished the batch.
type program struct {
	id     uint32
	handle cache.Handle
}

func (b *batch) upBytes() int   { return b.upTo - b.upFrom }
func (b *batch) downBytes() int { return b.downTo - b.downFrom }

// open makes a spare batch accept jobs, at the end of s. Executor.mu is held.
func (b *batch) open(s *slot, sequence uint64, short bool) {
	b.slowed = b.e.mu.slowed
	b.slot, b.sequence, b.state = s, sequence, openBatch
	b.upFrom, b.upTo = s.upUsed, s.upUsed
	b.downFrom, b.downTo = s.downUsed, s.downUsed
	b.jobs, b.outputs, b.copies = b.jobs[:0], b.outputs[:0], b.copies[:0]
	b.err, b.removed, b.zeroes, b.short = nil, false, false, short
	b.sealed.Store(false)
	b.resolved.Store(false)
	s.batches = append(s.batches, b)
}

// addJob appends a job that fits. It returns the job's index and the offset of its
// inputs in the slot. Executor.mu is held, and unlocked, also where it panics.
func (b *batch) addJob(j *job.Job, l *layout) (index, up int) {
	defer b.e.unlock()
	b.keepAll(j, l) // first: where it panics the batch has nothing of the job
	s := b.slot
	index, up = len(b.jobs), s.upUsed
	first := len(b.outputs)
	b.addOutputs(j, l, s.downUsed)
	b.jobs = append(b.jobs, jobResult{firstOutput: first, outputs: len(b.outputs) - first, work: l.work, owner: l.owner})
	b.addCommands(j, l, index)
	b.addCopies(l, up, s.downUsed)
	b.addBinds(l, up, s.downUsed)
	b.addValues(l)
	s.upUsed, s.downUsed = s.upUsed+l.upBytes, s.downUsed+l.downBytes
	s.jobs++
	b.upTo, b.downTo = s.upUsed, s.downUsed
	b.writing.Add(1)
	b.held.Add(1)
	return index, up
}

// addOutputs appends the destinations of a job whose results start at down.
func (b *batch) addOutputs(j *job.Job, l *layout, down int) {
	for i, place := range l.outputs {
		out := &j.Outputs[i]
		b.zeroes = b.zeroes || !out.Dirty
		b.outputs = append(b.outputs, output{span: place.shift(down), to: out.To, read: out.Read})
	}
	for i := range l.textureOutputs {
		out, place := &j.TextureOutputs[i], &l.textureOutputs[i]
		if place.memory != nil {
			continue
		}
		b.outputs = append(b.outputs, output{
			span: place.shift(down), to: out.To, read: out.Read,
			picture: out.Picture, format: place.texture.texture.Format,
		})
	}
	for i, place := range l.counters {
		if to := j.Counters[i].To; len(to) > 0 {
			b.outputs = append(b.outputs, output{span: span{place.down.offset + down, 4 * len(to)}, to: glctx.Bytes(to)})
		}
	}
}

// addCommands appends the commands of a job, before all else that they refer to.
func (b *batch) addCommands(j *job.Job, l *layout, index int) {
	for i := range l.commands {
		c := l.commands[i]
		b.zeroes = b.zeroes || mayRunNothing(j.At(i))
		c.job = index
		c.binds += len(b.binds)
		c.values += len(b.values)
		c.images += len(b.images)
		c.textures += len(b.textures)
		c.before, c.after = len(b.copies)+l.copiesBefore(), len(b.copies)+l.copiesBefore()
		if i == len(l.commands)-1 {
			c.after += len(l.textureOutputs)
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
		case slotOutputs, slotCounters:
			bound.span = bound.shift(down)
		}
		b.binds = append(b.binds, bound)
	}
	b.images = append(b.images, l.images...)
	b.textures = append(b.textures, l.textures...)
}

// addCopies appends the copies of a job whose data starts at up and down.
func (b *batch) addCopies(l *layout, up, down int) {
	for _, place := range l.counters {
		if place.up.size > 0 {
			b.copies = append(b.copies, transfer{span: place.up.shift(up), to: place.down.offset + down})
		}
	}
	for _, list := range [...][]transfer{l.textureInputs, l.textureOutputs} {
		for _, x := range list {
			from := up
			if x.out {
				from = down
			}
			if x.memory == nil {
				x.span = x.shift(from)
			}
			b.copies = append(b.copies, x)
		}
	}
}

// addValues appends the values of a job's uniforms.
func (b *batch) addValues(l *layout) {
	for _, v := range l.values {
		v.span = v.shift(len(b.words))
		b.values = append(b.values, v)
	}
	b.words = append(b.words, l.words...)
}

// keepAll retains what a job uses. It panics where another goroutine has released some of it
// since the job was checked.
func (b *batch) keepAll(j *job.Job, l *layout) {
	for i := range l.commands {
		if h := handleOf(j.At(i)); h != nil {
			b.keepProgram(h)
		}
	}
	for _, o := range l.objects {
		b.keep(o)
	}
}

// keepProgram retains a program, once for the batch.
func (b *batch) keepProgram(h *cache.Handle) {
	id := h.Program()
	for i := len(b.programs) - 1; i >= 0; i-- {
		if b.programs[i].id == id {
			return
		}
	}
	b.programs = append(b.programs, program{})
	last := &b.programs[len(b.programs)-1]
	h.RetainInto(&last.handle)
	last.id = id // not before: where it panics nothing is retained
}

// keep retains an object, once for the batch.
func (b *batch) keep(o *object) {
	if o.lastUse != b.sequence {
		o.retain()
		o.lastUse = b.sequence
		b.objects = append(b.objects, o)
	}
}

// releaseKept releases the programs and objects that the batch retained. Executor.mu
// is held.
func (b *batch) releaseKept() {
	for i := range b.programs {
		b.programs[i].handle.Release()
	}
	for i, o := range b.objects {
		o.removeOwner()
		b.objects[i] = nil
	}
	b.programs, b.objects = b.programs[:0], b.objects[:0]
}

// resolve sets the outcome of the batch and wakes its waiters. Only the first call
// has an effect. Executor.mu is held.
func (b *batch) resolve(err error) {
	if !b.resolved.Load() {
		b.err = err
		b.resolved.Store(true)
		b.waiters.wake()
		if b.slept {
			b.slept = false
			b.sleeper.Wake()
		}
	}
}
