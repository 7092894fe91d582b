package executor

import (
	"strings"
	"sync/atomic"
	"time"
)

// Stats counts the work of an executor since it was made.
type Stats struct {
	Jobs     uint64        `json:"jobs"`     // submitted
	Blocked  uint64        `json:"blocked"`  // times that Submit had to wait for room
	Moved    uint64        `json:"moved"`    // results moved to make room, because they were not waited for
	Batches  uint64        `json:"batches"`  // opened: Jobs / Batches is the average size
	Stages   uint64        `json:"stages"`   // given to the GPU, each with a fence and a flush
	Barriers uint64        `json:"barriers"` // memory barriers
	Polls    uint64        `json:"looks"`    // of the fences, by the GL thread
	Sleeps   uint64        `json:"sleeps"`   // polls after which the GL thread slept
	Timeouts uint64        `json:"timeouts"` // times that the GPU completed nothing for Options.Timeout
	GPUTime  time.Duration `json:"gpu_ns"`   // of all stages; needs Options.Timing, and is 0 on some software drivers
}

type counts struct {
	jobs, completed, passed, blocked, moved, stages, barriers, polls, sleeps, timeouts atomic.Uint64

	gpuNanos, unseen atomic.Int64
	inKernel         atomic.Bool // see Progress
}

// Queued returns the number of jobs that were submitted and that the GPU has not finished.
// It takes no lock, so that a caller can compare several executors for each job.
func (e *Executor) Queued() int {
	completed := e.counts.completed.Load() // first: no job completes before it is counted
	return int(max(0, int64(e.counts.jobs.Load()-completed)))
}

// Progress returns a number that grows with jobs that complete, alone or together, with those of
// them that the GPU is seen to have finished before, and with all that a software driver has done: jobs,
// memory and copies. And how many jobs the GPU has whose end is seen with that of another one alone; and
// whether a kernel holds the GL thread: a program whose compile has begun waits for it, too.
func (e *Executor) Progress() (passed uint64, unseen int, inKernel bool) {
	unseen = int(e.counts.unseen.Load()) // first: with its end a batch has passed
	return e.counts.passed.Load(), unseen, e.counts.inKernel.Load()
}

// ran counts what has just been done on the GL thread, where a kernel would hold that.
func (e *Executor) ran() {
	if e.holdsThread() {
		e.counts.passed.Add(1)
	}
}

// holdsThread reports whether kernels run in the calls on the GL thread: those of a software driver, but
// for zink's, which another thread runs.
func (e *Executor) holdsThread() bool {
	return e.info.Software() && !strings.HasPrefix(e.info.GPU, "zink ")
}

// Stats returns the counts so far. It may be called at any time.
func (e *Executor) Stats() Stats {
	e.mu.Lock()
	batches := e.mu.sequence
	e.mu.Unlock()
	n := &e.counts
	return Stats{
		Jobs:     n.jobs.Load(),
		Blocked:  n.blocked.Load(),
		Moved:    n.moved.Load(),
		Batches:  batches,
		Stages:   n.stages.Load(),
		Barriers: n.barriers.Load(),
		Polls:    n.polls.Load(),
		Sleeps:   n.sleeps.Load(),
		Timeouts: n.timeouts.Load(),
		GPUTime:  time.Duration(n.gpuNanos.Load()),
	}
}
