//go:build linux

package executor

import (
	"context"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx/futex"
)

// A completed batch wakes the thread that sleeps in Wait, one sleeps at a time, and a context
// that has ended ends the wait.
func TestWaitSleepsInItsThread(t *testing.T) {
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
