package executor

import (
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/trace"
)

// batchTimes are when the parts of a batch began or ended, by the host's clock. Without a
// Tracer they are zero.
type batchTimes struct {
	opened  time.Time
	started time.Time        // the driver is given it
	marks   [marks]time.Time // the calls of a part were made

	programs string // names
}

// The parts of a whole batch that a Tracer tells apart end at these marks; the last one,
// the download, ends with the batch.
const (
	uploadEnd = iota
	kernelEnd
	marks
)

// traceTime returns the time where there is a Tracer, else the zero time.
func (e *Executor) traceTime() time.Time {
	if e.options.Tracer == nil {
		return time.Time{}
	}
	return time.Now()
}

// beginTrace prepares a stage that is about to be recorded.
func (p *pipeline) beginTrace(gl *glctx.GL, s *stage) {
	if p.e.options.Tracer == nil {
		return
	}
	now := time.Now()
	p.e.mu.Lock() // programs are released when the context ends
	for _, b := range []*batch{s.whole, s.up, s.run} {
		if b != nil && b.times.started.IsZero() {
			b.times.started, b.times.programs = now, b.programNames()
		}
	}
	p.e.mu.Unlock()
	if s.whole != nil {
		for i := range s.marks {
			s.marks[i] = p.newQuery(gl)
		}
	}
}

// markTrace records that the calls of a part of a whole batch were made, and has the GPU
// record when it has done them.
func (e *Executor) markTrace(gl *glctx.GL, s *stage, mark int) {
	if e.options.Tracer != nil {
		gl.WriteTimestamp(s.marks[mark])
		s.whole.times.marks[mark] = time.Now()
	}
}

// reuseMarks returns the queries of a stage's marks to the spare ones.
func (p *pipeline) reuseMarks(s *stage) {
	if s.whole != nil && p.e.options.Tracer != nil {
		p.queries = append(p.queries, s.marks[:]...)
	}
}

// traceStage gives the Tracer the batches that are complete with a stage, and what the GPU
// did in it.
func (p *pipeline) traceStage(gl *glctx.GL, s *stage) {
	if p.e.options.Tracer == nil {
		return
	}
	s.complete(p.e.traceBatch)
	p.traceGPU(gl, s)
	p.reuseMarks(s)
}

// traceBatch gives the Tracer a batch that the GPU has just finished.
func (e *Executor) traceBatch(b *batch) {
	t, task, now := &b.times, trace.NewTask(), time.Now()
	event := func(name string, begin, end time.Time, attrs ...trace.Attr) {
		if !begin.IsZero() && !end.Before(begin) {
			e.options.Tracer.Event(trace.Event{Lane: trace.Executor, Task: task, Name: name, Begin: begin, Took: end.Sub(begin), Attrs: attrs})
		}
	}
	event(trace.Batch, t.opened, now, trace.Int("number", int64(b.sequence)), trace.Int("jobs", int64(len(b.jobs))),
		trace.Int("dispatches", int64(len(b.commands))))
	event(trace.Queued, t.opened, t.started)
	if t.marks[kernelEnd].IsZero() {
		return // it ran in stages, beside others
	}
	event(trace.Upload, t.started, t.marks[uploadEnd], trace.Int("bytes", int64(b.upBytes())))
	event(trace.Kernel, t.marks[uploadEnd], t.marks[kernelEnd], trace.String("programs", t.programs))
	event(trace.Download, t.marks[kernelEnd], now, trace.Int("bytes", int64(b.downBytes())))
}

// programNames returns the name of the batch's program, and a sign that there are others.
// Executor.mu is held.
func (b *batch) programNames() string {
	switch len(b.programs) {
	case 0:
		if len(b.commands) > 0 && b.commands[0].host != nil {
			return b.commands[0].host.Name
		}
		return ""
	case 1:
		return b.programs[0].handle.Name()
	}
	return b.programs[0].handle.Name() + ", ..."
}

// traceGPU gives the Tracer what the GPU did in a stage, by its own clock. A software driver
// has none.
func (p *pipeline) traceGPU(gl *glctx.GL, s *stage) {
	begin, end := gl.Timestamp(s.begin), gl.Timestamp(s.end)
	before, gpu := time.Now(), gl.GPUTime()
	if p.e.info.Software() || begin == 0 || gpu < end {
		return
	}
	now := before.Add(time.Since(before) / 2)
	event := func(b *batch, task uint64, name string, from, to time.Duration) {
		if b == nil || to <= from {
			return
		}
		e := trace.Event{Lane: trace.GPU, Task: task, Name: name, Begin: now.Add(from - gpu), Took: to - from,
			Attrs: []trace.Attr{trace.Int("number", int64(b.sequence))}}
		if name == trace.Kernel {
			e.Program = b.times.programs
		}
		p.e.options.Tracer.Event(e)
	}
	if s.whole == nil { // the parts run side by side
		event(s.up, trace.NewTask(), trace.Upload, begin, end)
		event(s.run, trace.NewTask(), trace.Kernel, begin, end)
		event(s.down, trace.NewTask(), trace.Download, begin, end)
		return
	}
	task, uploaded, ran := trace.NewTask(), gl.Timestamp(s.marks[uploadEnd]), gl.Timestamp(s.marks[kernelEnd])
	event(s.whole, task, trace.Upload, begin, uploaded)
	event(s.whole, task, trace.Kernel, uploaded, ran)
	event(s.whole, task, trace.Download, ran, end)
}
