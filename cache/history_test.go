package cache_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// asks is a start that asks for programs.
func asks(t *testing.T, dir string, names ...string) {
	t.Helper()
	f := openStart(t, dir, cache.Options{History: true})
	for _, name := range names {
		f.get(source(name)).Release()
		f.get(source(name)).Release() // counts once
	}
	f.close()
}

func TestPreloadHistory(t *testing.T) {
	dir := t.TempDir()
	asks(t, dir, "rare")
	asks(t, dir, "first", "late")
	asks(t, dir, "first", "late")
	f := openStart(t, dir, cache.Options{History: true})
	results, err := f.cache.PreloadHistory(context.Background(), 0, nil)
	if got := names(results); err != nil || !slices.Equal(got, []string{"first", "late", "rare"}) {
		t.Fatalf("preloaded %q, %v", got, err)
	}
	for _, r := range results {
		if r.Err != nil || r.Origin != job.Disk {
			t.Errorf("%+v", r)
		}
	}
	f.wantOrigin(source("late"), job.Resident)
	f.close()

	// What the preload made resident is in the history where it was used, and only there.
	f = openStart(t, dir, cache.Options{History: true})
	defer f.close()
	for _, p := range f.cache.Store().(cache.Sources).StartSet("") {
		want := map[string]int{"first": 2, "late": 3, "rare": 1}[p.Name]
		if p.Starts != want || p.Key != source(p.Name).Key() {
			t.Errorf("%+v, want %d starts", p, want)
		}
	}
}

func TestPreloadHistoryKeepsItsBudget(t *testing.T) {
	dir := t.TempDir()
	var all []string
	for i := range 20 {
		all = append(all, string(rune('a'+i)))
	}
	asks(t, dir, all...)
	began, passed := time.Now(), atomic.Int64{} // loads read the clock on other goroutines
	f := openStart(t, dir, cache.Options{Now: func() time.Time { return began.Add(time.Duration(passed.Load())) }})
	results, err := f.cache.PreloadHistory(context.Background(), time.Second,
		func(cache.PreloadResult) { passed.Add(int64(100 * time.Millisecond)) })
	if got := names(results); err != nil || len(got) != 16 || !slices.Equal(got, all[:16]) {
		t.Errorf("preloaded %q, %v: want two windows of 8", got, err)
	}
}

func TestHistoryIsOptional(t *testing.T) {
	dir := t.TempDir()
	f := openStart(t, dir, cache.Options{})
	f.get(source("a")).Release()
	f.close()
	f = openStart(t, dir, cache.Options{History: true, FillOnly: true})
	f.get(source("b")).Release()
	f.close()
	f = openStart(t, dir, cache.Options{})
	if set := f.cache.Store().(cache.Sources).StartSet(""); len(set) != 0 {
		t.Errorf("%+v", set)
	}
	asks(t, dir, "a")
	if set := f.cache.Store().(cache.Sources).StartSet("other"); len(set) != 0 {
		t.Errorf("of another executable: %+v", set)
	}
}

// TestHistoryOfALostText leaves out what cannot be made.
func TestHistoryOfALostText(t *testing.T) {
	dir := t.TempDir()
	asks(t, dir, "a", "b")
	removeSource(t, dir, source("a").Key())
	f := openStart(t, dir, cache.Options{})
	if results, err := f.cache.PreloadHistory(context.Background(), 0, nil); err != nil || !slices.Equal(names(results), []string{"b"}) {
		t.Errorf("%+v, %v", results, err)
	}
}

func removeSource(t *testing.T, dir string, key shader.Key) {
	t.Helper()
	removed := removeFiles(t, dir, key.String()+".glsl.zst")
	if removed != 1 {
		t.Fatalf("%d files", removed)
	}
}

// removeFiles removes the files of a name below dir, and returns their number.
func removeFiles(t *testing.T, dir, name string) (removed int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == name {
			removed++
			err = os.Remove(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return removed
}

// TestHistoryOfCheckedPrograms preloads a program whose source has a check only when its
// binary has passed it: a text has none.
func TestHistoryOfCheckedPrograms(t *testing.T) {
	dir, wrong := t.TempDir(), shader.ErrCheckLater
	check := func(context.Context, uint32) error { return wrong }
	for _, preloaded := range []int{0, 0, 1} {
		f := openStart(t, dir, cache.Options{History: true})
		results, err := f.cache.PreloadHistory(context.Background(), 0, nil)
		if err != nil || len(results) != preloaded {
			t.Errorf("preloaded %d, %v: want %d", len(results), err, preloaded)
		}
		f.get(source("a").WithCheck(check)).Release()
		f.close()
		wrong = nil // the second start checks it
	}
}

// A program that was preloaded is recorded as one that has a check, if its source has one.
func TestHistoryKeepsTheCheck(t *testing.T) {
	dir := t.TempDir()
	src := source("a").WithCheck(func(context.Context, uint32) error { return nil })
	for start := range 3 {
		f := openStart(t, dir, cache.Options{History: true})
		_, err := f.cache.PreloadHistory(t.Context(), 0, nil)
		must(t, err)
		f.get(src).Release()
		f.close()
		lines, err := os.ReadFile(filepath.Join(dir, "history.jsonl"))
		must(t, err)
		if n := bytes.Count(lines, []byte(`"checked":true`)); n != start+1 {
			t.Errorf("%d of %d starts have the check:\n%s", n, start+1, lines)
		}
	}
}
