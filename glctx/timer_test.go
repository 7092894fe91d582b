//go:build linux

package glctx_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// A timer runs once for each Set, not before its time, with the last Set, and not after Close;
// timers do not disturb each other, and run while other callbacks do.
func TestTimer(t *testing.T) {
	c := gltest.Open(t)
	ran := make(chan time.Time, 10)
	var early, late *glctx.Timer
	on := func(fn func(gl *glctx.GL)) {
		if err := c.Do(func(gl *glctx.GL) error { fn(gl); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	var lateRuns atomic.Int32
	on(func(gl *glctx.GL) {
		early = gl.NewTimer(func(*glctx.GL) { ran <- time.Now() })
		late = gl.NewTimer(func(*glctx.GL) { lateRuns.Add(1) })
		late.Set(time.Hour)
	})
	for _, d := range []time.Duration{0, 300 * time.Microsecond, 4 * time.Millisecond} {
		var set time.Time
		on(func(gl *glctx.GL) {
			early.Set(time.Hour)
			set = time.Now()
			early.Set(d)
			gl.ExpectIdle()
		})
		if took := (<-ran).Sub(set); took < d {
			t.Errorf("a timer of %v ran after %v", d, took)
		}
	}
	on(func(*glctx.GL) { early.Set(time.Millisecond) })
	for done := false; !done; {
		on(func(*glctx.GL) {})
		select {
		case <-ran:
			done = true
		default:
		}
	}
	on(func(*glctx.GL) { early.Set(100 * time.Microsecond) })
	early.Close()
	on(func(*glctx.GL) {})
	for len(ran) > 0 {
		<-ran // it had begun
	}
	on(func(*glctx.GL) { late.Set(time.Millisecond) })
	for lateRuns.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	if len(ran) != 0 || lateRuns.Load() != 1 {
		t.Errorf("a timer ran %d times after Close, the other %d times", len(ran), lateRuns.Load())
	}
	late.Close()
}

// A callback is alone as long as none other runs between two of its kind.
func TestOthersRan(t *testing.T) {
	c := gltest.Open(t)
	var last uint64
	for i, want := range []bool{true, false, false, true, false} {
		if i == 3 {
			_ = c.Do(func(*glctx.GL) error { return nil })
		}
		_ = c.Do(func(gl *glctx.GL) error {
			for k := range 2 {
				if ran := gl.OthersRan(&last); ran != (want && k == 0) {
					t.Errorf("callback %d, call %d: others ran: %v", i, k, ran)
				}
			}
			return nil
		})
	}
}
