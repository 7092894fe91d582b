package glctx

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestQueueKeepsOrderInBatches(t *testing.T) {
	q := newQueue()
	var got []int
	for i := range 5 {
		q.put(callback{post: func(*GL) { got = append(got, i) }})
	}
	batch, open := q.take(nil)
	if !open || len(batch) != 5 {
		t.Fatalf("took %d jobs, open %v; want all 5 at once", len(batch), open)
	}
	for _, j := range batch {
		j.post(nil)
	}
	for i, v := range got {
		if i != v {
			t.Fatalf("order %v", got)
		}
	}
}

func TestQueueLosesNoWakeup(t *testing.T) {
	q := newQueue()
	const producers, each = 8, 2000
	var wg sync.WaitGroup
	for range producers {
		wg.Go(func() {
			for range each {
				if open, _ := q.put(callback{}); !open {
					t.Error("the queue was closed early")
				}
			}
		})
	}
	go func() { wg.Wait(); q.close() }()
	taken := 0
	var batch []callback
	for {
		var open bool
		if batch, open = q.take(batch); !open {
			break
		}
		taken += len(batch)
	}
	if taken != producers*each {
		t.Errorf("took %d of %d", taken, producers*each)
	}
	if open, _ := q.put(callback{}); open {
		t.Error("a closed queue accepted a job")
	}
	if q.close() {
		t.Error("the second close reports that it closed the queue")
	}
}

func TestCallPropagatesPanic(t *testing.T) {
	c := calls.Get().(*call)
	c.panicked = "boom"
	c.finish()
	defer func() {
		if r := recover(); r != "boom" {
			t.Errorf("recovered %v", r)
		}
	}()
	c.wait(true)
	t.Error("wait returned")
}

// A wait returns the error of its own callback, and not before it, whether the caller spins
// or sleeps, with calls that are used again and again.
func TestCallWaitsForItsCallback(t *testing.T) {
	var callers sync.WaitGroup
	for caller := range 4 {
		callers.Go(func() {
			for i := range 200 {
				own := fmt.Errorf("callback %d of caller %d", i, caller)
				took := []time.Duration{0, 50 * time.Microsecond, 300 * time.Microsecond}[i%3]
				if i%50 == 49 {
					took = 3 * time.Millisecond
				}
				c := calls.Get().(*call)
				go func() {
					time.Sleep(took)
					c.err = own
					c.finish()
				}()
				if err := c.wait(i%2 == 0); err != own {
					t.Errorf("%v, want %v", err, own)
				}
			}
		})
	}
	callers.Wait()
}

func TestQueueExpectsIdleOnce(t *testing.T) {
	q := newQueue()
	q.expectIdle = true
	go q.put(callback{post: func(*GL) {}})
	if batch, open := q.take(nil); len(batch) != 1 || !open {
		t.Errorf("took %d, open %v", len(batch), open)
	}
	if q.expectIdle {
		t.Error("expectIdle is still set")
	}
}
