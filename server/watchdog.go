//go:build linux

package server

import (
	"fmt"
	"sync"
	"time"
)

// watchdog notices that the GPU makes no progress. Work that waits for the GPU is between
// begin and end; an end is progress.
type watchdog struct {
	hang, compile time.Duration
	lost          func(reason string)

	mu struct {
		sync.Mutex
		working   int
		compiling int
		progress  time.Time // of the last end, or of the begin after idleness
		timer     *time.Timer
		stopped   bool
	}
}

func newWatchdog(hang, compile time.Duration, lost func(string)) *watchdog {
	return &watchdog{hang: hang, compile: compile, lost: lost}
}

// begin starts a piece of work. compiles tells that it may compile programs.
func (w *watchdog) begin(compiles bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.working == 0 {
		w.mu.progress = time.Now()
	}
	w.mu.working++
	if compiles {
		w.mu.compiling++
	}
	if w.mu.timer == nil && !w.mu.stopped {
		w.mu.timer = time.AfterFunc(w.hang, w.check)
	}
}

// end ends a piece of work.
func (w *watchdog) end(compiles bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.working--
	if compiles {
		w.mu.compiling--
	}
	w.mu.progress = time.Now()
}

// check runs while there is work, so that an idle server does not wake.
func (w *watchdog) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.timer = nil
	if w.mu.working == 0 || w.mu.stopped {
		return
	}
	limit := w.hang
	if w.mu.compiling > 0 {
		limit = w.compile
	}
	left := limit - time.Since(w.mu.progress)
	if left <= 0 {
		w.mu.stopped = true
		go w.lost(fmt.Sprintf("nothing on the GPU completed for %v: a kernel does not end, or the driver hangs", limit))
		return
	}
	w.mu.timer = time.AfterFunc(max(left, time.Millisecond), w.check)
}

func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.stopped = true
	if w.mu.timer != nil {
		w.mu.timer.Stop()
	}
}
