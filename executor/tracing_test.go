//go:build linux

package executor

import (
	"context"
	"slices"
	"testing"

	"github.com/shadercache/shadercache/trace"
)

// recorded returns the events of a lane, by name.
func recorded(r trace.Recording, lane trace.Lane) map[string][]trace.Event {
	named := map[string][]trace.Event{}
	for _, e := range r.Events {
		if e.Lane == lane {
			named[e.Name] = append(named[e.Name], e)
		}
	}
	return named
}

const tracedJobs = 5

// TestTracerSeesJobs runs jobs with a Tracer: whole batches, and stages side by side.
func TestTracerSeesJobs(t *testing.T) {
	for _, staged := range []bool{false, true} {
		recorder := trace.NewRecorder(0)
		f := newFixture(t, Options{SlotBytes: 1 << 16, Tracer: recorder, test: testOptions{staged: staged}})
		runTasks(t, f)
		events := recorded(recorder.Recording(), trace.Executor)
		for _, name := range []string{trace.Submit, trace.Fill, trace.Wait} {
			if len(events[name]) != tracedJobs {
				t.Errorf("staged %v: %d events %q of %d jobs", staged, len(events[name]), name, tracedJobs)
			}
		}
		var jobs, dispatches int64
		for _, b := range events[trace.Batch] {
			jobs += b.Attr("jobs").(int64)
			dispatches += b.Attr("dispatches").(int64)
			wantWithin(t, b, events)
		}
		if jobs != tracedJobs || dispatches != tracedJobs {
			t.Errorf("staged %v: the batches have %d jobs and %d dispatches", staged, jobs, dispatches)
		}
		for _, name := range []string{trace.Upload, trace.Kernel, trace.Download} {
			if n := len(events[name]); !staged && n != len(events[trace.Batch]) {
				t.Errorf("%d events %q of %d batches", n, name, len(events[trace.Batch]))
			}
		}
		wantGPUEvents(t, f, recorder, staged)
	}
}

// runTasks submits all jobs, and then waits for them.
func runTasks(t *testing.T, f *fixture) {
	t.Helper()
	var tasks []*task
	for i := range uint32(tracedJobs) {
		k := newTask(f.affine(), i, 256)
		p, err := f.Submit(context.Background(), k.job)
		if err != nil {
			t.Fatal(err)
		}
		k.pending = p
		tasks = append(tasks, k)
	}
	for _, k := range tasks {
		if err := k.pending.Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := k.verify(); err != nil {
			t.Fatal(err)
		}
	}
}

// wantWithin checks that the parts of a batch follow one another within it.
func wantWithin(t *testing.T, b trace.Event, events map[string][]trace.Event) {
	t.Helper()
	at := b.Begin
	for _, name := range []string{trace.Queued, trace.Upload, trace.Kernel, trace.Download} {
		i := slices.IndexFunc(events[name], func(e trace.Event) bool { return e.Task == b.Task })
		if i < 0 {
			continue // it ran in stages
		}
		part := events[name][i]
		if part.Begin.Before(at) || part.End().After(b.End()) {
			t.Errorf("%q is from %v to %v, of a batch from %v to %v", name, part.Begin, part.End(), b.Begin, b.End())
		}
		if name == trace.Upload && part.Attr("bytes") == int64(0) {
			t.Error("the upload has no bytes")
		}
		if name == trace.Kernel && part.Attr("programs") != "affine0" {
			t.Errorf("the kernel is of %v", part.Attr("programs"))
		}
		at = part.End()
	}
}

// wantGPUEvents checks that kernels are measured by the GPU's clock where there is one.
func wantGPUEvents(t *testing.T, f *fixture, recorder *trace.Recorder, staged bool) {
	t.Helper()
	events := recorded(recorder.Recording(), trace.GPU)
	if f.info.Software() {
		if len(events) > 0 {
			t.Errorf("a driver without a GPU has events of one: %v", events)
		}
		return
	}
	batches := recorded(recorder.Recording(), trace.Executor)[trace.Batch]
	if len(events[trace.Kernel]) != len(batches) {
		t.Errorf("staged %v: the GPU ran %d kernels of %d batches", staged, len(events[trace.Kernel]), len(batches))
	}
}

// BenchmarkSubmitTraced is one job at a time with a Tracer, and without one.
func BenchmarkSubmitTraced(b *testing.B) {
	for name, o := range map[string]Options{"off": {}, "on": {Tracer: drop{}}} {
		b.Run(name, func(b *testing.B) {
			f := newFixture(b, o)
			k := newTask(f.affine(), 3, 256)
			b.ReportAllocs()
			for b.Loop() {
				p, err := f.Submit(context.Background(), k.job)
				if err != nil {
					b.Fatal(err)
				}
				if err := p.Wait(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// drop is a Tracer that keeps nothing.
type drop struct{}

func (drop) Event(trace.Event) {}
