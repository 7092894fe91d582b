package glctx

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestQueueKeepsOrder(t *testing.T) {
	q := new(queue)
	var got []int
	next := 0
	for round := range 200 { // it is never empty
		for range 3 {
			n := next
			q.put(callback{post: func(*GL) { got = append(got, n) }}, false)
			next++
		}
		for range 2 + round%2 {
			j, open := q.take()
			if !open {
				t.Fatal("the queue is closed")
			}
			j.post(nil)
		}
	}
	if len(got) != 500 || q.len() != 100 {
		t.Errorf("took %d, %d are left", len(got), q.len())
	}
	for i, v := range got {
		if i != v {
			t.Fatalf("order %v", got)
		}
	}
	if c := cap(q.mu.jobs) + cap(q.mu.batch); c > 512 {
		t.Errorf("room for %d jobs, though at most 103 waited at once", c)
	}
}

// Jobs that are put first pass those that wait, and leave each second turn to them.
func TestQueueTakesFirstInTurns(t *testing.T) {
	q := new(queue)
	var got string
	put := func(name string, first bool) {
		q.put(callback{post: func(*GL) { got += name }}, first)
	}
	for _, name := range []string{"a", "b", "c"} {
		put(name, false)
	}
	for range 5 {
		put("1", true)
	}
	for q.len() > 0 {
		q.takeQueued().post(nil)
	}
	if got != "1a1b1c11" || q.waiting.Load() {
		t.Errorf("order %s, waiting %v", got, q.waiting.Load())
	}
	put("d", false) // the last one, which closes what they use
	put("1", true)
	q.close()
	for q.len() > 0 {
		q.takeQueued().post(nil)
	}
	if want := "1a1b1c111d"; got != want {
		t.Errorf("order %s of a closed queue, want %s", got, want)
	}
}

func TestQueueLosesNoWakeup(t *testing.T) {
	q := new(queue)
	const producers, each = 8, 2000
	var wg sync.WaitGroup
	for producer := range producers {
		wg.Go(func() {
			for range each {
				if open, _ := q.put(callback{}, producer%2 == 0); !open {
					t.Error("the queue was closed early")
				}
			}
		})
	}
	go func() { wg.Wait(); q.close() }()
	taken := 0
	for {
		if _, open := q.take(); !open {
			break
		}
		taken++
	}
	if taken != producers*each {
		t.Errorf("took %d of %d", taken, producers*each)
	}
	if open, _ := q.put(callback{}, false); open {
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
	q := new(queue)
	q.expectIdle = true
	go q.put(callback{post: func(*GL) {}}, false)
	if j, open := q.take(); j.post == nil || !open {
		t.Errorf("took %v, open %v", j, open)
	}
	if q.expectIdle {
		t.Error("expectIdle is still set")
	}
}

// A callback without a function panics where it is posted, not on the GL thread.
func TestPostedCallbacksNeedAFunction(t *testing.T) {
	c := &Context{queue: new(queue)}
	for name, post := range map[string]func(func(*GL)){"Post": c.Post, "PostFirst": c.PostFirst} {
		panicked := func() (v any) {
			defer func() { v = recover() }()
			post(nil)
			return nil
		}()
		if panicked == nil || c.queue.len() != 0 {
			t.Errorf("%s: panicked with %v, %d are queued", name, panicked, c.queue.len())
		}
	}
}
