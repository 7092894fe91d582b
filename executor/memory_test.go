//go:build linux

package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
)

// mix makes every word depend on all earlier jobs, to detect a missing barrier.
const mix = `
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer From { uint from[]; };
layout(std430, binding = 1) writeonly buffer To { uint to[]; };
uniform uint key;
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint n = uint(from.length());
    if (i < n) {
        to[i] = from[(i * 7u + 13u) % n] * 2654435761u + key;
    }
}`

func mixed(from []uint32, key uint32) []uint32 {
	to := make([]uint32, len(from))
	for i := range to {
		to[i] = from[(i*7+13)%len(from)]*2654435761 + key
	}
	return to
}

// What a software driver has done on the GL thread is progress: no kernel holds that.
func TestProgressWithoutJobs(t *testing.T) {
	f := newFixture(t, Options{})
	shape := texel.Shape{Format: "r32f", Width: 4, Height: 4}
	for name, do := range map[string]func() error{
		"memory": func() error {
			m, err := f.NewMemory(64)
			defer m.Release()
			return errors.Join(err, m.Fill(t.Context(), 1), m.Upload(t.Context(), 0, make([]byte, 64)))
		},
		"a texture": func() error {
			x, err := f.NewTexture(shape)
			defer x.Release()
			return errors.Join(err, x.Write(t.Context(), texel.Region{}, make([]byte, 64)), x.Read(t.Context(), texel.Region{}, make([]byte, 64)))
		},
	} {
		before, _, _ := f.Progress()
		steps := uint64(0)
		if f.info.Software() {
			steps = 3
		}
		err := do()
		if after, _, _ := f.Progress(); err != nil || after != before+steps {
			t.Errorf("%s: %d of %d, %v", name, after-before, steps, err)
		}
	}
}

// Where kernels run on the GL thread, that one holds it is seen.
func TestAKernelThatHoldsTheThread(t *testing.T) {
	f := newFixture(t, Options{})
	h := f.program("rounds", rounds, nil)
	const groups = 64
	j := Job{
		Dispatch: Dispatch{Program: h, Groups: [3]uint32{groups, 1, 1}, Uniforms: []job.Uniform{job.Uint("rounds", 1000)}},
		Inputs:   []Input{{Binding: 0, Data: make([]byte, 4*256*groups)}},
		Outputs:  []Output{{Binding: 1, To: make([]byte, 4*256*groups)}},
	}
	limit := 100 * time.Millisecond // in which it is not seen
	if f.holdsThread() {
		limit = 20 * time.Second
	}
	seen := false
	for start := time.Now(); !seen && time.Since(start) < limit; {
		p := f.submit(j)
		for !seen && !p.Ready() {
			_, _, seen = f.Progress()
		}
		f.wait(p)
	}
	if _, _, still := f.Progress(); seen != f.holdsThread() || still {
		t.Errorf("a kernel was seen to hold the thread: %v, want %v; afterwards: %v", seen, f.holdsThread(), still)
	}
}

