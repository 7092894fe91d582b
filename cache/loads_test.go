package cache_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// gate blocks goroutines in pass until it is opened, and sends on arrived for each
// of them.
type gate struct {
	arrived chan struct{}
	opened  chan struct{}
}

func newGate() *gate { return &gate{make(chan struct{}, 1000), make(chan struct{})} }

func (g *gate) pass() {
	g.arrived <- struct{}{}
	<-g.opened
}

func (g *gate) open() { close(g.opened) }

// gatedFixture has a device whose compiles wait at the gate.
func gatedFixture(t *testing.T, o cache.Options) (*fixture, *gate) {
	g := newGate()
	dev := cachetest.NewDevice()
	dev.OnCompile = func(context.Context, *shader.Source) error {
		g.pass()
		return nil
	}
	return newFixtureOn(t, dev, cachetest.NewStore(), o), g
}

// answer is the result of one Get.
type answer struct {
	handle *cache.Handle
	err    error
}

// request calls Get on a goroutine of its own.
func (f *fixture) request(ctx context.Context, src *shader.Source) <-chan answer {
	answers := make(chan answer, 1)
	go func() {
		h, err := f.cache.Get(ctx, src)
		answers <- answer{h, err}
	}()
	return answers
}

func TestConcurrentGetsCompileOnce(t *testing.T) {
	f, g := gatedFixture(t, cache.Options{})
	a := source("a")
	const n = 100
	var all []<-chan answer
	for range n {
		all = append(all, f.request(context.Background(), a))
	}
	<-g.arrived
	g.open()
	origins := map[job.Origin]int{}
	var handles []*cache.Handle
	for _, answers := range all {
		got := <-answers
		if got.err != nil {
			t.Fatal(got.err)
		}
		f.dev.Use(got.handle.Program(), a.Key())
		origins[got.handle.Origin()]++
		handles = append(handles, got.handle)
	}
	if origins[job.Compiled] != 1 || origins[job.Resident] != n-1 {
		t.Errorf("origins: %v", origins)
	}
	if err := f.cache.Close(); !isInUse(err) {
		t.Errorf("Close with %d handles: %v", n, err)
	}
	for _, h := range handles {
		h.Release()
	}
	f.wantCounts(withStored(f, binary.Counters{Compiles: 1, ResidentHits: n - 1}))
}

func TestConcurrentGetsReturnTheSameError(t *testing.T) {
	g := newGate()
	dev := cachetest.NewDevice()
	dev.OnCompile = func(_ context.Context, src *shader.Source) error {
		g.pass()
		return &shader.CompileError{Name: src.Name()}
	}
	f := newFixtureOn(t, dev, cachetest.NewStore(), cache.Options{})
	a := source("a")
	first := f.request(context.Background(), a)
	<-g.arrived
	ctx := newWatchedContext()
	second := f.request(ctx, a)
	<-ctx.watched
	g.open()
	for _, answers := range []<-chan answer{first, second} {
		var compileError *shader.CompileError
		if got := <-answers; !errors.As(got.err, &compileError) {
			t.Errorf("error %v", got.err)
		}
	}
	f.wantCounts(binary.Counters{CompileErrors: 1})
}

// watchedContext closes watched when Done is called: then a Get has joined its
// load.
type watchedContext struct {
	context.Context
	cancel  context.CancelFunc
	once    *sync.Once
	watched chan struct{}
}

func newWatchedContext() watchedContext {
	ctx, cancel := context.WithCancel(context.Background())
	return watchedContext{ctx, cancel, new(sync.Once), make(chan struct{})}
}

func (w watchedContext) Done() <-chan struct{} {
	w.once.Do(func() { close(w.watched) })
	return w.Context.Done()
}

