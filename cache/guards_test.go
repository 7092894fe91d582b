package cache_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// waitingDevice is a device of which a test decides what a wait does.
type waitingDevice struct {
	*cachetest.Device
	pending func()

	mu        sync.Mutex
	pollWhile func(wait func())
	waits     int // under way
}

func (d *waitingDevice) Pending() <-chan struct{} {
	if d.pending != nil {
		d.pending()
	}
	return nil
}

func (d *waitingDevice) PollWhile(wait func()) {
	d.mu.Lock()
	d.waits++
	pollWhile := d.pollWhile
	d.pollWhile = nil
	d.mu.Unlock()
	if pollWhile != nil {
		pollWhile(wait)
	} else {
		wait()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waits--
}

// nextWait has a function make the next wait, when so many are under way.
func (d *waitingDevice) nextWait(waits int, pollWhile func(wait func())) {
	for {
		d.mu.Lock()
		if d.waits == waits {
			d.pollWhile = pollWhile
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
		runtime.Gosched()
	}
}

func newWaiting(t *testing.T) (*waitingDevice, *cache.Cache) {
	t.Helper()
	d := &waitingDevice{Device: cachetest.NewDevice()}
	c, err := cache.New(d, cache.Options{Store: cachetest.NewStore()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		d.Verify(t)
	})
	return d, c
}

// A Get in a callback of the device panics, and has started nothing.
func TestGetInACallbackStartsNothing(t *testing.T) {
	d, c := newWaiting(t)
	d.pending = func() { panic("in a callback") }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_, _ = c.Get(context.Background(), source("a"))
	}()
	if n := d.Calls().Compiles; n != 0 {
		t.Errorf("%d compiles", n)
	}
	d.pending = nil
	h, err := c.Get(context.Background(), source("a"))
	if err != nil {
		t.Fatal(err)
	}
	h.Release()
}

// A Get whose context ends in the moment in which the program is there has a handle: it was
// counted already, and nobody else would release it.
func TestContextEndsWhenTheProgramIsThere(t *testing.T) {
	d, c := newWaiting(t)
	started, proceed, first := make(chan bool), make(chan bool), make(chan error, 1)
	d.OnCompile = func(context.Context, *shader.Source) error {
		close(started)
		<-proceed
		return nil
	}
	go func() {
		h, err := c.Get(context.Background(), source("a"))
		h.Release()
		first <- err
	}()
	<-started
	ctx, cancel := context.WithCancel(context.Background())
	d.nextWait(1, func(wait func()) {
		cancel()
		wait()
		close(proceed)
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
	h, err := c.Get(ctx, source("a"))
	if err != nil {
		t.Fatal(err)
	}
	h.Release()
}

// What was compiled is not compiled again for a wrong answer: another compile gives the same.
func TestRejectWrongKeepsWhatWasCompiled(t *testing.T) {
	f := newFixture(t, cache.Options{})
	src := source("a")
	f.wantOrigin(src, job.Compiled)
	f.flush()
	if f.cache.RejectWrong(src.Key(), "test") || f.store.Rejected(src.Key()) != "" || f.store.Len() != 1 {
		t.Error("the binary was rejected")
	}
	f.wantOrigin(src, job.Resident)
	f.wantCounts(withStored(f, binary.Counters{Compiles: 1, ResidentHits: 1}))
}

// A binary that takes the place of a rejected one has passed no check.
func TestTheNextBinaryIsCheckedAgain(t *testing.T) {
	var f *fixture
	var runs int
	var answer error
	src := checkedSource(&f, &runs, &answer)
	f = newFixture(t, cache.Options{MaxPrograms: 1, KeepEvictedBytes: -1})
	evict := func() { f.get(source("b")).Release() }
	f.wantOrigin(src, job.Compiled)
	f.flush()
	evict()
	f.wantOrigin(src, job.Disk)
	if !f.cache.RejectWrong(src.Key(), "test") || runs != 1 {
		t.Fatalf("%d runs", runs)
	}
	f.wantOrigin(src, job.Compiled) // and is checked
	f.flush()
	evict()
	f.wantOrigin(src, job.Disk)
	if runs != 3 {
		t.Errorf("%d runs of the check", runs)
	}
}

// A program that crashes the driver when it runs is refused also where its binary loads.
func TestStoredProgramThatMustNotRun(t *testing.T) {
	dir := t.TempDir()
	f := openStart(t, dir, cache.Options{})
	f.wantOrigin(source("bad"), job.Compiled)
	f.close()
	store := realStore(t, dir)
	q := binary.Quarantined{Key: source("bad").Key(), Name: "bad", Action: binary.ActionDispatch, Signal: "SIGSEGV", Reason: "test"}
	if err := errors.Join(store.Refuse(q), store.Close()); err != nil {
		t.Fatal(err)
	}
	f = openStart(t, dir, cache.Options{})
	if _, err := f.cache.Get(t.Context(), source("bad")); !errors.Is(err, binary.ErrQuarantined) || f.dev.Calls().Loads != 0 {
		t.Errorf("%v, after %d loads", err, f.dev.Calls().Loads)
	}
}
