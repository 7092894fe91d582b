package glctx

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Waking a sleeping thread costs 30 to 60 us, so both sides look for a while
// before they sleep: the GL thread for as long as the caller needs to read the
// next blob from disk, the caller for as long as a short callback takes.
const (
	threadSpin = 100 * time.Microsecond
	callerSpin = 30 * time.Microsecond
)

// job is one callback on its way to the GL thread. call is nil for a Post.
type job struct {
	fn   func(*GL) error
	post func(*GL)
	call *call
}

// queue hands jobs to the GL thread in batches. Any goroutine may put; only
// the GL thread takes.
type queue struct {
	waiting atomic.Bool // there is something to take: read without the lock while spinning
	quiet   bool        // the taker expects nothing soon; only the taker uses it

	mu struct {
		sync.Mutex
		jobs     []job
		sleeping bool
		closed   bool
	}
	wake chan struct{} // one token when the taker sleeps
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// put appends a job and reports whether the queue was open.
func (q *queue) put(j job) bool {
	q.mu.Lock()
	if q.mu.closed {
		q.mu.Unlock()
		return false
	}
	q.mu.jobs = append(q.mu.jobs, j)
	q.waiting.Store(true)
	wake := q.mu.sleeping
	q.mu.sleeping = false
	q.mu.Unlock()
	if wake {
		q.wake <- struct{}{}
	}
	return true
}

// take returns everything that was put, in order, and false when the queue is
// closed and empty. spare is reused for the next batch. Where quiet is set, it
// sleeps at once, this time.
func (q *queue) take(spare []job) ([]job, bool) {
	for {
		if !q.quiet {
			spinUntil(&q.waiting, threadSpin)
		}
		q.quiet = false
		q.mu.Lock()
		if batch := q.mu.jobs; len(batch) > 0 {
			q.mu.jobs = spare[:0]
			q.waiting.Store(false)
			q.mu.Unlock()
			return batch, true
		}
		if q.mu.closed {
			q.mu.Unlock()
			return nil, false
		}
		q.mu.sleeping = true
		q.mu.Unlock()
		<-q.wake
	}
}

// tryTake is take without the wait.
func (q *queue) tryTake(spare []job) []job {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch := q.mu.jobs
	q.mu.jobs = spare[:0]
	q.waiting.Store(false)
	return batch
}

// close lets take return false once the queue is empty. It reports whether
// this call closed it.
func (q *queue) close() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.closed {
		return false
	}
	q.mu.closed = true
	if q.mu.sleeping {
		q.mu.sleeping = false
		q.wake <- struct{}{}
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

func newCall() *call { return calls.Get().(*call) }

func (c *call) finish() {
	c.finished.Store(true)
	c.done <- struct{}{}
}

// wait returns what the callback returned and gives the call back. A panic of
// the callback goes on in the goroutine that asked for it.
func (c *call) wait() error {
	spinUntil(&c.finished, callerSpin)
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

// spinUntil returns when flag is set or the time has passed. With one CPU it
// returns at once, since nobody else could set the flag meanwhile.
func spinUntil(flag *atomic.Bool, most time.Duration) {
	if flag.Load() || runtime.GOMAXPROCS(0) == 1 {
		return
	}
	for start := time.Now(); time.Since(start) < most; {
		for range 64 {
			if flag.Load() {
				return
			}
		}
	}
}
