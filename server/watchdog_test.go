//go:build linux

package server

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestWhatIsProgress has work of every kind, beside a kernel that does not end and without one.
func TestWhatIsProgress(t *testing.T) {
	const hang, compile = 10 * time.Second, 10 * time.Minute
	// every begins and ends work of a kind again and again, each after a pause. A program that is
	// done is compiled meanwhile.
	var compiles atomic.Bool
	var passed atomic.Uint64
	var unseen atomic.Int64
	var inKernel atomic.Bool
	progress := func() (uint64, int, bool) { return passed.Load(), int(unseen.Load()), inKernel.Load() }
	every := func(w *watchdog, n int, pause, takes time.Duration, kind work, done bool) {
		for range n {
			time.Sleep(pause)
			w.begin(kind)
			compiles.Store(kind == compiling && done)
			time.Sleep(takes)
			compiles.Store(false)
			w.end(kind, done)
		}
	}
	for name, c := range map[string]struct {
		lost time.Duration // 0: it is not
		do   func(w *watchdog)
	}{
		"a kernel does not end":                      {hang, func(w *watchdog) { w.begin(onGPU) }},
		"a kernel, and others end":                   {0, func(w *watchdog) { w.begin(onGPU); every(w, 9, 9*time.Second, 0, onGPU, true); w.end(onGPU, true) }},
		"a kernel, and others are refused":           {hang, func(w *watchdog) { w.begin(onGPU); every(w, 99, time.Second, 0, onGPU, false) }},
		"a kernel, and programs are resident":        {hang, func(w *watchdog) { w.begin(onGPU); every(w, 99, time.Second, 0, compiling, true) }},
		"a kernel, and memory is made":               {hang, func(w *watchdog) { w.begin(onGPU); every(w, 99, time.Second, 0, onThread, true) }},
		"a kernel, and a program takes a minute":     {hang + time.Minute, func(w *watchdog) { w.begin(onGPU); every(w, 1, time.Second, time.Minute, compiling, true) }},
		"a kernel, and programs compile for an hour": {compile, func(w *watchdog) { w.begin(onGPU); every(w, 60, 0, time.Minute, compiling, true) }},
		"a job waits for a program":                  {0, func(w *watchdog) { w.begin(onGPU); every(w, 1, 0, time.Minute, compiling, true); w.end(onGPU, true) }},
		"a program compiles for ever":                {compile, func(w *watchdog) { w.begin(compiling) }},
		"a plan of many programs": {0, func(w *watchdog) {
			w.begin(compiling)
			every(w, 60, 0, time.Minute, compiling, true)
			w.end(compiling, true)
		}},
		"a kernel does not end, and the process was paused": {hang + time.Second, func(w *watchdog) {
			w.begin(onGPU)
			time.Sleep(time.Second)
			w.mu.Lock()
			w.mu.due = w.mu.due.Add(-2 * pauseTime)
			w.mu.Unlock()
		}},
		"a call does not end, and programs are resident":      {hang, func(w *watchdog) { w.begin(onThread); every(w, 99, time.Second, 0, compiling, false) }},
		"a compile does not end, and programs are resident":   {compile, func(w *watchdog) { w.begin(compiling); every(w, 999, time.Second, 0, compiling, false) }},
		"memory is not made":                                  {hang, func(w *watchdog) { w.begin(onThread) }},
		"a kernel, and a program waits for it":                {hang, func(w *watchdog) { w.begin(onGPU); every(w, 1, time.Second, time.Hour, compiling, false) }},
		"a kernel, and a program that has begun waits for it": {hang, func(w *watchdog) { w.begin(onGPU); inKernel.Store(true); every(w, 1, 0, time.Hour, compiling, true) }},
		"a kernel, and a small program now and then":          {hang + time.Second, func(w *watchdog) { w.begin(onGPU); every(w, 9, 5100*time.Millisecond, time.Second, compiling, true) }},
		"a call does not end, and a program waits for it":     {hang, func(w *watchdog) { w.begin(onThread); every(w, 1, time.Second, time.Hour, compiling, false) }},
		"a kernel after a program of another process":         {time.Minute + hang, func(w *watchdog) { w.begin(compiling); time.Sleep(time.Minute + 300*time.Millisecond); w.begin(onGPU) }},
		"jobs that end together, and are done one by one": {0, func(w *watchdog) {
			w.begin(onGPU)
			for range 5 {
				time.Sleep(hang - time.Second)
				passed.Add(1)
			}
			w.end(onGPU, true)
		}},
		"jobs that end together, one of which does not": {2 * hang, func(w *watchdog) { unseen.Store(jobsOfHang); w.begin(onGPU) }},
		"jobs that turn long together": {0, func(w *watchdog) {
			unseen.Store(30)
			w.begin(onGPU)
			time.Sleep(31 * 350 * time.Millisecond)
			passed.Add(1)
			unseen.Store(0)
			time.Sleep(time.Second) // their outputs wait
			w.end(onGPU, true)
		}},
		"nothing": {0, func(w *watchdog) { every(w, 9, time.Hour, time.Second, onGPU, true) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, after := time.Now(), atomic.Int64{}
				w := newWatchdog(hang, compile, compiles.Load, progress, func(string) { after.Store(int64(time.Since(start))) })
				unseen.Store(0)
				inKernel.Store(false)
				c.do(w)
				time.Sleep(2 * compile)
				w.stop()
				if lost := time.Duration(after.Load()); lost.Round(time.Second) != c.lost {
					t.Errorf("lost after %v, want %v", lost, c.lost)
				}
			})
		})
	}
}

// TestProgramsOfRequestsThatEnded are made to their end, also where nobody waits for them: a job
// behind one has its time from then on.
func TestProgramsOfRequestsThatEnded(t *testing.T) {
	const hang, compile = 10 * time.Second, 10 * time.Minute
	for compiles, want := range map[time.Duration]time.Duration{0: hang, 9 * time.Second: 9*time.Second + hang, 25 * time.Second: 25*time.Second + hang, time.Hour: compile} {
		synctest.Test(t, func(t *testing.T) {
			start, after := time.Now(), atomic.Int64{}
			isCompiling := func() bool { return time.Since(start) < compiles }
			w := newWatchdog(hang, compile, isCompiling, func() (uint64, int, bool) { return 0, 0, false }, func(string) { after.Store(int64(time.Since(start))) })
			w.begin(onGPU)
			time.Sleep(2 * compile)
			w.stop()
			if lost := time.Duration(after.Load()); lost > want || lost < want-hang/4 {
				t.Errorf("with a program that takes %v: lost after %v, want %v", compiles, lost, want)
			}
		})
	}
}
