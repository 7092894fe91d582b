package trace

import (
	"context"
	rtrace "runtime/trace"
	"sync/atomic"
	"time"
)

// tasks is the last number that NewTask returned.
var tasks atomic.Uint64

// NewTask returns a number for Event.Task.
func NewTask() uint64 { return tasks.Add(1) }

// Region is a piece of work that has begun. The goroutine that began it ends it. The zero
// value is one that is not traced.
type Region struct {
	tracer Tracer
	event  Event
	region *rtrace.Region
}

// IsOn reports whether Begin measures: t is not nil, or Go's execution tracer runs.
func IsOn(t Tracer) bool { return t != nil || rtrace.IsEnabled() }

// Begin begins a piece of work of a task, 0 being a new one. t may be nil.
func Begin(t Tracer, lane Lane, task uint64, name string) Region {
	if !IsOn(t) {
		return Region{}
	}
	return begin(t, lane, task, name)
}

func begin(t Tracer, lane Lane, task uint64, name string) Region {
	r := Region{tracer: t}
	if rtrace.IsEnabled() {
		r.region = rtrace.StartRegion(context.Background(), name)
	}
	if t != nil {
		if task == 0 {
			task = NewTask()
		}
		r.event = Event{Lane: lane, Task: task, Name: name, Begin: time.Now()}
	}
	return r
}

// Begin begins a piece of work within r, on the same goroutine and about the same program.
func (r *Region) Begin(name string) Region {
	if r.tracer == nil && r.region == nil {
		return Region{}
	}
	within := begin(r.tracer, r.event.Lane, r.event.Task, name)
	within.event.Program, within.event.Key = r.event.Program, r.event.Key
	return within
}

// About names the program that the work is about.
func (r *Region) About(program, key string) {
	r.event.Program, r.event.Key = program, key
}

// IsOn reports whether End gives the event to a Tracer: attributes that cost something
// are made only then.
func (r *Region) IsOn() bool { return r.tracer != nil }

// Task returns the task of the work, 0 where it is not traced.
func (r *Region) Task() uint64 { return r.event.Task }

// End ends the work. Attributes are added to the event.
func (r *Region) End(attrs ...Attr) {
	if r.region != nil {
		r.region.End()
	}
	if r.tracer == nil {
		return
	}
	r.event.Took = time.Since(r.event.Begin)
	r.event.Attrs = attrs
	r.tracer.Event(r.event)
}

// EndLong is End for work of which only what took at least limit is of interest.
func (r *Region) EndLong(limit time.Duration) {
	if r.tracer != nil && time.Since(r.event.Begin) < limit {
		r.tracer = nil
	}
	r.End()
}

// Instant gives t an instant of a program. t may be nil.
func Instant(t Tracer, lane Lane, name, program, key string, attrs ...Attr) {
	if t != nil {
		t.Event(Event{Lane: lane, Name: name, Program: program, Key: key, Begin: time.Now(), Instant: true, Attrs: attrs})
	}
}

type programKey struct{}

// program is what a context.Context says that work is about.
type program struct{ name, key string }

// WithRegion returns a context for the calls within r, whose own events are about the same
// program. Where r is not traced that is ctx.
func WithRegion(ctx context.Context, r *Region) context.Context {
	if r.tracer == nil {
		return ctx
	}
	return context.WithValue(ctx, programKey{}, program{r.event.Program, r.event.Key})
}

// AboutContext names the program that ctx has, if any.
func (r *Region) AboutContext(ctx context.Context) {
	if r.tracer == nil {
		return
	}
	if p, ok := ctx.Value(programKey{}).(program); ok {
		r.About(p.name, p.key)
	}
}
