package cache_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// The check of a source is the application's code and runs inside Get.
func TestPanicOfACheckLeavesNoLoad(t *testing.T) {
	dir := t.TempDir()
	f := openStart(t, dir, cache.Options{})
	f.wantOrigin(source("a"), job.Compiled)
	f.close()

	f = openStart(t, dir, cache.Options{})
	broken := source("a").WithCheck(func(context.Context, uint32) error { panic("the check is broken") })
	if v := panicOf(func() { f.cache.Get(context.Background(), broken) }); v != "the check is broken" {
		t.Errorf("Get panicked with %v", v)
	}
	f.wantOrigin(source("a"), job.Disk)
	f.close() // hangs where the load is still in flight; the device has no program left
}

func TestPanicOfProgressLeavesNoLoad(t *testing.T) {
	f := newFixture(t, cache.Options{})
	list := sources(5)
	v := panicOf(func() {
		f.cache.Preload(context.Background(), list, func(cache.PreloadResult) { panic("progress is broken") })
	})
	if v != "progress is broken" {
		t.Errorf("Preload panicked with %v", v)
	}
	f.preload(list)
}

// A mark that stays makes a source a suspect when the process is killed later.
func TestPanicOfProgressLeavesNoMark(t *testing.T) {
	store := &marked{}
	dev := cachetest.NewDevice()
	c, err := cache.New(dev, cache.Options{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	panicOf(func() {
		c.Preload(context.Background(), sources(5), func(cache.PreloadResult) { panic("progress is broken") })
	})
	if store.marks.Load() != 0 {
		t.Errorf("%d marks were left", store.marks.Load())
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	dev.Verify(t)
}

// marked is a store that counts marks.
type marked struct {
	cache.Nothing
	marks atomic.Int32
}

func (m *marked) Mark(binary.Action, shader.Key, string) { m.marks.Add(1) }
func (m *marked) Unmark(binary.Action, shader.Key)       { m.marks.Add(-1) }

// t.FailNow in progress is runtime.Goexit.
func TestGoexitInProgressLeavesNoLoad(t *testing.T) {
	f := newFixture(t, cache.Options{})
	list := sources(5)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.cache.Preload(context.Background(), list, func(cache.PreloadResult) { runtime.Goexit() })
	}()
	<-ended
	var again []*shader.Source
	for _, src := range list {
		f.get(src).Release()
		again = append(again, src)
	}
	f.preload(again)
}

// panicOf returns what call panics with.
func panicOf(call func()) (v any) {
	defer func() { v = recover() }()
	call()
	return nil
}
