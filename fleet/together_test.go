package fleet_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/shadercache/shadercache/fleet"
)

// Processes that start at once in one directory fetch a pack once, and all of them have its
// programs when Start returns.
func TestStartsAtOnceInOneDirectory(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.store.requests()
	const starts = 8
	reports := make([]fleet.StartReport, starts)
	var all sync.WaitGroup
	for n := range starts {
		r := open(t, s.victim, reader(s.url))
		all.Go(func() { reports[n] = r.Start(context.Background(), mesaDriver) })
	}
	all.Wait()
	packs := 0
	for _, asked := range s.store.requests() {
		if strings.Contains(asked, "/packs/") {
			packs++
		}
	}
	pulled := 0
	for _, r := range reports {
		if r.Outcome == fleet.Pulled {
			pulled++
		} else if r.Outcome != fleet.Current {
			t.Errorf("got %+v", r)
		}
	}
	if packs != 1 || pulled != 1 {
		t.Errorf("%d packs were fetched, %d starts pulled", packs, pulled)
	}
	wantPrograms(t, s.victim, mesaDriver, 1, 2)
}

// Counters of processes that fail at once add up, also where the lines become one.
func TestCountersOfManyProcesses(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.store.get = func(context.Context, string, *fleet.Object) (*fleet.Object, error) { return nil, fleet.ErrDenied }
	var all sync.WaitGroup
	fleet.FillCounters(open(t, s.victim, reader(s.url)))
	for range 8 {
		r := open(t, s.victim, reader(s.url))
		all.Go(func() {
			for range 5 {
				if _, err := r.Pull(context.Background(), fleet.PullOptions{Current: &mesaDriver}); err == nil {
					t.Error("the pull did not fail")
				}
			}
		})
	}
	all.Wait()
	if got := counters(t, s.victim, reader(s.url)); got.Errors["denied"] != 40 || got.Misses != fleet.FilledMisses {
		t.Errorf("counters: %+v", got)
	}
}