// TestJobsOnTheSameMemoryAreOrdered passes data back and forth between two
// buffers, a job each time, then a chain, then to an output.
func TestJobsOnTheSameMemoryAreOrdered(t *testing.T) {
	for form, test := range forms {
		t.Run(form, func(t *testing.T) {
			const n = 5000
			g := newGatedFence()
			test.pollFence = g.pollFence
			f := newFixture(t, Options{test: test})
			h := f.program("mix", mix, nil)
			expected := make([]uint32, n)
			for i := range expected {
				expected[i] = uint32(i * i)
			}
			a, b := f.buffer(expected), f.buffer(make([]uint32, n))
			step := func(from, to *Buffer[uint32], key uint32) Dispatch {
				expected = mixed(expected, key)
				return Dispatch{
					Program: h, Groups: [3]uint32{(n + 63) / 64, 1, 1}, Uniforms: []job.Uniform{job.Uint("key", key)},
					Buffers: []Bound{from.BindReadOnly(0), to.Bind(1)},
				}
			}
			var pending []*Pending
			for i := range uint32(20) {
				from, to := a, b
				if i%2 == 1 {
					from, to = b, a
				}
				pending = append(pending, f.submit(Job{Dispatch: step(from, to, i)}))
			}
			chain := Job{Dispatch: step(a, b, 100), Then: []Dispatch{step(b, a, 101), step(a, b, 102), step(b, a, 103)}}
			last := step(a, b, 104)
			last.Buffers = last.Buffers[:1]
			chain.Then = append(chain.Then, last)
			out := make([]uint32, n)
			chain.Outputs = []Output{{Binding: 1, To: glctx.Bytes(out)}}
			pending = append(pending, f.submit(chain))
			close(g.open)
			for _, p := range pending {
				f.wait(p)
			}
			if !slices.Equal(out, expected) {
				t.Error("the words differ from those computed in order")
			}
			if n := f.Stats().Barriers; n < 24 {
				t.Errorf("%d barriers for 24 dependencies", n)
			}
		})
	}
}

// TestReadersNeedNoBarrier counts the barriers of jobs that read the same memory and
// write to different memory.
func TestReadersNeedNoBarrier(t *testing.T) {
	f := newFixture(t, Options{})
	h := f.program("mix", mix, nil)
	shared := f.buffer(make([]uint32, 64))
	job := func(to *Buffer[uint32], readOnly bool) Job {
		from := shared.Bind(0)
		from.ReadOnly = readOnly
		return Job{Dispatch: Dispatch{
			Program: h, Groups: [3]uint32{1, 1, 1}, Uniforms: []job.Uniform{job.Uint("key", 1)},
			Buffers: []Bound{from, to.Bind(1)},
		}}
	}
	var targets []*Buffer[uint32]
	for range 5 {
		targets = append(targets, f.buffer(make([]uint32, 64)))
	}
	for readOnly, want := range map[bool]uint64{true: 0, false: 4} {
		if err := f.context.Do(func(gl *glctx.GL) error {
			f.pipeline.recorder.synchronize(gl, glctx.BarrierAllKinds)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		before := f.Stats().Barriers
		for _, to := range targets {
			f.wait(f.submit(job(to, readOnly)))
		}
		if n := f.Stats().Barriers - before; n != want {
			t.Errorf("read only %v: %d barriers, want %d", readOnly, n, want)
		}
	}
}

// TestIndirectGroupsComeFromTheDevice computes the number of groups of a dispatch, 0
// among them, in the dispatch before it.
func TestIndirectGroupsComeFromTheDevice(t *testing.T) {
	const decide = `
layout(local_size_x = 1) in;
layout(std430, binding = 0) writeonly buffer Counts { uint counts[]; };
uniform uint groups;
void main() { counts[1] = groups; counts[2] = 1u; counts[3] = 1u; }`
	const count = `
layout(local_size_x = 1) in;
layout(std430, binding = 1) buffer Hits { uint hits[]; };
void main() { atomicAdd(hits[gl_WorkGroupID.x], 1u); }`
	f := newFixture(t, Options{})
	first, second := f.program("decide", decide, nil), f.program("count", count, nil)
	counts, hits := f.buffer(make([]uint32, 4)), f.buffer(make([]uint32, 8))
	want := make([]uint32, 8)
	for _, groups := range []uint32{3, 0, 5, 8} {
		f.wait(f.submit(Job{
			Dispatch: Dispatch{
				Program: first, Groups: [3]uint32{1, 1, 1},
				Buffers: []Bound{counts.Bind(0)}, Uniforms: []job.Uniform{job.Uint("groups", groups)},
			},
			Then: []Dispatch{{Program: second, Indirect: &Indirect{Buffer: counts.Memory, Offset: 4}, Buffers: []Bound{hits.Bind(1)}}},
		}))
		for i := range groups {
			want[i]++
		}
	}
	got := make([]uint32, 8)
	if err := hits.Download(t.Context(), 0, got); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("groups that ran: %v, want %v", got, want)
	}
}

// TestMemoryLivesAsLongAsJobsUseIt releases the caller's reference before the job
// has run.
func TestMemoryLivesAsLongAsJobsUseIt(t *testing.T) {
	g := newGatedFence()
	f := newFixture(t, Options{test: testOptions{pollFence: g.pollFence}})
	h := f.program("mix", mix, nil)
	before := f.context.Counters().Buffers
	from, err := BufferOf(f.Executor, []uint32{5, 6, 7, 8})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]uint32, 4)
	p := f.submit(Job{
		Dispatch: Dispatch{
			Program: h, Groups: [3]uint32{1, 1, 1}, Uniforms: []job.Uniform{job.Uint("key", 9)}, Buffers: []Bound{from.BindReadOnly(0)},
		},
		Outputs: []Output{{Binding: 1, To: glctx.Bytes(out)}},
	})
	from.Release()
	from.Release()
	f.flushGLThread()
	if n := f.context.Counters().Buffers - before; n != 1 {
		t.Errorf("%d buffers while a job uses one", n)
	}
	close(g.open)
	f.wait(p)
	f.flushGLThread()
	if n := f.context.Counters().Buffers - before; n != 0 {
		t.Errorf("%d buffers were left", n)
	}
	if !slices.Equal(out, mixed([]uint32{5, 6, 7, 8}, 9)) {
		t.Errorf("out is %v", out)
	}
	wantError(t, from.Upload(t.Context(), 0, out), "was released")
}

