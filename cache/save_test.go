package cache_test

import (
	"context"
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
)

// A program that is still being read from the driver when Flush begins is stored by it.
func TestFlushWaitsForBinaries(t *testing.T) {
	reading := newGate()
	dev := cachetest.NewDevice()
	dev.OnBinary = func(context.Context, uint32) error {
		reading.pass()
		return nil
	}
	f := newFixtureOn(t, dev, cachetest.NewStore(), cache.Options{})
	got := make(chan struct{})
	go func() {
		f.get(source("a")).Release()
		close(got)
	}()
	<-reading.arrived
	<-got
	flushed := make(chan error)
	go func() { flushed <- f.cache.Flush() }()
	reading.open()
	must(t, <-flushed)
	if f.store.Len() != 1 {
		t.Errorf("%d programs stored", f.store.Len())
	}
}

func TestSaveNeverOnlyReads(t *testing.T) {
	list := sources(4)
	filled := newFixture(t, cache.Options{})
	filled.wantOrigin(list[0], job.Compiled)
	must(t, filled.cache.Close())
	f := newFixtureOn(t, cachetest.NewDevice(), filled.store.Reopen(), cache.Options{NoSave: true, KeepSources: true, MaxPrograms: 2})
	f.wantOrigin(list[0], job.Disk)
	for _, src := range list[1:] {
		f.wantOrigin(src, job.Compiled)
	}
	f.cache.WaitStored()              // the binaries are read in the background
	f.wantOrigin(list[1], job.Memory) // evicted
	must(t, f.cache.Close())
	if calls := f.store.Calls(); calls.Puts != 0 || calls.Records == 0 || f.store.Len() != 1 {
		t.Errorf("%d programs, %+v", f.store.Len(), calls)
	}
	if r, err := newFixtureOn(t, cachetest.NewDevice(), cachetest.NewStore(), cache.Options{NoSave: true}).cache.Rebuild(context.Background(), nil); len(r) != 0 || err != nil {
		t.Errorf("rebuilt %v, %v", r, err)
	}
}
