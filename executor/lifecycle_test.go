//go:build linux

package executor

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

func TestCancelAtEveryStage(t *testing.T) {
	g := newGatedFence()
	f := newFixture(t, Options{Depth: 2, SlotJobs: 1, test: testOptions{pollFence: g.pollFence, poison: true}})
	h := f.affine()
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := f.Submit(ended, newTask(h, 0, 10).job); err != context.Canceled {
		t.Errorf("before Submit: %v", err)
	}
	if n := f.Stats().Jobs; n != 0 {
		t.Errorf("%d jobs were queued", n)
	}
	first, second := newTask(h, 1, 100), newTask(h, 2, 100)
	first.pending, second.pending = f.submit(first.job), f.submit(second.job)

	// Both slots are taken.
	short, stop := context.WithTimeout(t.Context(), 3*moveResultsAfter)
	defer stop()
	if _, err := f.Submit(short, newTask(h, 3, 10).job); err != context.DeadlineExceeded {
		t.Errorf("waiting for room: %v", err)
	}
	if err := first.pending.Wait(ended); err != context.Canceled {
		t.Errorf("on the GPU: %v", err)
	}
	if first.pending.Ready() {
		t.Error("a job is ready whose fence is not reached")
	}
	second.pending.Release()
	close(g.open)
	f.finish(first)
	if err := first.pending.Wait(ended); err != nil {
		t.Errorf("Wait again: %v", err)
	}
	if err := second.pending.Wait(t.Context()); err != errReleased {
		t.Errorf("Wait after Release: %v", err)
	}
	third := newTask(h, 4, 100)
	third.pending = f.submit(third.job)
	f.finish(third)
	third.pending.Release()
	if err := third.pending.Wait(t.Context()); err != nil {
		t.Errorf("Wait after Wait and Release: %v", err)
	}
}

