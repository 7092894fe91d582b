//go:build linux

package resident

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
)

// TestNeitherSideStarves has several goroutines preempt a session without a pause: the
// session does steps between any two of them, and all are served.
func TestNeitherSideStarves(t *testing.T) {
	f := newFixture(t)
	for _, strategy := range []Strategy{Redispatch, Triple} {
		t.Run(strategy.String(), func(t *testing.T) {
			s := f.session(chainKernel(), Options{Strategy: strategy, TickTime: time.Millisecond})
			if err := s.Start(0); err != nil {
				t.Fatal(err)
			}
			const each = 20
			var served [4]atomic.Uint64
			var last uint64
			var group sync.WaitGroup
			for i := range served {
				group.Go(func() {
					for range each {
						_, err := s.Preempt(t.Context(), Priority{Level: 30 * i}, func(context.Context) error {
							if steps := s.Stats().Steps; steps <= last && last > 0 {
								t.Errorf("no step since the last preemption, at %d", steps)
							} else {
								last = steps
							}
							served[i].Add(1)
							return nil
						})
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			group.Wait()
			out, err := s.Stop(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range served {
				if n := served[i].Load(); n != each {
					t.Errorf("level %d was served %d times of %d", 30*i, n, each)
				}
			}
			if n := s.Stats().Preemptions; n != each*uint64(len(served)) {
				t.Errorf("%d preemptions counted", n)
			}
			wantWords(t, words(t, s, "Cells", chainCells), chainAfter(out.Steps))
		})
	}
}

// TestJobsRunWhileASessionYields runs a job of an executor on the same context.
func TestJobsRunWhileASessionYields(t *testing.T) {
	f := newFixture(t)
	e, err := executor.New(f.context, f.cache, executor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s := f.session(chainKernel(), Options{Strategy: Mega, TickTime: 5 * time.Millisecond})
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	got := []uint32{0xdeadbeef, 0xdeadbeef}
	y, err := s.Preempt(t.Context(), Priority{Level: 100, Deadline: time.Minute}, func(ctx context.Context) error {
		b, err := executor.BufferOf(e, []uint32{5, 6})
		if err != nil {
			return err
		}
		defer b.Release()
		return b.Download(ctx, 0, got)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got[0] != 5 || got[1] != 6 || y.Late {
		t.Errorf("the job gave %v after %v, late %v", got, y.Waited, y.Late)
	}
	out, err := s.Stop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantWords(t, words(t, s, "Cells", chainCells), chainAfter(out.Steps))
}

// TestRequestsCanBeWithdrawn preempts with a context that has ended.
func TestRequestsCanBeWithdrawn(t *testing.T) {
	f := newFixture(t)
	s := f.session(chainKernel(), quick)
	ctx, cancel := context.WithCancel(t.Context())
	blocked, release := make(chan struct{}), make(chan struct{})
	go s.Preempt(t.Context(), Priority{}, func(context.Context) error { close(blocked); <-release; return nil })
	<-blocked
	cancel()
	_, err := s.Preempt(ctx, Priority{}, func(context.Context) error { t.Error("the request was served"); return nil })
	if err != context.Canceled {
		t.Errorf("error %v", err)
	}
	close(release)
	run(t, s, 10)
}

// serve has preemptions wait while the session serves another one, added in this order,
// and returns the order in which they are served.
func serve(t *testing.T, s *Session, levels []int) (served []int) {
	t.Helper()
	blocked, release := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		_, err := s.Preempt(t.Context(), Priority{}, func(context.Context) error { close(blocked); <-release; return nil })
		if err != nil {
			t.Error(err)
		}
	})
	<-blocked
	var lock sync.Mutex
	for i, level := range levels {
		group.Go(func() {
			_, err := s.Preempt(t.Context(), Priority{Level: level}, func(context.Context) error {
				lock.Lock()
				defer lock.Unlock()
				served = append(served, i)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		eventually(func() bool {
			s.run.mu.Lock()
			defer s.run.mu.Unlock()
			return len(s.run.requests) > i
		})
	}
	close(release)
	group.Wait()
	return served
}

// TestTheHighestPriorityGoesFirst has several preemptions wait. Each gains priority with
// each one that is served before it, so that the lowest level is served too.
func TestTheHighestPriorityGoesFirst(t *testing.T) {
	f := newFixture(t)
	s := f.session(chainKernel(), quick)
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	if got, want := serve(t, s, []int{10, 90, 49, 70}), []int{1, 3, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("served in the order %v, not %v", got, want)
	}
	if got, want := serve(t, s, []int{0, 15, 0}), []int{1, 0, 2}; !slices.Equal(got, want) {
		t.Errorf("equals were served in the order %v, not %v", got, want)
	}
	if _, err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestWaitingRaisesPriority removes requests one by one while others of a high priority
// are added.
func TestWaitingRaisesPriority(t *testing.T) {
	r := newRunState(0)
	patient := &request{preempt: true, priority: 0}
	r.requests = []*request{patient}
	for n := range 12 {
		r.requests = append(r.requests, &request{preempt: true, priority: 100})
		if r.nextRequest(true) == patient {
			if n != 10 {
				t.Errorf("priority 0 was served after %d of priority 100, not 10", n)
			}
			return
		}
	}
	t.Error("priority 0 is never served")
}

// TestReadsGoBeforePreemptions adds a read last.
func TestReadsGoBeforePreemptions(t *testing.T) {
	r := newRunState(0)
	read := &request{}
	r.requests = []*request{{preempt: true, priority: 100}, read}
	if r.nextRequest(true) != read {
		t.Error("a preemption was served before a read")
	}
	if q := r.nextRequest(false); q != nil {
		t.Error("a second preemption is served before the session has done a step")
	}
}

// TestRequestsEndTicks lists which requests end a tick that runs.
func TestRequestsEndTicks(t *testing.T) {
	for name, c := range map[string]struct {
		request             *request
		persistent, preempt bool
		want                bool
	}{
		"none":                  {nil, true, true, false},
		"read":                  {&request{}, false, true, false},
		"read, persistent":      {&request{}, true, true, true},
		"early":                 {&request{early: true, preempt: true}, false, true, true},
		"early, without a step": {&request{early: true, preempt: true}, false, false, false},
	} {
		r := newRunState(0)
		if c.request != nil {
			r.requests = []*request{c.request}
		}
		if got := r.endsTick(c.persistent, c.preempt); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		r.locked(func() { r.stopping = true })
		if !r.endsTick(false, false) {
			t.Errorf("%s: a stop does not end the tick", name)
		}
	}
}

// TestRequestsInACallbackPanic makes a request on the GL thread, which cannot wait for a
// boundary: it panics, and the request is not served later.
func TestRequestsInACallbackPanic(t *testing.T) {
	f := newFixture(t)
	s := f.session(chainKernel(), Options{})
	var done atomic.Bool
	err := f.context.Do(func(*glctx.GL) error {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_, err := s.Preempt(t.Context(), Priority{}, func(context.Context) error { done.Store(true); return nil })
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	cells := make([]uint32, chainCells)
	if err := s.Read(t.Context(), "Cells", 0, glctx.Bytes(cells)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), 1); err != nil || done.Load() {
		t.Errorf("the request was served, or %v", err)
	}
}
