package cache_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

func TestReleaseIsIdempotent(t *testing.T) {
	f := newFixture(t, cache.Options{})
	h := f.get(source("a"))
	other := h.Retain()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(h.Release)
	}
	wg.Wait()
	if s := f.cache.Stats(); s.InUse != 1 {
		t.Errorf("%d programs in use: a second Release took the other handle's count", s.InUse)
	}
	other.Release()
	other.Release()
	if s := f.cache.Stats(); s.InUse != 0 {
		t.Errorf("%d programs in use", s.InUse)
	}
}

// Handles that Get returned with an error have no program.
func TestHandlesWithoutAProgram(t *testing.T) {
	var zero cache.Handle
	var none *cache.Handle
	zero.Release()
	none.Release()
	for _, h := range []*cache.Handle{&zero, none} {
		func() {
			defer func() {
				if text, ok := recover().(string); !ok || !strings.Contains(text, "no program") {
					t.Errorf("panic %q", text)
				}
			}()
			h.Program()
		}()
	}
}

func TestNilSourcesAreErrors(t *testing.T) {
	f := newFixture(t, cache.Options{})
	if _, err := f.cache.Get(t.Context(), nil); err == nil {
		t.Error("Get of no source worked")
	}
	//lint:ignore SA1012 that is the point
	if _, err := f.cache.Get(nil, source("a")); err == nil {
		t.Error("Get without a context worked")
	}
	results, err := f.cache.Preload(t.Context(), []*shader.Source{nil, source("a")}, nil)
	if err != nil || results[0].Err == nil || results[1].Err != nil || results[1].Origin != job.Compiled {
		t.Errorf("preload: %+v, %v", results, err)
	}
}

func TestRetainedHandleKeepsTheProgram(t *testing.T) {
	f := newFixture(t, cache.Options{MaxPrograms: 1})
	a := source("a")
	h := f.get(a)
	kept := h.Retain()
	h.Release()
	f.wantOrigin(source("b"), job.Compiled)
	f.dev.Use(kept.Program(), a.Key())
	if kept.Origin() != job.Compiled || kept.Name() != "a" {
		t.Errorf("retained handle of %s, %v", kept.Name(), kept.Origin())
	}
	kept.Release()
}

func TestRetainIntoReusesAHandle(t *testing.T) {
	f := newFixture(t, cache.Options{MaxPrograms: 1})
	a, b := f.get(source("a")), f.get(source("b"))
	f.flush() // what is done in the background allocates
	var kept cache.Handle
	a.RetainInto(&kept)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic for a handle that is in use")
			}
		}()
		b.RetainInto(&kept)
	}()
	a.Release()
	f.dev.Use(kept.Program(), source("a").Key())
	kept.Release()
	b.RetainInto(&kept)
	if n := testing.AllocsPerRun(10, func() { kept.Release(); b.RetainInto(&kept) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	b.Release()
	if kept.Name() != "b" {
		t.Errorf("the handle is of %s", kept.Name())
	}
	kept.Release()
	if s := f.cache.Stats(); s.InUse != 0 {
		t.Errorf("%d programs in use", s.InUse)
	}
}

func TestReleasedHandlePanics(t *testing.T) {
	f := newFixture(t, cache.Options{})
	h := f.get(source("a"))
	h.Release()
	for name, use := range map[string]func(){
		"Program":   func() { h.Program() },
		"Name":      func() { h.Name() },
		"Key":       func() { h.Key() },
		"Interface": func() { h.Interface() },
		"WorkGroup": func() { h.WorkGroup() },
		"Origin":    func() { h.Origin() },
		"Retain":    func() { h.Retain() },
	} {
		func() {
			defer func() {
				if r, ok := recover().(string); !ok || !strings.Contains(r, "after Release") {
					t.Errorf("%s: recovered %v", name, r)
				}
			}()
			use()
		}()
	}
}

func TestOriginStrings(t *testing.T) {
	for origin, want := range map[job.Origin]string{
		job.Compiled: "compiled", job.Disk: "disk", job.Memory: "memory", job.Resident: "resident", 0: "unknown",
	} {
		if text, err := origin.MarshalText(); err != nil || string(text) != want {
			t.Errorf("origin %d is %q, %v", origin, text, err)
		}
	}
}
