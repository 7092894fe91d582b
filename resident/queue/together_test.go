//go:build linux

package queue

import (
	"errors"
	"runtime"
	"sync"
	"testing"
)

// Goroutines push while others run rounds. Items that do not fit are pushed again,
// and every task is done once.
func TestConcurrentPushAndRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const pushers, each = 4, 300
	results := f.results(pushers * each)
	q := f.queue(Options{Capacity: 64, Groups: 4, Local: 8, Rounds: 2, Steal: true}, stealText, nil, results)
	var pushing, running sync.WaitGroup
	done := make(chan struct{})
	for p := range pushers {
		pushing.Go(func() {
			for i := 0; i < each; {
				n := min(1+(i+p)%17, each-i)
				switch err := q.Push(0, sequence(p*each+i, n)...); {
				case err == nil:
					i += n
				case errors.Is(err, ErrFull):
					runtime.Gosched()
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	for range 2 {
		running.Go(func() {
			for {
				if _, err := q.Run(t.Context()); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	pushing.Wait()
	close(done)
	running.Wait()
	if r := f.run(q); r.Finished != pushers*each {
		t.Errorf("report %+v", r)
	}
	wantAll(t, f.download(results), stolenOnce)
}
