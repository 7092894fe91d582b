//go:build linux

package glctx_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// A timer runs once for each Set, not before its time, with the last Set, and not after Close;
// timers do not disturb each other, and run while other callbacks do. Both where the GL thread
// sleeps until then, and where processors are few.
func TestTimer(t *testing.T) {
	for _, processors := range []int{2, 4} {
		t.Run(fmt.Sprint(processors), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
			testTimer(t)
		})
	}
}

func testTimer(t *testing.T) {
	c := gltest.Open(t)
	on := func(fn func(gl *glctx.GL)) {
		if err := c.Do(func(gl *glctx.GL) error { fn(gl); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	newTimer := func() (timer *glctx.Timer, ran chan time.Time) {
		ran = make(chan time.Time, 10)
		on(func(gl *glctx.GL) {
			var err error
			if timer, err = gl.NewTimer(func(*glctx.GL) { ran <- time.Now() }); err != nil {
				t.Fatal(err)
			}
		})
		return timer, ran
	}
	early, earlyRan := newTimer()
	late, lateRan := newTimer()
	on(func(*glctx.GL) { late.Set(time.Hour) })
	for _, d := range []time.Duration{0, 300 * time.Microsecond, 4 * time.Millisecond} {
		var set time.Time
		on(func(gl *glctx.GL) {
			early.Set(time.Hour)
			set = time.Now()
			early.Set(d)
			gl.ExpectIdle()
		})
		if took := (<-earlyRan).Sub(set); took < d {
			t.Errorf("a timer of %v ran after %v", d, took)
		}
	}
	on(func(*glctx.GL) { early.Set(time.Millisecond) })
	for len(earlyRan) == 0 {
		on(func(*glctx.GL) {})
	}
	<-earlyRan
	early.Close()
	on(func(*glctx.GL) { early.Set(0); late.Set(time.Millisecond) })
	<-lateRan
	if len(earlyRan) != 0 || len(lateRan) != 0 {
		t.Errorf("a timer ran %d times after Close, the other %d times more", len(earlyRan), len(lateRan))
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
