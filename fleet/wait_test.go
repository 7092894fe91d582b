package fleet_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shadercache/shadercache/fleet"
)

// stakes returns a scene whose pack took a time to compile and takes one to arrive, and the
// options of a start without a budget. What packages make once, such as decoders, is made
// by a pull, so that it does not belong to a test with a clock of its own.
func stakes(t *testing.T, compile, arrival time.Duration) (*scene, fleet.Options) {
	t.Helper()
	s := newScene(t)
	h := s.head()
	if want := 2 * time.Duration(testBlob(1, mesaDriver).CompileNanos); h.Packs[0].Saves != want {
		t.Errorf("the pack saves %s, want %s", h.Packs[0].Saves, want)
	}
	h.Packs[0].Saves = compile
	s.setHead(h)
	pull(t, openDir(t), reader(s.url), mesaDriver)
	s.store.get = func(ctx context.Context, name string, _ *fleet.Object) (*fleet.Object, error) {
		if !strings.Contains(name, "/packs/") {
			return nil, nil
		}
		select {
		case <-time.After(arrival):
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	o := reader(s.url)
	o.Budget = 0
	return s, o
}

// A start waits for half of what the packs save, and no longer.
func TestStartWaitsForWhatIsAtStake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		compile, arrival time.Duration
		outcome          fleet.Outcome
		waited           time.Duration
	}{
		"much":       {10 * time.Second, time.Second, fleet.Pulled, time.Second},
		"little":     {20 * time.Millisecond, time.Second, fleet.Late, 10 * time.Millisecond},
		"too late":   {2 * time.Second, 4 * time.Second, fleet.Late, time.Second},
		"very much":  {time.Hour, time.Minute, fleet.Late, 5 * time.Second},
		"not known":  {0, time.Second, fleet.Late, 150 * time.Millisecond},
		"just there": {0, 100 * time.Millisecond, fleet.Pulled, 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := stakes(t, c.compile, c.arrival)
			synctest.Test(t, func(t *testing.T) {
				r, err := fleet.Open(s.victim, o)
				must(t, err)
				if got := r.Start(context.Background(), mesaDriver); got.Outcome != c.outcome || got.Waited != c.waited {
					t.Errorf("got %s after %s, want %s after %s", got.Outcome, got.Waited, c.outcome, c.waited)
				}
				must(t, r.Close())
			})
		})
	}
}

// A process that finds another one of its machine pulling waits as long as that one does.
func TestStartWaitsForAnotherProcess(t *testing.T) {
	t.Parallel()
	s, o := stakes(t, 10*time.Second, time.Second)
	synctest.Test(t, func(t *testing.T) {
		reports := make(chan fleet.StartReport)
		for range 3 {
			r := open(t, s.victim, o)
			go func() { reports <- r.Start(context.Background(), mesaDriver) }()
		}
		pulled := 0
		for range 3 {
			switch r := <-reports; r.Outcome {
			case fleet.Pulled:
				pulled++
			case fleet.Current:
			default:
				t.Errorf("got %+v", r)
			}
		}
		if pulled != 1 {
			t.Errorf("%d processes fetched the pack", pulled)
		}
	})
}

// A start does not wait for packs that, as fast as the pulls before, would come too late.
func TestStartKnowsTheRate(t *testing.T) {
	t.Parallel()
	s, o := stakes(t, 2*time.Second, 10*time.Second)
	synctest.Test(t, func(t *testing.T) {
		pull(t, s.victim, o, mesaDriver)
		must(t, os.RemoveAll(s.victim.DriverDir()))
		r := open(t, s.victim, o)
		if got := r.Start(context.Background(), mesaDriver); got.Outcome != fleet.Late || got.Waited != 0 {
			t.Errorf("got %+v", got)
		}
	})
}

// A store that was silent for a while is as fast as before afterwards.
func TestStartAfterAnOutage(t *testing.T) {
	t.Parallel()
	s, o := stakes(t, 2*time.Second, 100*time.Millisecond)
	synctest.Test(t, func(t *testing.T) {
		pull(t, s.victim, o, mesaDriver)
		answers := s.store.get
		for _, silent := range []string{"/head", "/packs/"} {
			must(t, os.RemoveAll(s.victim.DriverDir()))
			s.store.get = func(ctx context.Context, name string, _ *fleet.Object) (*fleet.Object, error) {
				if strings.Contains(name, silent) {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return nil, nil
			}
			if _, err := open(t, s.victim, o).Pull(t.Context(), fleet.PullOptions{Current: &mesaDriver}); !errors.Is(err, fleet.ErrUnreachable) {
				t.Errorf("a silent store: %v", err)
			}
		}
		s.store.get = answers
		if got := open(t, s.victim, o).Start(t.Context(), mesaDriver); got.Outcome != fleet.Pulled || got.Waited != 100*time.Millisecond {
			t.Errorf("got %+v", got)
		}
	})
}

// A start whose context took long, as on a machine whose CPUs are taken, waits as long for the
// head, for a second at most; with a budget it waits for that.
func TestStartOfABusyMachine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		context, budget, waited time.Duration
		outcome                 fleet.Outcome
	}{
		"quick":  {50 * time.Millisecond, 0, 150 * time.Millisecond, fleet.Late},
		"busy":   {400 * time.Millisecond, 0, 300 * time.Millisecond, fleet.Pulled},
		"budget": {400 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond, fleet.Late},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := stakes(t, 10*time.Second, 0)
			s.store.get = func(ctx context.Context, name string, _ *fleet.Object) (*fleet.Object, error) {
				if !strings.Contains(name, "/packs/") {
					time.Sleep(300 * time.Millisecond)
				}
				return nil, nil
			}
			o.Budget = c.budget
			synctest.Test(t, func(t *testing.T) {
				r := open(t, s.victim, o)
				r.Prepare()
				time.Sleep(c.context)
				if got := r.Start(context.Background(), mesaDriver); got.Outcome != c.outcome || got.Waited != c.waited {
					t.Errorf("got %s after %s, want %s after %s", got.Outcome, got.Waited, c.outcome, c.waited)
				}
			})
		})
	}
}
