//go:build linux

package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// watchdog notices that the GPU makes no progress. Work that waits for the GPU or its thread
// is between begin and end. While the GPU has work only the end of such work is progress:
// memory can be made, and programs found and compiled, beside a kernel that does not end. What ends
// without the GPU or its thread is none: programs that are resident, and what was not done.
type watchdog struct {
	hang, compile time.Duration
	lost          func(reason string)
	isCompiling   func() bool                // also for a request that has ended
	passed        func() (uint64, int, bool) // see executor.Executor.Progress

	mu struct {
		sync.Mutex
		working  [kindsOfWork]int
		progress time.Time     // the last, or the begin after idleness
		passed   uint64        // then
		compiled time.Duration // of the time since, in which checks saw that it may be a compile's
		checked  time.Time     // the last check, or the progress after it
		timer    *time.Timer
		due      time.Time // when it runs check
		stopped  bool
	}
}

// work is what a watchdog watches.
type work int

const (
	onGPU     work = iota // jobs
	onThread              // what may end without the GPU, such as copies to idle buffers
	compiling             // may compile a program, or wait for a process that does
	kindsOfWork
)

// looks is the number of checks in the hang time.
const looks = 16

// jobsOfHang are so many short jobs that may have turned long that each has its part of the hang time
// where the GPU has them at once.
const jobsOfHang = 32

// pauseTime is how late a check runs in a process that was paused, as by SIGSTOP or a freezer:
// what the GPU did meanwhile was not seen.
const pauseTime = time.Second

func newWatchdog(hang, compile time.Duration, isCompiling func() bool, passed func() (uint64, int, bool), lost func(string)) *watchdog {
	return &watchdog{hang: hang, compile: compile, isCompiling: isCompiling, passed: passed, lost: lost}
}

// begin starts a piece of work.
func (w *watchdog) begin(kind work) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.working == [kindsOfWork]int{} {
		w.advance()
	}
	w.mu.working[kind]++
	if w.mu.timer == nil && !w.mu.stopped {
		w.checkAfter(w.hang / looks)
	}
}

// end ends a piece of work, and tells whether it was done.
func (w *watchdog) end(kind work, done bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.working[kind]--
	if done && (kind == onGPU || w.mu.working[onGPU] == 0) {
		w.advance()
	}
}

// advance counts progress. mu is held.
func (w *watchdog) advance() {
	w.mu.passed, _, _ = w.passed()
	w.mu.progress, w.mu.compiled = time.Now(), 0
	w.mu.checked = w.mu.progress
}

// check runs while there is work, so that an idle server does not wake.
func (w *watchdog) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.timer = nil
	if w.mu.stopped || w.mu.working == [kindsOfWork]int{} {
		return
	}
	passed, unseen, inKernel := w.passed()
	if passed != w.mu.passed || time.Since(w.mu.due) > pauseTime {
		w.advance()
	}
	// Beside other work, a program that is not compiled waits for the GPU's thread as that does, and each
	// program does while a kernel holds that.
	now := time.Now()
	if !inKernel && (w.isCompiling() || w.mu.working == [kindsOfWork]int{compiling: w.mu.working[compiling]}) {
		w.mu.compiled += now.Sub(w.mu.checked)
	}
	w.mu.checked = now
	hang := w.hang + w.hang*time.Duration(unseen)/jobsOfHang
	waited, limit := now.Sub(w.mu.progress), min(hang+w.mu.compiled, max(w.compile, hang))
	if waited >= limit {
		w.mu.stopped = true
		go w.lost(fmt.Sprintf("nothing on the GPU completed for %v: a kernel does not end, or the driver hangs", limit))
		return
	}
	w.checkAfter(max(min(limit-waited, w.hang/looks), time.Millisecond))
}

// checkAfter has the next check run after d. mu is held.
func (w *watchdog) checkAfter(d time.Duration) {
	w.mu.timer, w.mu.due = time.AfterFunc(d, w.check), time.Now().Add(d)
}

func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.stopped = true
	if w.mu.timer != nil {
		w.mu.timer.Stop()
	}
}

// watched are the programs of a cache whose compiling is watched.
type watched struct {
	*cache.Cache
	watch *watchdog
}

// Get gets a program. Where the GPU's thread has made it that is progress: that one does not compile may
// be remembered. A compile that has begun goes on when ctx ends, and so its session waits for it: it would
// be in no limit otherwise.
func (w watched) Get(ctx context.Context, source *shader.Source) (h *cache.Handle, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.watch.begin(compiling)
	h, err = w.Cache.Get(context.WithoutCancel(ctx), source)
	w.watch.end(compiling, err == nil && h.Origin() != job.Resident)
	if err == nil && ctx.Err() != nil {
		h.Release()
		return nil, ctx.Err()
	}
	return h, err
}
