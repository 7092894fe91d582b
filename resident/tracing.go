//go:build linux

package resident

import (
	"time"

	"github.com/shadercache/shadercache/trace"
)

// traceTick gives the Tracer a submission whose end was seen: by the host's clock, and by
// the GPU's where the submission has timestamps. done is its steps.
func (sc *scheduler) traceTick(f *submission, done uint64) {
	if sc.options.Tracer == nil {
		return
	}
	tick := func(lane trace.Lane, begin time.Time, took time.Duration) {
		sc.options.Tracer.Event(trace.Event{Lane: lane, Task: trace.NewTask(), Name: trace.Tick, Program: sc.program.Name(), Begin: begin, Took: took,
			Attrs: []trace.Attr{trace.Int("steps", int64(done)), trace.Int("ticks", int64(f.status.Ticks-sc.ticks))}})
	}
	tick(trace.Session, f.Submitted, f.Seen.Sub(f.Submitted))
	if f.End > f.Begin && f.Begin > 0 && f.gpuSeen >= f.End && !sc.synchronous {
		tick(trace.GPU, f.Seen.Add(f.Begin-f.gpuSeen), f.End-f.Begin)
	}
}