// TestMemoryThatIsReleasedBesideSubmit releases memory after Submit has checked a job and
// before it retains what the job uses: that panics, and leaves the executor as it was.
func TestMemoryThatIsReleasedBesideSubmit(t *testing.T) {
	f := newFixture(t, Options{})
	h := f.program("mix", mix, nil)
	ahead := newTask(f.affine(), 1, 100) // in the same batch
	ahead.pending = f.submit(ahead.job)
	kept, to, released := f.buffer(make([]uint32, 4)), f.buffer(make([]uint32, 4)), f.buffer(make([]uint32, 4))
	step := func(from *Buffer[uint32]) Dispatch {
		return Dispatch{
			Program: h, Groups: [3]uint32{1, 1, 1}, Uniforms: []job.Uniform{job.Uint("key", 9)},
			Buffers: []Bound{from.BindReadOnly(0), to.Bind(1)},
		}
	}
	f.mu.Lock()
	recovered := make(chan any)
	go func() {
		defer func() { recovered <- recover() }()
		_, err := f.Submit(t.Context(), Job{Dispatch: step(kept), Then: []Dispatch{step(released)}})
		t.Error("no panic:", err)
	}()
	for time.Sleep(time.Millisecond); f.hostAccess.users.TryLock(); time.Sleep(time.Millisecond) {
		f.hostAccess.users.Unlock()
	}
	released.Release()
	f.mu.Unlock()
	if text := fmt.Sprint(<-recovered); !strings.Contains(text, "was released while Submit") {
		t.Errorf("recovered %v", text)
	}
	behind := newTask(f.affine(), 2, 100)
	behind.pending = f.submit(behind.job)
	f.finish(ahead)
	f.finish(behind)
	got := make([]uint32, 4)
	if err := to.Download(t.Context(), 0, got); err != nil || !slices.Equal(got, make([]uint32, 4)) {
		t.Errorf("a part of the job ran: %v, %v", got, err)
	}
}

// flushGLThread waits until all callbacks posted so far have run.
func (f *fixture) flushGLThread() {
	f.t.Helper()
	if err := f.context.Do(func(*glctx.GL) error { return nil }); err != nil {
		f.t.Fatal(err)
	}
}

