//go:build linux

package executor

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/internal/futex"
)

// A completed batch wakes the thread that sleeps in Wait, one sleeps at a time, and a context
// that has ended ends the wait.
func TestWaitSleepsInItsThread(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	g := newGatedFence()
	f := newFixture(t, Options{test: testOptions{pollFence: g.pollFence}})
	k := newTask(f.affine(), 1, 30)
	k.pending = f.submit(k.job)
	f.lastStage.Store(int64(time.Millisecond))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.pending.Wait(ctx); err != context.Canceled {
		t.Errorf("wait: %v", err)
	}
	b := k.pending.batch
	f.mu.Lock()
	b.slept = true
	b.sleeper.Prepare(futex.NoLimit)
	f.mu.Unlock()
	if b.sleepThread() {
		t.Error("a second thread slept until the batch was resolved")
	}
	close(g.open)
	b.sleeper.Sleep(futex.NoLimit)
	if !b.resolved.Load() || !b.sleepThread() {
		t.Error("the thread was woken before the batch was resolved")
	}
	f.finish(k)
}

// Spins without success delay the next ones, twice as long each time, up to a limit; one with
// success ends that.
func TestSpinsBackOff(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	g := newGatedFence()
	f := newFixture(t, Options{test: testOptions{pollFence: g.pollFence}})
	k := newTask(f.affine(), 1, 30)
	k.pending = f.submit(k.job)
	b := k.pending.batch
	for i, want := range []int32{0, 1, 3, 7, 15, 15, 0} {
		b.resolved.Store(i == 5)
		for skipped := f.spinBackoff.Load(); skipped > 0; skipped-- {
			if b.spin() {
				t.Error("a call that was to be skipped spun")
			}
		}
		if got := b.spin(); got != (i == 5) {
			t.Errorf("spin %d: %v", i, got)
		}
		if got := f.spinBackoff.Load(); i != 5 && got != want {
			t.Errorf("spin %d is followed by %d calls that do not spin, want %d", i, got, want)
		}
	}
	b.resolved.Store(false)
	close(g.open)
	f.finish(k)
}

// Callbacks between two jobs may bind what they like: the second job binds its own again.
func TestCallbacksBetweenJobsBind(t *testing.T) {
	f := newFixture(t, Options{Depth: 1})
	h, other := f.affine(), f.affineVariant(1)
	disturb := map[string]func(gl *glctx.GL){
		"nothing":   func(*glctx.GL) {},
		"a program": func(gl *glctx.GL) { gl.UseProgram(other.Program()) },
		"a buffer": func(gl *glctx.GL) {
			for binding := range uint32(2) {
				gl.BindStorageRange(binding, f.slots[0].inputs, 0, 256)
			}
		},
	}
	for name, bind := range disturb {
		for i := range uint32(3) {
			k := newTask(h, i, 100)
			k.pending = f.submit(k.job)
			f.wait(k.pending)
			if err := k.verify(); err != nil {
				t.Errorf("job %d, with %s bound before: %v", i, name, err)
			}
			if name != "nothing" || i == 1 {
				_ = f.context.Do(func(gl *glctx.GL) error { bind(gl); return nil })
			}
		}
	}
}
