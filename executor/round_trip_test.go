package executor

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
)

// roundTrip is a program that counts its dispatches in a buffer.
type roundTrip struct {
	f       *fixture
	program *cache.Handle
	count   *Buffer[uint32]
	calls   uint32
}

// BenchmarkRoundTrip measures a job whose result is waited for before the next one is
// submitted, and its parts: what the driver takes on the GL thread, with the calls that a job
// needs added one after the other, and how long two threads take to reach each other.
func BenchmarkRoundTrip(b *testing.B) {
	f := newFixture(b, Options{Depth: 1})
	r := newRoundTrip(f)
	r.onThread(b, "dispatch", func(gl *glctx.GL) { r.dispatch(gl); r.wait(gl) })
	r.onThread(b, "bound", func(gl *glctx.GL) { r.bind(gl); r.dispatch(gl); r.wait(gl) })
	r.onThread(b, "bound, polled", func(gl *glctx.GL) { r.bind(gl); r.dispatch(gl); r.poll(gl) })
	r.onThread(b, "barrier, bound", func(gl *glctx.GL) { r.barrier(gl); r.bind(gl); r.dispatch(gl); r.wait(gl) })
	r.onThread(b, "barrier, bound, polled", func(gl *glctx.GL) { r.barrier(gl); r.bind(gl); r.dispatch(gl); r.poll(gl) })
	r.onThread(b, "bound, polled, barrier behind", func(gl *glctx.GL) { r.bind(gl); r.dispatch(gl); r.pollBarrier(gl) })
	r.onThread(b, "bound, polled, checked", func(gl *glctx.GL) { r.bind(gl); r.dispatch(gl); r.poll(gl); _ = gl.CheckLost() })
	b.Run("callback", func(b *testing.B) {
		for b.Loop() {
			_ = f.context.Do(func(*glctx.GL) error { return nil })
		}
	})
	b.Run("posted callback", r.posted)
	b.Run("callback with all", func(b *testing.B) {
		for b.Loop() {
			_ = f.context.Do(func(gl *glctx.GL) error { r.barrier(gl); r.bind(gl); r.dispatch(gl); r.poll(gl); return nil })
		}
	})
	b.Run("job", r.jobs)
	r.verify(b)
}

func newRoundTrip(f *fixture) *roundTrip {
	return &roundTrip{f: f, count: f.buffer(make([]uint32, 4)), program: f.program("round_trip", `
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Count { uint count; };
void main() { atomicAdd(count, 1u); }`, nil)}
}

// verify compares the count with the number of calls.
func (r *roundTrip) verify(b *testing.B) {
	var got [1]uint32
	if err := r.count.Download(b.Context(), 0, got[:]); err != nil || got[0] != r.calls {
		b.Errorf("%d of %d dispatches were counted: %v", got[0], r.calls, err)
	}
}

// job returns the job of a dispatch.
func (r *roundTrip) job() Job {
	return Job{Dispatch: Dispatch{Program: r.program, Groups: [3]uint32{1, 1, 1}, Buffers: []Bound{r.count.Bind(0)}}}
}

// onThread measures calls on the GL thread.
func (r *roundTrip) onThread(b *testing.B, name string, once func(gl *glctx.GL)) {
	b.Run(name, func(b *testing.B) {
		err := r.f.context.Do(func(gl *glctx.GL) error {
			r.bind(gl)
			for b.Loop() {
				once(gl)
			}
			return gl.Err()
		})
		if err != nil {
			b.Error(err)
		}
	})
}

// posted measures a callback that the other thread spins for.
func (r *roundTrip) posted(b *testing.B) {
	var done atomic.Uint32
	for n := uint32(0); b.Loop(); n++ {
		r.f.context.Post(func(*glctx.GL) { done.Add(1) })
		for done.Load() <= n {
		}
	}
}

// jobs measures jobs, one at a time.
func (r *roundTrip) jobs(b *testing.B) {
	var p Pending
	job := r.job()
	for b.Loop() {
		if err := r.f.SubmitInto(b.Context(), &job, &p); err != nil {
			b.Fatal(err)
		}
		r.f.wait(&p)
		r.calls++
	}
}

func (r *roundTrip) barrier(gl *glctx.GL) {
	gl.MemoryBarrier(glctx.BarrierStorage | glctx.BarrierCommand)
}

func (r *roundTrip) bind(gl *glctx.GL) {
	gl.UseProgram(r.program.Program())
	gl.BindStorageRange(0, r.count.buffer, 0, 16)
}

func (r *roundTrip) dispatch(gl *glctx.GL) {
	gl.Dispatch(1, 1, 1)
	r.calls++
}

// wait has the driver wait for what was dispatched.
func (r *roundTrip) wait(gl *glctx.GL) {
	fence := gl.NewFence()
	_, _ = gl.WaitFence(fence, 10*time.Second)
	gl.DeleteFence(fence)
}

// poll polls for it, as the executor does.
func (r *roundTrip) poll(gl *glctx.GL) { r.pollAfter(gl, func() {}) }

// pollBarrier polls for it, with the barrier for the next dispatch behind the fence.
func (r *roundTrip) pollBarrier(gl *glctx.GL) { r.pollAfter(gl, func() { r.barrier(gl) }) }

// pollAfter makes a fence, calls behind, and polls.
func (r *roundTrip) pollAfter(gl *glctx.GL, behind func()) {
	fence := gl.NewFence()
	behind()
	gl.Flush()
	for done := false; !done; {
		done, _ = gl.WaitFence(fence, 0)
	}
	gl.DeleteFence(fence)
}