// TestRoomAfterTheEndOfAContext: who waited for room, and whose context ended meanwhile, does not take what is
// free since.
func TestRoomAfterTheEndOfAContext(t *testing.T) {
	f := newFixture(t, Options{Depth: 2, SlotJobs: 3})
	h := f.affine()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // who waits runs when there is room already
	for range 100 {
		held := f.submitTasks(h, 6, 20)
		for _, k := range held {
			for !k.pending.Ready() {
				time.Sleep(50 * time.Microsecond)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		before, done := f.Stats(), make(chan error, 1)
		var p Pending
		go func() { done <- f.SubmitInto(ctx, &newTask(h, 9, 20).job, &p) }()
		for f.Stats().Blocked == before.Blocked {
			runtime.Gosched()
		}
		cancel()
		for _, k := range held {
			k.pending.Release()
		}
		switch err := <-done; {
		case err == nil && f.Stats().Moved > before.Moved: // it made room, before
			p.Release()
		case err != context.Canceled:
			t.Fatalf("error is %v", err)
		}
	}
}

// TestFullWithAnEndedContext waits for no room.
func TestFullWithAnEndedContext(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	g := newGatedFence()
	f := newFixture(t, Options{Depth: 2, SlotJobs: 3, test: testOptions{pollFence: g.pollFence}})
	h := f.affine()
	tasks := f.submitTasks(h, 6, 20)
	for range 3 {
		if _, err := f.Submit(ended, newTask(h, 9, 20).job); err != context.Canceled {
			t.Fatalf("error is %v", err)
		}
	}
	close(g.open)
	for _, k := range tasks {
		f.finish(k)
	}
	k := newTask(h, 7, 20)
	k.pending = f.submit(k.job)
	f.finish(k)
}

// TestHeldResultsAreMoved holds more results than the slots have places, in several
// goroutines that submit: if none were moved they would all wait for each other.
func TestHeldResultsAreMoved(t *testing.T) {
	f := newFixture(t, Options{Depth: 2, SlotJobs: 4})
	h := f.affine()
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			var held []*task
			for i := range 10 {
				k := newTask(h, uint32(10*worker+i), 50)
				if i%2 == 1 {
					k.job.Outputs[0] = Output{Binding: 1, Size: 200, Read: func(src []byte) { copy(glctx.Bytes(k.out), src) }}
				}
				p, err := f.Submit(context.Background(), k.job)
				if err != nil {
					t.Error(err)
					return
				}
				k.pending = p
				held = append(held, k)
			}
			for i, k := range held {
				if i%5 == 4 {
					k.pending.Release()
					if slices.ContainsFunc(k.out, func(v uint32) bool { return v != poisonWord }) {
						t.Error("an output has changed, and nothing waited for the job")
					}
					continue
				}
				if err := errors.Join(k.pending.Wait(context.Background()), k.verify()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := f.Stats().Moved; n == 0 {
		t.Error("no results were moved, although each goroutine held more than there were places")
	}
	k := newTask(h, 99, 50)
	k.pending = f.submit(k.job)
	f.finish(k)
}

func TestFillAndReadUseMappedMemory(t *testing.T) {
	f := newFixture(t, Options{})
	k := newTask(f.affine(), 5, 1000)
	var filled, read *byte
	k.job.Inputs[0] = Input{Binding: 0, Size: 4000, Fill: func(dst []byte) {
		filled = &dst[0]
		if len(dst) != 4000 || cap(dst) != 4000 {
			t.Errorf("Fill got %d bytes, room for %d", len(dst), cap(dst))
		}
		copy(dst, glctx.Bytes(k.in))
	}}
	k.job.Outputs[0] = Output{Binding: 1, Size: 4000, Read: func(src []byte) {
		read = &src[0]
		if len(src) != 4000 || cap(src) != 4000 {
			t.Errorf("Read got %d bytes, room for %d", len(src), cap(src))
		}
		copy(glctx.Bytes(k.out), src)
	}}
	k.pending = f.submit(k.job)
	f.finish(k)
	s := f.mu.slot
	if filled != &s.up.Data[0] || read != &s.down.Data[0] {
		t.Error("Fill and Read did not get the slot's own memory")
	}
	k.poison()
	f.wait(k.pending)
	if k.out[0] != poisonWord {
		t.Error("Read was called again")
	}
}

// TestPanicInFillOrReadAffectsItsJobOnly lets Fill and Read panic.
func TestPanicInFillOrReadAffectsItsJobOnly(t *testing.T) {
	f := newFixture(t, Options{Depth: 2, SlotJobs: 2})
	h := f.affine()
	panics := func(fn func()) (value any) {
		defer func() { value = recover() }()
		fn()
		return nil
	}
	for range 5 {
		bad := newTask(h, 1, 10)
		bad.job.Inputs[0] = Input{Binding: 0, Size: 40, Fill: func([]byte) { panic("fill") }}
		if v := panics(func() { _, _ = f.Submit(t.Context(), bad.job) }); v != "fill" {
			t.Errorf("recovered %v", v)
		}
		bad = newTask(h, 2, 10)
		bad.job.Outputs[0] = Output{Binding: 1, Size: 40, Read: func([]byte) { panic("read") }}
		p := f.submit(bad.job)
		if v := panics(func() { _ = p.Wait(t.Context()) }); v != "read" {
			t.Errorf("recovered %v", v)
		}
		k := newTask(h, 3, 10)
		k.pending = f.submit(k.job)
		f.finish(k)
	}
}

// TestSlowFillDelaysLaterJobsOnly waits for an earlier job inside Fill, while
// a later job is queued.
func TestSlowFillDelaysLaterJobsOnly(t *testing.T) {
	f := newFixture(t, Options{})
	h := f.affine()
	before := newTask(h, 1, 10)
	before.pending = f.submit(before.job)
	for !before.pending.Ready() {
		time.Sleep(time.Millisecond)
	}
	slow := newTask(h, 2, 10)
	after := newTask(h, 3, 10)
	slow.job.Inputs[0] = Input{Binding: 0, Size: 40, Fill: func(dst []byte) {
		f.finish(before)
		after.pending = f.submit(after.job)
		time.Sleep(2 * time.Millisecond)
		if after.pending.Ready() {
			t.Error("a job completed before the one submitted before it")
		}
		copy(dst, glctx.Bytes(slow.in))
	}}
	slow.pending = f.submit(slow.job)
	f.finish(slow)
	f.finish(after)
}

func TestTimeoutFailsPendingJobs(t *testing.T) {
	g := newGatedFence()
	f := newFixture(t, Options{Depth: 3, SlotJobs: 1, Timeout: 20 * time.Millisecond, test: testOptions{pollFence: g.pollFence, poison: true}})
	h := f.affine()
	tasks := f.submitTasks(h, 3, 30)
	for _, k := range tasks {
		if err := k.pending.Wait(t.Context()); err != ErrTimeout {
			t.Errorf("error is %v", err)
		}
	}
	if n := f.Stats().Timeouts; n == 0 {
		t.Error("no timeout was counted")
	}
	if err := f.Drain(t.Context()); err != ErrTimeout {
		t.Errorf("drain: %v", err)
	}
	// The GPU still uses the slots.
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := f.Submit(soon, tasks[0].job); err != context.DeadlineExceeded {
		t.Errorf("a slot was reused before its fence: %v", err)
	}
	close(g.open)
	if err := f.Drain(t.Context()); err != nil && err != ErrTimeout {
		t.Errorf("drain: %v", err)
	}
	for k := newTask(h, 9, 30); ; time.Sleep(time.Millisecond) {
		p, err := f.Submit(t.Context(), k.job)
		if err != nil {
			continue
		}
		if err = p.Wait(t.Context()); err == nil {
			err = k.verify()
		}
		if err != ErrTimeout { // a slow machine may exceed so short a timeout
			if err != nil {
				t.Error(err)
			}
			return
		}
	}
}

// TestCloseOfAHungGPU closes while no fence is signalled: Close returns after the
// timeout.
func TestCloseOfAHungGPU(t *testing.T) {
	f := newFixture(t, Options{Timeout: 10 * time.Millisecond, test: testOptions{pollFence: newGatedFence().pollFence}})
	k := newTask(f.affine(), 1, 30)
	p := f.submit(k.job)
	if err := f.Close(); err != ErrTimeout {
		t.Errorf("close: %v", err)
	}
	if err := p.Wait(t.Context()); err != ErrTimeout {
		t.Errorf("wait: %v", err)
	}
	if _, err := f.Submit(t.Context(), k.job); err != errClosed {
		t.Errorf("submit: %v", err)
	}
}

func TestInvalidArguments(t *testing.T) {
	f := newFixture(t, Options{})
	if _, err := New(nil, f.cache, Options{}); err == nil {
		t.Error("an executor without a context")
	}
	if _, err := New(f.context, nil, Options{}); err == nil {
		t.Error("an executor without programs")
	}
	var p Pending
	p.Release()
	if err := p.Wait(t.Context()); err != ErrNotSubmitted || !p.Ready() {
		t.Errorf("wait for no job: %v", err)
	}
	k := newTask(f.affine(), 1, 30)
	if err := f.SubmitInto(t.Context(), &k.job, &p); err != nil {
		t.Fatal(err)
	}
	k.pending = &p
	f.finish(k)
}

func TestClosedExecutor(t *testing.T) {
	f := newFixture(t, Options{})
	h := f.affine()
	k := newTask(h, 1, 30)
	waited, kept, released := f.submit(k.job), f.submit(k.job), f.submit(k.job)
	f.wait(waited)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if n := f.context.Counters().Buffers; n != 0 {
		t.Errorf("%d buffers were left", n)
	}
	if err := kept.Wait(t.Context()); err != errClosed {
		t.Errorf("wait: %v", err)
	}
	released.Release()
	if err := waited.Wait(t.Context()); err != nil {
		t.Errorf("wait again: %v", err)
	}
	if _, err := f.Submit(t.Context(), k.job); err != errClosed {
		t.Errorf("submit: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
}

// TestCloseWakesSubmit closes while Submit waits for room.
func TestCloseWakesSubmit(t *testing.T) {
	g := newGatedFence()
	f := newFixture(t, Options{Depth: 1, test: testOptions{pollFence: g.pollFence}})
	k := newTask(f.affine(), 1, 30)
	p := f.submit(k.job)
	blocked := make(chan error)
	go func() {
		_, err := f.Submit(context.Background(), newTask(f.affine(), 2, 30).job)
		blocked <- err
	}()
	for f.Stats().Blocked == 0 {
		time.Sleep(time.Millisecond)
	}
	closed := make(chan error)
	go func() { closed <- f.Close() }()
	if err := <-blocked; err != errClosed {
		t.Errorf("submit: %v", err)
	}
	close(g.open)
	if err := <-closed; err != nil {
		t.Errorf("close: %v", err)
	}
	if err := p.Wait(t.Context()); err != errClosed {
		t.Errorf("wait: %v", err)
	}
}

// TestContextLostFailsAllJobs loses the context with jobs on the GPU, in
// the queue and waiting for room.
func TestContextLostFailsAllJobs(t *testing.T) {
	g, lost := newGatedFence(), make(chan struct{})
	pollFence := func(gl *glctx.GL, fence glctx.Fence) (bool, error) {
		select {
		case <-lost:
			return false, shader.ErrContextLost
		default:
			return g.pollFence(gl, fence)
		}
	}
	f := newFixture(t, Options{Depth: 3, SlotJobs: 2, Timing: true, test: testOptions{pollFence: pollFence}})
	h := f.affine()
	var pending []*Pending
	for i := range 6 {
		pending = append(pending, f.submit(newTask(h, uint32(i), 30).job))
	}
	blocked := make(chan error)
	go func() {
		_, err := f.Submit(context.Background(), newTask(h, 7, 30).job)
		blocked <- err
	}()
	for f.Stats().Blocked == 0 {
		time.Sleep(time.Millisecond)
	}
	close(lost)
	for _, p := range pending {
		for range 2 {
			if err := p.Wait(t.Context()); err != shader.ErrContextLost {
				t.Errorf("wait: %v", err)
			}
		}
	}
	if err := <-blocked; err != shader.ErrContextLost {
		t.Errorf("submit that waited: %v", err)
	}
	if _, err := f.Submit(t.Context(), newTask(h, 8, 30).job); err != shader.ErrContextLost {
		t.Errorf("submit: %v", err)
	}
	if err := f.Drain(t.Context()); err != shader.ErrContextLost {
		t.Errorf("drain: %v", err)
	}
	// The lost GPU finishes nothing: all is freed at once.
	f.flushGLThread()
	if n := f.context.Counters().Fences; n != 0 {
		t.Errorf("%d fences were left", n)
	}
	if n := f.cache.Stats().InUse; n != 1 { // h
		t.Errorf("%d programs are in use", n)
	}
	if err := f.Close(); err != shader.ErrContextLost {
		t.Errorf("close: %v", err)
	}
	if n := f.context.Counters().Buffers; n != 0 {
		t.Errorf("%d buffers were left", n)
	}
}

// TestContextClosedFirst closes the context while a job is on the GPU.
func TestContextClosedFirst(t *testing.T) {
	f := newFixture(t, Options{test: testOptions{pollFence: newGatedFence().pollFence}})
	k := newTask(f.affine(), 1, 30)
	p := f.submit(k.job)
	f.flushGLThread()
	// Delete the slots first: Counters.Buffers then has what the executor leaves
	// behind.
	if err := f.context.Do(func(gl *glctx.GL) error {
		for _, s := range f.slots {
			s.delete(gl)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := f.context.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(t.Context()); err != shader.ErrClosed {
		t.Errorf("wait: %v", err)
	}
	if _, err := f.Submit(t.Context(), k.job); err != shader.ErrClosed {
		t.Errorf("submit: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// TestLongRunsLeakNothing reuses the slots many times and counts buffers,
// handles and batches.
func TestLongRunsLeakNothing(t *testing.T) {
	for form, test := range forms {
		t.Run(form, func(t *testing.T) {
			f := newFixture(t, Options{Depth: 3, SlotBytes: 1 << 12, SlotJobs: 3, Timing: true, test: test})
			h := f.affine()
			k := newTask(h, 1, 100)
			before := f.context.Counters().Buffers
			for range 500 {
				p := f.submit(k.job)
				p.Release()
			}
			if err := f.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.flushGLThread()
			f.mu.Lock()
			spare, live, queued := len(f.mu.spare), len(f.mu.live), len(f.mu.queue)
			f.mu.Unlock()
			if live != 0 || queued != 0 || spare > 3*3 {
				t.Errorf("%d batches live, %d queued, %d spare", live, queued, spare)
			}
			if n := len(f.pipeline.queries); n > 2*(maxStages+3*3) {
				t.Errorf("%d queries", n)
			}
			if n := f.context.Counters().Buffers - before; n != 0 {
				t.Errorf("%d buffers were left", n)
			}
			if n := f.cache.Stats().InUse; n > 2 {
				t.Errorf("%d programs in use", n)
			}
		})
	}
}

// TestLargeJobs runs single large jobs and streams of them in stages.
func TestLargeJobs(t *testing.T) {
	for _, depth := range []int{2, 3, 4, 6} {
		f := newFixture(t, Options{Depth: depth, SlotBytes: 1 << 20, Timing: true, test: testOptions{staged: true, poison: true}})
		h := f.affine()
		single := newTask(h, 1, 1<<18)
		single.pending = f.submit(single.job)
		f.finish(single)
		var tasks []*task
		for i := range 3 * depth {
			k := newTask(h, uint32(i), 1<<18-i)
			k.pending = f.submit(k.job)
			tasks = append(tasks, k)
			if len(tasks) > depth-1 {
				f.finish(tasks[0])
				tasks = tasks[1:]
			}
		}
		for _, k := range tasks {
			f.finish(k)
		}
	}
}

// The first large job does not wait for the copying kernel, which may wait for others' compiles.
func TestTheFirstLargeJobDoesNotWait(t *testing.T) {
	f := newFixture(t, Options{SlotBytes: 1 << 20})
	f.staged = true
	k := newTask(f.affine(), 1, 1<<17)
	free := make(chan struct{})
	f.context.Post(func(*glctx.GL) { <-free })
	submitted := make(chan error, 1)
	k.pending = new(Pending)
	go func() { submitted <- f.SubmitInto(t.Context(), &k.job, k.pending) }()
	select {
	case err := <-submitted:
		submitted <- err
	case <-time.After(20 * time.Second):
		t.Error("the job waits")
	}
	close(free)
	if err := <-submitted; err != nil {
		t.Fatal(err)
	}
	f.finish(k)
}

// TestStagesWithoutInputsOrOutputs runs jobs with and without inputs and outputs in
// one stream.
func TestStagesWithoutInputsOrOutputs(t *testing.T) {
	f := newFixture(t, Options{Depth: 4, SlotJobs: 1, test: testOptions{staged: true, poison: true}})
	h := f.affine()
	state := f.buffer(make([]uint32, 64))
	var tasks []*task
	for i := range 24 {
		k := newTask(h, uint32(i), 64)
		j := k.job
		if i%2 == 1 {
			j.Outputs, j.Buffers = nil, []Bound{state.Bind(1)}
		}
		if i%4 >= 2 {
			j.Inputs, j.Buffers = nil, append(j.Buffers, state.BindReadOnly(0))
		}
		if i%4 == 3 {
			j.Buffers = []Bound{{Binding: 0, Buffer: state.Memory}, {Binding: 1, Buffer: state.Memory}}
		}
		k.pending = f.submit(j)
		tasks = append(tasks, k)
	}
	// The content of state, computed in order.
	held := make([]uint32, 64)
	for i, k := range tasks {
		f.wait(k.pending)
		in := k.in
		if i%4 >= 2 {
			in = held
		}
		want := make([]uint32, 64)
		for j := range want {
			want[j] = k.a*in[j] + k.b
		}
		if i%2 == 1 {
			held = want
			continue
		}
		for j := range want {
			if k.out[j] != want[j] {
				t.Fatalf("job %d, word %d is %#x, want %#x", i, j, k.out[j], want[j])
			}
		}
	}
}
