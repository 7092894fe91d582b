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

// TestNeitherSideStarves has several goroutines preempt a session without a
// pause: the session gets on between any two of them, and all are served.
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
					t.Errorf("urgency %d was served %d times of %d", 30*i, n, each)
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

// TestDeadlinesShortenTicks compares the steps of a tick before and after.
func TestDeadlinesShortenTicks(t *testing.T) {
	s := &Session{}
	if d := s.tickTime(50 * time.Millisecond); d != 50*time.Millisecond {
		t.Fatalf("ticks of %v", d)
	}
	s.bound(4 * time.Millisecond)
	s.mu.boundUntil = time.Now().Add(time.Hour) // however slow this test is
	s.bound(8 * time.Millisecond)
	s.mu.boundUntil = time.Now().Add(time.Hour)
	if d := s.tickTime(50 * time.Millisecond); d != 4*time.Millisecond {
		t.Errorf("ticks of %v after a deadline of 8 ms", d)
	}
	s.mu.boundUntil = time.Now()
	if d := s.tickTime(50 * time.Millisecond); d != 50*time.Millisecond {
		t.Errorf("ticks of %v long after a deadline", d)
	}
}

// TestAsksCanBeWithdrawn preempts with a context that has ended.
func TestAsksCanBeWithdrawn(t *testing.T) {
	f := newFixture(t)
	s := f.session(chainKernel(), quick)
	ctx, cancel := context.WithCancel(t.Context())
	blocked, goOn := make(chan struct{}), make(chan struct{})
	go s.Preempt(t.Context(), Priority{}, func(context.Context) error { close(blocked); <-goOn; return nil })
	<-blocked
	cancel()
	_, err := s.Preempt(ctx, Priority{}, func(context.Context) error { t.Error("ran after all"); return nil })
	if err != context.Canceled {
		t.Errorf("error %v", err)
	}
	close(goOn)
	run(t, s, 10)
}

// queue has asks wait for a session that serves another one, in this order, and
// returns the order in which they were served.
func queue(t *testing.T, s *Session, levels []int) (served []int) {
	t.Helper()
	blocked, goOn := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		_, err := s.Preempt(t.Context(), Priority{}, func(context.Context) error { close(blocked); <-goOn; return nil })
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
		for waiting := 0; waiting <= i; time.Sleep(100 * time.Microsecond) {
			s.mu.Lock()
			waiting = len(s.mu.asks)
			s.mu.Unlock()
		}
	}
	close(goOn)
	group.Wait()
	return served
}

// TestTheMostUrgentGoesFirst has several wait at a time. Who waits gains urgency
// with each one that goes before, so that even the least urgent goes in time.
func TestTheMostUrgentGoesFirst(t *testing.T) {
	f := newFixture(t)
	s := f.session(chainKernel(), quick)
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	if got, want := queue(t, s, []int{10, 90, 49, 70}), []int{1, 3, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("served in the order %v, not %v", got, want)
	}
	if got, want := queue(t, s, []int{0, 15, 0}), []int{1, 0, 2}; !slices.Equal(got, want) {
		t.Errorf("equals were served in the order %v, not %v", got, want)
	}
	if _, err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestWaitingMakesUrgent takes asks out one by one while more urgent ones come.
func TestWaitingMakesUrgent(t *testing.T) {
	s := &Session{}
	patient := &ask{preempt: true, urgency: 0}
	s.mu.asks = []*ask{patient}
	for n := range 12 {
		s.mu.asks = append(s.mu.asks, &ask{preempt: true, urgency: 100})
		if s.nextAsk() == patient {
			if n != 10 {
				t.Errorf("urgency 0 went after %d of urgency 100, not 10", n)
			}
			return
		}
	}
	t.Error("urgency 0 waits for ever")
}

// TestLooksGoBeforePreemptions takes out a look that came last.
func TestLooksGoBeforePreemptions(t *testing.T) {
	s := &Session{}
	look := &ask{}
	s.mu.asks = []*ask{{preempt: true, urgency: 100}, look}
	if s.nextAsk() != look {
		t.Error("a preemption went before a look")
	}
	s.mu.running, s.driver.ranSince = true, false
	if a := s.nextAsk(); a != nil {
		t.Error("a second preemption goes before the session has done a step")
	}
}

// In a callback nobody can wait for a boundary: whoever does so is told, and what
// was asked for is not done later.
func TestAsksInACallbackAreNotKept(t *testing.T) {
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
		t.Errorf("it was done after all, or %v", err)
	}
}
