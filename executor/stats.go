//go:build linux

package executor

import (
	"sync/atomic"
	"time"
)

// Stats say what an executor has done since it was made.
type Stats struct {
	Jobs     uint64        `json:"jobs"`     // submitted
	Blocked  uint64        `json:"blocked"`  // times that Submit had to wait for room
	Moved    uint64        `json:"moved"`    // results moved out of the way because nobody fetched them
	Batches  uint64        `json:"batches"`  // begun: Jobs / Batches is the average size
	Stages   uint64        `json:"stages"`   // handed to the GPU, each with a fence and a flush
	Barriers uint64        `json:"barriers"` // memory barriers
	Looks    uint64        `json:"looks"`    // turns of the GL thread
	Sleeps   uint64        `json:"sleeps"`   // of them, those after which it slept
	Timeouts uint64        `json:"timeouts"` // times that the GPU completed nothing for too long
	GPUTime  time.Duration `json:"gpu_ns"`   // on the GPU; with Options.Timing, and 0 on some software drivers
}

type counts struct {
	jobs, blocked, moved, stages, barriers, looks, sleeps, timeouts atomic.Uint64

	gpuNanos atomic.Int64
}

// Stats may be called at any time.
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
		Looks:    n.looks.Load(),
		Sleeps:   n.sleeps.Load(),
		Timeouts: n.timeouts.Load(),
		GPUTime:  time.Duration(n.gpuNanos.Load()),
	}
}
