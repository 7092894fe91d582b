package cache_test

import (
	"context"
	"errors"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
)

const (
	tryCrashEnvironment   = "CACHE_TEST_TRY_CRASH"
	trialCrashEnvironment = "CACHE_TEST_TRIAL_CRASH"
)

func init() {
	inChild[tryCrashEnvironment] = func(args []string) { crashInTrial(args[0], "", args[1]) }
	inChild[trialCrashEnvironment] = func(args []string) { crashInTrial(args[0], args[1], "") }
}

// A trial leaves neither programs nor blobs behind, and evicts nothing.
func TestTrialLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	f := openStart(t, dir, cache.Options{MaxPrograms: 1})
	f.wantOrigin(source("mine"), cache.Compiled)
	trial, err := f.cache.Trial()
	must(t, err)
	results, err := trial.Preload(context.Background(), []*cache.Source{source("a"), source("b"), source("c")}, nil)
	must(t, err)
	for _, r := range results {
		if r.Err != nil || r.Origin != cache.Compiled {
			t.Errorf("%s: %v, %v", r.Name, r.Origin, r.Err)
		}
	}
	if n := len(f.dev.Live()); n != 4 {
		t.Errorf("%d programs, want mine and three on trial", n)
	}
	must(t, trial.Close())
	if live := f.dev.Live(); len(live) != 1 || live[0] != "mine" {
		t.Errorf("left are %q", live)
	}
	f.wantOrigin(source("mine"), cache.Resident)
	f.close()
	f = openStart(t, dir, cache.Options{})
	f.wantOrigin(source("a"), cache.Compiled)
	f.wantOrigin(source("mine"), cache.Disk)
}

func TestTryPassesOnWhatHappened(t *testing.T) {
	for _, o := range []cache.Options{{}, {MemoryOnly: true}} {
		f := openStart(t, t.TempDir(), o)
		calls, failure := 0, errors.New("no luck")
		for _, want := range []error{nil, failure} {
			if err := f.cache.Try("work", func() error { calls++; return want }); !errors.Is(err, want) {
				t.Errorf("error is %v, want %v", err, want)
			}
		}
		if calls != 2 {
			t.Errorf("%d calls", calls)
		}
	}
}

// What kills twice while it is tried is named and not tried again; an untold death
// alone is forgiven by surviving.
func TestWhatKillsIsNotTriedAgain(t *testing.T) {
	dir := t.TempDir()
	die := func() {
		t.Helper()
		if !dies(t, tryCrashEnvironment, dir+" killer") {
			t.Fatal("the process lived")
		}
	}
	die()
	f := openStart(t, dir, cache.Options{})
	failure := errors.New("it was not reached")
	if err := f.cache.Try("killer", func() error { return failure }); !errors.Is(err, failure) || len(realStore(t, dir).Quarantined()) != 1 {
		t.Errorf("error is %v; the suspicion is over without a proof", err)
	}
	must(t, f.cache.Try("killer", func() error { return nil }))
	f.close()
	die()
	die()
	f = openStart(t, dir, cache.Options{})
	err := f.cache.Try("killer", func() error { t.Error("it was tried again"); return nil })
	quarantined, ok := errors.AsType[*binary.QuarantinedError](err)
	if !ok || quarantined.Name != "killer" || quarantined.Action != binary.ActionRun {
		t.Errorf("error is %v", err)
	}
	must(t, f.cache.Try("another", func() error { return nil }))
	if list := realStore(t, dir).Quarantined(); len(list) != 1 || list[0].Name != "killer" {
		t.Errorf("in quarantine: %+v", list)
	}
}

// A source that kills in a trial is refused by the next trial, and by the cache.
func TestSourceThatKillsInATrialIsRefused(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		if !dies(t, trialCrashEnvironment, dir+" bad") {
			t.Fatal("the process lived")
		}
	}
	f := openStart(t, dir, cache.Options{})
	trial, err := f.cache.Trial()
	must(t, err)
	for _, c := range []*cache.Cache{trial, f.cache} {
		if _, err := c.Get(context.Background(), source("bad")); !errors.Is(err, binary.ErrQuarantined) {
			t.Errorf("error is %v", err)
		}
	}
	must(t, trial.Close())
}
