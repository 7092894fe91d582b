package cache_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

func TestGetDoesNotWaitForTheWriterAndFlushDoes(t *testing.T) {
	writing := newGate()
	store := cachetest.NewStore()
	store.OnPut = func(*binary.Blob) error {
		writing.pass()
		return nil
	}
	f := newFixtureOn(t, cachetest.NewDevice(), store, cache.Options{MaxPrograms: 1})
	p := sources(3)
	for _, src := range p {
		f.wantOrigin(src, job.Compiled)
	}
	<-writing.arrived
	flushed := make(chan error)
	go func() { flushed <- f.cache.Flush() }()
	if n := store.Calls().Records; n != 0 {
		t.Errorf("recorded %d times before the blobs were written", n)
	}
	writing.open()
	if err := <-flushed; err != nil {
		t.Fatal(err)
	}
	if store.Len() != 3 || store.Calls().Records != 1 {
		t.Errorf("%d blobs, %+v", store.Len(), store.Calls())
	}
}

func TestBlobDescribesTheProgram(t *testing.T) {
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	dev := cachetest.NewDevice()
	f := newFixtureOn(t, dev, cachetest.NewStore(), cache.Options{Now: func() time.Time { return now }})
	a := source("a")
	h := f.get(a)
	defer h.Release()
	f.flush()
	b := f.store.Blob(a.Key())
	if b == nil {
		t.Fatal("not stored")
	}
	if b.Key != a.Key() || b.Name != "a" || b.Format != cachetest.Format || len(b.Payload) != 1000 || !b.Created.Equal(now) ||
		b.Fingerprint != dev.Fingerprint().Digest() || b.CompileNanos != int64(time.Millisecond)+100 ||
		b.WorkGroup != h.WorkGroup() || b.Interface != h.Interface().Digest() {
		t.Errorf("blob %+v", b)
	}
}

func TestEvictedProgramIsStillStored(t *testing.T) {
	reading := newGate()
	dev := cachetest.NewDevice()
	dev.OnBinary = func(context.Context, uint32) error {
		reading.pass()
		return nil
	}
	f := newFixtureOn(t, dev, cachetest.NewStore(), cache.Options{MaxPrograms: 1})
	a, b := source("a"), source("b")
	f.wantOrigin(a, job.Compiled)
	<-reading.arrived
	f.wantOrigin(b, job.Compiled) // a is evicted while its binary is read
	reading.open()
	f.wantLive("b")
	if f.store.Blob(a.Key()) == nil || f.store.Blob(b.Key()) == nil {
		t.Error("not stored")
	}
	f.wantOrigin(a, job.Memory)
}

func TestUnreadableBinaryIsCounted(t *testing.T) {
	dev := cachetest.NewDevice()
	dev.OnBinary = func(context.Context, uint32) error { return errors.New("no") }
	f := newFixtureOn(t, dev, cachetest.NewStore(), cache.Options{})
	f.wantOrigin(source("a"), job.Compiled)
	f.flush()
	f.wantCounts(binary.Counters{Compiles: 1, StoreFailures: 1})
}

func TestFlushRecordsUses(t *testing.T) {
	f := newFixture(t, cache.Options{MaxPrograms: 1})
	a, b := source("a"), source("b")
	f.wantOrigin(a, job.Compiled)
	f.wantOrigin(a, job.Resident)
	f.flush()
	uses, counters := f.store.Recorded()
	first := uses[a.Key()]
	if first.Hits != 1 || first.Name != "a" || first.CompileNanos != int64(time.Millisecond)+100 || first.LoadNanos != 0 || first.LastUse.IsZero() {
		t.Errorf("use of a: %+v", first)
	}
	if counters != f.cache.Stats().Counters {
		t.Errorf("recorded %+v", counters)
	}

	f.flush()
	if n := f.store.Calls().Records; n != 1 {
		t.Errorf("%d records, though nothing happened since the first", n)
	}

	f.wantOrigin(a, job.Resident)
	f.wantOrigin(b, job.Compiled)
	f.wantOrigin(a, job.Memory)
	f.flush()
	uses, counters = f.store.Recorded()
	last := uses[a.Key()]
	if last.Hits != 3 || last.LoadNanos != 1100 || last.CompileNanos != first.CompileNanos || !last.LastUse.After(first.LastUse) {
		t.Errorf("use of a: %+v", last)
	}
	if uses[b.Key()].Hits != 0 || len(uses) != 2 {
		t.Errorf("uses: %+v", uses)
	}
	if counters != f.cache.Stats().Counters {
		t.Errorf("recorded %+v, counted %+v", counters, f.cache.Stats().Counters)
	}
}

func TestHeldProgramCountsAsUsedNow(t *testing.T) {
	f := newFixture(t, cache.Options{})
	a := source("a")
	h := f.get(a)
	defer h.Release()
	f.flush()
	first, _ := f.store.Recorded()
	f.flush()
	second, _ := f.store.Recorded()
	if !second[a.Key()].LastUse.After(first[a.Key()].LastUse) || second[a.Key()].Hits != 0 {
		t.Errorf("first %+v, then %+v", first[a.Key()], second[a.Key()])
	}
}

func TestFailingRecordIsCountedAndRepeated(t *testing.T) {
	store := cachetest.NewStore()
	broken := errors.New("broken")
	store.OnRecord = func() error { return broken }
	f := newFixtureOn(t, cachetest.NewDevice(), store, cache.Options{})
	a := source("a")
	f.wantOrigin(a, job.Compiled)
	f.wantOrigin(a, job.Resident)
	for range 2 {
		if err := f.cache.Flush(); !errors.Is(err, broken) {
			t.Fatalf("Flush: %v", err)
		}
	}
	f.wantOrigin(a, job.Resident)
	f.wantCounts(binary.Counters{Compiles: 1, ResidentHits: 2, Stored: 1, StoreFailures: 2})
	store.OnRecord = nil
	f.flush()
	uses, counters := store.Recorded()
	if counters != f.cache.Stats().Counters || counters.ResidentHits != 2 || counters.StoreFailures != 2 {
		t.Errorf("recorded %+v", counters)
	}
	if use := uses[a.Key()]; use.Hits != 2 || use.CompileNanos == 0 {
		t.Errorf("use %+v", use)
	}
}

func TestCloseRecordsAndReportsTheStore(t *testing.T) {
	store := cachetest.NewStore()
	broken := errors.New("broken")
	store.OnRecord = func() error { return broken }
	f := newFixtureOn(t, cachetest.NewDevice(), store, cache.Options{})
	f.wantOrigin(source("a"), job.Compiled)
	if err := f.cache.Close(); !errors.Is(err, broken) {
		t.Errorf("Close: %v", err)
	}
	if store.Len() != 1 || store.Calls().Closes != 1 {
		t.Errorf("%d blobs, %+v", store.Len(), store.Calls())
	}
	if _, err := f.cache.Get(context.Background(), source("a")); !errors.Is(err, shader.ErrClosed) {
		t.Errorf("Get: %v", err)
	}
}
