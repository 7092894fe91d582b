package glctx

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shadercache/shadercache/internal/futex"
)

// Waking a sleeping thread costs 30 to 60 us, so both sides spin before they sleep:
// the GL thread for about the time in which a caller reads the next blob from disk,
// the caller for about the time of a short callback. After a spin without a job the GL
// thread does not spin again until a job comes within that time: jobs at regular, longer
// distances do not pay for it. Nor does the caller spin that had to wake the thread.
const (
	threadSpin = 100 * time.Microsecond
	callerSpin = 30 * time.Microsecond
)

// callback is one queued callback: fn with its call for a Do, post for a Post.
type callback struct {
	fn   func(*GL) error
	post func(*GL)
	call *call
}

// queue passes jobs to the GL thread. Any goroutine may put jobs; only the GL thread takes
// them.
type queue struct {
	waiting    atomic.Bool // there are jobs: read without the lock while spinning
	_          [64]byte    // a line of the CPU's cache: spinning does not slow the rest down
	expectIdle bool        // the next take does not spin; used by the GL thread only
	sparse     bool        // the last job came later than threadSpin; likewise
	tookFirst  bool        // the last job was one of mu.first; likewise
	timers     []*Timer    // likewise

	mu struct {
		sync.Mutex
		jobs     []callback
		batch    []callback // that were put before jobs: from next on
		next     int
		first    []callback // run before the others, but one of them runs between two of these
		sleeping bool
		asleep   time.Time     // when the GL thread began to sleep
		slept    time.Duration // until a job came; waking up takes longer
		closed   bool
	}
	sleeper futex.Sleeper // of the GL thread
}

// put appends a job and reports whether the queue was open, and whether the GL thread
// slept.
func (q *queue) put(j callback, first bool) (open, slept bool) {
	q.mu.Lock()
	if q.mu.closed {
		q.mu.Unlock()
		return false, false
	}
	list := &q.mu.jobs
	if first {
		list = &q.mu.first
	}
	*list = append(*list, j)
	q.waiting.Store(true)
	slept = q.mu.sleeping
	if slept {
		q.mu.sleeping, q.mu.slept = false, time.Since(q.mu.asleep)
	}
	q.mu.Unlock()
	if slept {
		q.sleeper.Wake()
	}
	return true, slept
}

// take waits for a job and returns it, or false when the queue is closed and empty; or the
// callback of a timer whose time has come. It spins before it sleeps where jobs come closely,
// unless expectIdle is set, which it resets.
func (q *queue) take() (j callback, open bool) {
	for {
		due, next := q.dueTimer()
		if due.post != nil {
			return due, true
		}
		if !q.expectIdle && !q.sparse {
			if q.sparse = !spinUntil(&q.waiting, min(threadSpin, next)); q.sparse && next != futex.NoLimit {
				continue // next is less now
			}
		}
		q.expectIdle = false
		job, open, ready := q.takeOrSleep(next)
		if ready {
			return job, open
		}
		q.sleeper.Sleep(next)
		q.mu.Lock()
		q.mu.sleeping = false // where no job has ended the sleep
		q.mu.Unlock()
	}
}

// dueTimer returns the callback of a timer whose time has come, or else the time until the
// next one, or futex.NoLimit. The GL thread calls it.
func (q *queue) dueTimer() (due callback, next time.Duration) {
	next = futex.NoLimit
	for _, t := range q.timers {
		if t.at.IsZero() {
			continue
		}
		left := time.Until(t.at)
		if left <= 0 {
			t.at = time.Time{}
			return callback{post: t.fn}, 0
		}
		next = min(next, left)
	}
	return callback{}, next
}

// takeOrSleep returns what take returns, or reports that the GL thread is to sleep until the
// next timer.
func (q *queue) takeOrSleep(next time.Duration) (j callback, open, ready bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.slept > 0 {
		q.sparse, q.mu.slept = q.mu.slept > threadSpin, 0
	}
	if q.lenLocked() > 0 {
		return q.popLocked(), true, true
	}
	if q.mu.closed {
		return callback{}, false, true
	}
	q.mu.sleeping, q.mu.asleep = true, time.Now()
	q.sleeper.Prepare(next)
	return callback{}, true, false
}

// takeQueued is take where len is not 0, without timers.
func (q *queue) takeQueued() callback {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.popLocked()
}

func (q *queue) popLocked() (j callback) {
	m := &q.mu
	if m.next == len(m.batch) {
		m.batch, m.jobs, m.next = m.jobs, m.batch[:0], 0
	}
	others := m.next < len(m.batch)
	if q.tookFirst = len(m.first) > 0 && (!others || !q.tookFirst || m.closed); q.tookFirst {
		j = m.first[0]
		m.first = slices.Delete(m.first, 0, 1)
	} else {
		j, m.batch[m.next] = m.batch[m.next], callback{}
		m.next++
	}
	q.waiting.Store(q.lenLocked() > 0)
	return j
}

// lenLocked returns the number of jobs.
func (q *queue) lenLocked() int {
	return len(q.mu.batch) - q.mu.next + len(q.mu.jobs) + len(q.mu.first)
}

// len is lenLocked with the lock.
func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lenLocked()
}

// close makes put fail, and take return false once the queue is empty. It reports
// whether this call closed the queue.
func (q *queue) close() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.closed {
		return false
	}
	q.mu.closed = true
	if q.mu.sleeping {
		q.mu.sleeping = false
		q.sleeper.Wake()
	}
	return true
}

// call is one Do that waits for its callback.
type call struct {
	finished atomic.Bool
	done     chan struct{}
	err      error
	panicked any
}

var calls = sync.Pool{New: func() any { return &call{done: make(chan struct{}, 1)} }}

func (c *call) finish() {
	c.finished.Store(true)
	c.done <- struct{}{}
}

// wait waits for the callback, with spin or without, and returns its error. A panic of
// the callback propagates. The call must not be used afterwards.
func (c *call) wait(spin bool) error {
	if spin {
		spinUntil(&c.finished, callerSpin)
	}
	<-c.done
	err, panicked := c.err, c.panicked
	c.err, c.panicked = nil, nil
	c.finished.Store(false)
	calls.Put(c)
	if panicked != nil {
		panic(panicked)
	}
	return err
}

// spinUntil returns when flag is set or limit has passed, and reports whether it is set.
// With one CPU it returns at once, since no other thread could set the flag meanwhile.
func spinUntil(flag *atomic.Bool, limit time.Duration) bool {
	if flag.Load() || runtime.GOMAXPROCS(0) == 1 {
		return flag.Load()
	}
	for start := time.Now(); time.Since(start) < limit; {
		for range 64 {
			if flag.Load() {
				return true
			}
		}
	}
	return false
}
