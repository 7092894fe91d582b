//go:build linux

package queue

import (
	"context"
	"fmt"
	"sync"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/resident/internal/loops"
)

// Queue is a bounded queue of items on the device: see the package documentation. Its
// methods may be called from any goroutine, but not from a callback of
// glctx.Context.Do or Post. Close it before its executor.
type Queue struct {
	executor *executor.Executor
	options  Options
	item     Item
	programs queuePrograms
	buffers  queueBuffers

	running    glctx.Mutex // serializes runs; locked before mu
	parity     int         // index in buffers.items of this round
	lastReport Report

	mu struct {
		sync.Mutex
		closed       bool
		onDevice     int        // items on the device, as of the last report
		pending      [][]uint32 // pushed items that are not on the device, by level
		pendingCount int        // number of pending items
	}
}

// Report has the counters of a queue since New, and the items that are left.
type Report struct {
	Items      int    `json:"items"`      // left on the device
	Levels     []int  `json:"levels"`     // of them, by level
	Rounds     uint64 `json:"rounds"`     // rounds with items
	Finished   uint64 `json:"finished"`   // items
	Returned   uint64 `json:"returned"`   // times that an item was returned to the queue
	Refused    uint64 `json:"refused"`    // reservations that failed
	Unreserved uint64 `json:"unreserved"` // items pushed without a reservation, which are lost
}

// GroupReport has the counters of a work group since New.
type GroupReport struct {
	Taken  uint64 `json:"taken"` // from its own range
	Stolen uint64 `json:"stolen"`
}

// New makes a queue. programs is a cache over the executor's context. The memory of
// item must outlive the queue. It returns an error for options out of range, resident.ErrLoopLimit
// for an item with more loops than the driver allows, a *shader.CompileError for a text that does not compile, and the errors of cache and
// executor.
func New(ctx context.Context, e *executor.Executor, programs executor.Programs, item Item, o Options) (*Queue, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if o, err = o.withinLimit(loops.Limit(e.Context().Info()), item); err != nil {
		return nil, err
	}
	q := &Queue{executor: e, options: o, item: item}
	if err := q.getPrograms(ctx, programs); err != nil {
		return nil, err
	}
	if err := q.prepare(); err != nil {
		q.programs.release()
		return nil, err
	}
	return q, nil
}

// prepare makes the buffers of a queue that has its programs.
func (q *Queue) prepare() (err error) {
	q.running.Context = q.executor.Context()
	q.mu.pending = make([][]uint32, q.options.Levels)
	if q.buffers, err = newQueueBuffers(q.executor, q.options); err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	q.item.Memory = append([]job.Bound{
		q.buffers.state.Bind(0), {}, q.buffers.pushed.Bind(2), q.buffers.groups.Bind(3),
	}, q.item.Memory...)
	return nil
}

// Options returns the options of New, with the defaults set and the Takes that the driver
// allows.
func (q *Queue) Options() Options { return q.options }

// Push adds items at a level, of Options.Words words each, in order. The next rounds
// copy them to the device; Push itself makes no GL call. It adds all of them or, with
// ErrFull, none.
func (q *Queue) Push(level int, words ...uint32) error {
	if level < 0 || level >= q.options.Levels {
		return fmt.Errorf("queue: level %d is not in 0 to %d", level, q.options.Levels-1)
	}
	if len(words)%q.options.Words != 0 {
		return fmt.Errorf("queue: %d words are not items of %d", len(words), q.options.Words)
	}
	n := len(words) / q.options.Words
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.mu.closed:
		return errClosed
	case q.mu.onDevice+q.mu.pendingCount+n > q.options.Capacity:
		return fmt.Errorf("%w: %d items on %d of %d", ErrFull, n, q.mu.onDevice+q.mu.pendingCount, q.options.Capacity)
	}
	q.mu.pending[level] = append(q.mu.pending[level], words...)
	q.mu.pendingCount += n
	return nil
}

// Groups returns the counters of each work group. It waits for a run to end.
func (q *Queue) Groups(ctx context.Context) ([]GroupReport, error) {
	q.running.Lock()
	defer q.running.Unlock()
	words := make([]uint32, lineWords*q.options.Groups)
	if err := q.buffers.groups.Download(ctx, 0, words); err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	reports := make([]GroupReport, q.options.Groups)
	for i := range reports {
		line := words[lineWords*i:]
		reports[i] = GroupReport{Taken: uint64(line[0]), Stolen: uint64(line[1])}
	}
	return reports, nil
}

// Close releases the programs and buffers of the queue, with the items that are left.
// It waits for a run to end. It is idempotent.
func (q *Queue) Close() {
	q.running.Lock()
	defer q.running.Unlock()
	q.mu.Lock()
	closed := q.mu.closed
	q.mu.closed = true
	q.mu.Unlock()
	if !closed {
		q.programs.release()
		q.buffers.release()
	}
}
