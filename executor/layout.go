package executor

import (
	"context"
	"sync"

	"github.com/shadercache/shadercache/job"
)

// layout is the place of each part of a job in a slot, and what its programs are
// bound to. checkJob computes it once; batch.addJob moves it to the job's place in the
// slot. Offsets count from the job's first byte in each direction:
//
//	up      Job.Inputs, the Params and Blocks of each dispatch, Job.TextureInputs,
//	        the start of each of Job.Counters
//	down    Job.Outputs, Job.TextureOutputs, Job.Counters
//
// Every part starts at a multiple of Executor.align.
type layout struct {
	inputs  []span
	params  []span // one for each dispatch, empty where it has none
	blocks  []span // of all dispatches, empty where one is device memory
	outputs []span

	textureInputs, textureOutputs []transfer
	counters                      []counter

	upBytes, downBytes int // with padding

	commandLists                 // one command for each dispatch
	work         work            // what they are known by
	owner        context.Context // of Pending
	objects      []*object       // that the job uses

	uses       []job.Use // of the dispatch that is checked
	firstBlock int       // of blocks: where those of the dispatch passed begin
	passed     int

	stored map[region]struct{} // of the first known binds: see isBefore
	known  int
}

// region is a range of memory.
type region struct {
	memory *Memory
	span
}

// span is a range of bytes.
type span struct{ offset, size int }

// shift returns the span moved by n bytes.
func (s span) shift(n int) span { return span{s.offset + n, s.size} }

// of returns the bytes of the span in memory, without capacity beyond it.
func (s span) of(memory []byte) []byte {
	return memory[s.offset : s.offset+s.size : s.offset+s.size]
}

// layouts keeps layouts for reuse, so that Submit does not allocate.
var layouts = sync.Pool{New: func() any { return new(layout) }}

// release empties the layout and returns it to the pool.
func (l *layout) release() {
	l.reset()
	clear(l.textureInputs) // they refer to Memory
	clear(l.textureOutputs)
	clear(l.objects)
	clear(l.stored)
	*l = layout{
		stored: l.stored,
		inputs: l.inputs[:0], params: l.params[:0], blocks: l.blocks[:0], outputs: l.outputs[:0],
		textureInputs: l.textureInputs[:0], textureOutputs: l.textureOutputs[:0], counters: l.counters[:0],
		commandLists: l.commandLists, objects: l.objects[:0], uses: l.uses[:0],
	}
	layouts.Put(l)
}

// addUp appends a part of size bytes in the direction of the device.
func (l *layout) addUp(size, align int) span {
	part := span{l.upBytes, size}
	l.upBytes += padded(size, align)
	return part
}

// addDown appends a part of size bytes in the direction of the host.
func (l *layout) addDown(size, align int) span {
	part := span{l.downBytes, size}
	l.downBytes += padded(size, align)
	return part
}

// padded returns n rounded up to a multiple of align.
func padded(n, align int) int { return (n + align - 1) / align * align }