func TestBufferRanges(t *testing.T) {
	f := newFixture(t, Options{})
	b, err := NewBuffer[float32](f.Executor, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	ctx := t.Context()
	if err := b.Fill(ctx, poisonWord); err != nil {
		t.Fatal(err)
	}
	if err := b.Upload(ctx, 3, []float32{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	got := make([]float32, 5)
	if err := b.Download(ctx, 2, got); err != nil {
		t.Fatal(err)
	}
	if got[0] == got[0] || got[1] != 1 || got[2] != 2 || got[3] != 3 || got[4] == got[4] {
		t.Errorf("got %v", got)
	}
	if b.Len() != 10 || b.Size() != 40 {
		t.Errorf("length %d, size %d", b.Len(), b.Size())
	}
	for _, err := range []error{
		b.Upload(ctx, 8, got), b.Download(ctx, -1, got), b.Download(ctx, 6, got),
	} {
		wantError(t, err, "of memory of 40")
	}
	odd, err := NewBuffer[uint8](f.Executor, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer odd.Release()
	wantError(t, odd.Fill(ctx, 0), "cannot be filled")
	if _, err := NewBuffer[uint32](f.Executor, 0); err == nil {
		t.Error("no error for a buffer of no bytes")
	}
}

// TestMemoryAccessWaitsForJobs downloads right after Submit, also with a context that
// has ended.
func TestMemoryAccessWaitsForJobs(t *testing.T) {
	g := newGatedFence()
	f := newFixture(t, Options{test: testOptions{pollFence: g.pollFence}})
	h := f.program("mix", mix, nil)
	from, to := f.buffer([]uint32{1, 2, 3, 4}), f.buffer(make([]uint32, 4))
	p := f.submit(Job{Dispatch: Dispatch{
		Program: h, Groups: [3]uint32{1, 1, 1}, Uniforms: []job.Uniform{job.Uint("key", 1)}, Buffers: []Bound{from.BindReadOnly(0), to.Bind(1)},
	}})
	got := make([]uint32, 4)
	ended, end := context.WithCancel(t.Context())
	end()
	if err := to.Download(ended, 0, got); err != context.Canceled {
		t.Errorf("error is %v", err)
	}
	close(g.open)
	if err := to.Download(t.Context(), 0, got); err != nil || !slices.Equal(got, mixed([]uint32{1, 2, 3, 4}, 1)) {
		t.Errorf("%v, %v", got, err)
	}
	f.wait(p)
}

// TestAnErrorOfTheDriverIsOfOneJob has the driver refuse what one job of a batch binds: the jobs
// before and behind it are right, also where they bind something else at the same point.
func TestAnErrorOfTheDriverIsOfOneJob(t *testing.T) {
	g := newGatedFence()
	f := newFixture(t, Options{ErrorOfJob: true, test: testOptions{pollFence: g.pollFence}})
	h := f.affine()
	in := func(k *task) *Buffer[uint32] {
		b := f.buffer(k.in)
		k.job.Inputs, k.job.Buffers = nil, []Bound{b.BindReadOnly(0)}
		return b
	}
	tasks := make([]*task, 8)
	for i := range tasks {
		tasks[i] = newTask(h, uint32(i+1), 100)
		b := in(tasks[i])
		if i == 4 {
			id := b.buffer.ID
			b.buffer.ID = 1 << 30 // no buffer
			defer func() { b.buffer.ID = id }()
		}
	}
	for _, k := range tasks { // those from the third on wait, and are one batch
		k.pending = f.submit(k.job)
	}
	close(g.open)
	for i, k := range tasks {
		err := k.pending.Wait(t.Context())
		if i == 4 {
			wantError(t, err, "GL_INVALID")
			continue
		}
		if err = errors.Join(err, k.verify()); err != nil {
			t.Errorf("job %d: %v", i, err)
		}
	}
}