func TestCancelledOwnerDoesNotFailTheOthers(t *testing.T) {
	f, g := gatedFixture(t, cache.Options{})
	a := source("a")
	owner, waiter := newWatchedContext(), newWatchedContext()
	first := f.request(owner, a)
	<-g.arrived
	<-owner.watched
	second := f.request(waiter, a)
	<-waiter.watched
	owner.cancel()
	if got := <-first; !errors.Is(got.err, context.Canceled) || got.handle != nil {
		t.Errorf("the owner got %v, %v", got.handle, got.err)
	}
	g.open()
	got := <-second
	if got.err != nil {
		t.Fatal(got.err)
	}
	f.dev.Use(got.handle.Program(), a.Key())
	got.handle.Release()
	waiter.cancel()
	f.wantCounts(withStored(f, binary.Counters{Compiles: 1, ResidentHits: 1}))
}

func TestCancelledWaiterLeavesNoHandle(t *testing.T) {
	f, g := gatedFixture(t, cache.Options{})
	a := source("a")
	waiter := newWatchedContext()
	first := f.request(context.Background(), a)
	<-g.arrived
	second := f.request(waiter, a)
	<-waiter.watched
	waiter.cancel()
	if got := <-second; !errors.Is(got.err, context.Canceled) {
		t.Errorf("the waiter got %v", got.err)
	}
	g.open()
	(<-first).handle.Release()
	if s := f.cache.Stats(); s.InUse != 0 {
		t.Errorf("%d programs in use", s.InUse)
	}
}

func TestLoadContinuesWithoutWaiters(t *testing.T) {
	f, g := gatedFixture(t, cache.Options{})
	a := source("a")
	only := newWatchedContext()
	answers := f.request(only, a)
	<-g.arrived
	<-only.watched
	only.cancel()
	if got := <-answers; !errors.Is(got.err, context.Canceled) {
		t.Errorf("got %v", got.err)
	}
	g.open()
	f.wantOrigin(a, job.Resident)
	f.wantCounts(withStored(f, binary.Counters{Compiles: 1, ResidentHits: 1}))
}

func TestEndedContext(t *testing.T) {
	f := newFixture(t, cache.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a := source("a")
	if _, err := f.cache.Get(ctx, a); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	f.wantOrigin(a, job.Compiled)
	h, err := f.cache.Get(ctx, a)
	if err != nil {
		t.Fatalf("a resident program was refused: %v", err)
	}
	h.Release()
}

func TestHangingDeviceDoesNotStopResidentPrograms(t *testing.T) {
	f := newFixture(t, cache.Options{})
	a := source("a")
	f.wantOrigin(a, job.Compiled)
	f.flush()
	release := f.dev.Hang()
	ctx := newWatchedContext()
	answers := f.request(ctx, source("b"))
	<-ctx.watched
	f.wantOrigin(a, job.Resident)
	if s := f.cache.Stats(); s.Resident != 1 {
		t.Errorf("stats: %+v", s)
	}
	ctx.cancel()
	if got := <-answers; !errors.Is(got.err, context.Canceled) {
		t.Errorf("got %v", got.err)
	}
	release()
}

func TestHangingStoreDoesNotStopOthers(t *testing.T) {
	stuck, free := source("stuck"), source("free")
	reading, writing := newGate(), newGate()
	store := cachetest.NewStore()
	store.OnGet = func(key shader.Key) error {
		if key == stuck.Key() {
			reading.pass()
		}
		return nil
	}
	store.OnPut = func(*binary.Blob) error {
		writing.pass()
		return nil
	}
	f := newFixtureOn(t, cachetest.NewDevice(), store, cache.Options{})
	ctx := newWatchedContext()
	answers := f.request(ctx, stuck)
	<-reading.arrived
	f.wantOrigin(free, job.Compiled)
	<-writing.arrived
	f.wantOrigin(free, job.Resident)
	f.wantOrigin(source("other"), job.Compiled)
	<-ctx.watched
	ctx.cancel()
	if got := <-answers; !errors.Is(got.err, context.Canceled) {
		t.Errorf("got %v", got.err)
	}
	reading.open()
	writing.open()
}
