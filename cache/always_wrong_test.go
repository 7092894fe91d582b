package cache_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/shader"
)

// A driver that computes a program wrong however it got it costs one compile, and each
// start a warning.
func TestAlwaysWrongIsCompiledOnce(t *testing.T) {
	dir := t.TempDir()
	var f *fixture
	var runs int
	var answer error
	src := checkedSource(&f, &runs, &answer)
	for start, want := range []struct {
		origin   cache.Origin
		counts   binary.Counters
		runs     int
		warnings int
	}{
		{cache.Compiled, binary.Counters{Compiles: 1}, 0, 0},
		{cache.Compiled, binary.Counters{Compiles: 1, WrongAnswers: 1}, 2, 1},
		{cache.Disk, binary.Counters{DiskHits: 1}, 0, 1},
		{cache.Disk, binary.Counters{DiskHits: 1}, 0, 1},
	} {
		var log bytes.Buffer
		runs = 0
		f = openStart(t, dir, cache.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		f.wantOrigin(src, want.origin)
		f.wantCounts(withStored(f, want.counts))
		f.close()
		if n := strings.Count(log.String(), "also right after a compile"); runs != want.runs || n != want.warnings {
			t.Errorf("start %d: %d runs of the check, %d warnings:\n%s", start, runs, n, &log)
		}
		answer = errors.New("got 3, want 4")
	}
	d, err := binary.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	store, err := d.Store(f.dev.Fingerprint())
	if err != nil {
		t.Fatal(err)
	}
	if list := store.WrongPrograms(); len(list) != 1 || list[0].Name != src.Name() || list[0].Reason != "got 3, want 4" {
		t.Errorf("wrong programs: %+v", list)
	}
}

// The same of programs that are checked together.
func TestAlwaysWrongTogether(t *testing.T) {
	dir := t.TempDir()
	f := openStart(t, dir, cache.Options{})
	_, _ = f.checkTogether(nil)
	f.close()

	bad := errors.New("got 3, want 4")
	f = openStart(t, dir, cache.Options{})
	_, err := f.checkTogether(bad)
	wrong, ok := errors.AsType[*cache.WrongAnswerError](err)
	if !ok || len(wrong.Keys) != 2 {
		t.Fatalf("%v", err)
	}
	for _, key := range wrong.Keys {
		f.cache.RejectWrong(key, "bad")
	}
	for turn, want := range []int{1, 0} {
		if runs, err := f.checkTogether(bad); runs != want || err != nil {
			t.Errorf("turn %d after a compile: %d runs, %v", turn, runs, err)
		}
	}
	f.close()

	f = openStart(t, dir, cache.Options{})
	if runs, err := f.checkTogether(bad); runs != 0 || err != nil {
		t.Errorf("the next start: %d runs, %v", runs, err)
	}
	f.wantCounts(withStored(f, binary.Counters{DiskHits: 2}))
	f.close()
}

// A preload records it as well.
func TestAlwaysWrongInPreload(t *testing.T) {
	dir := t.TempDir()
	var f *fixture
	var runs int
	answer := errors.New("got 3, want 4")
	src := checkedSource(&f, &runs, &answer)
	for start, want := range []int{0, 2, 0} {
		runs = 0
		f = openStart(t, dir, cache.Options{})
		f.preload([]*shader.Source{src})
		f.close()
		if runs != want {
			t.Errorf("start %d: %d runs of the check", start, runs)
		}
	}
}

// A program that is right after a compile is stored and checked as others are.
func TestRightAfterCompileIsNoRecord(t *testing.T) {
	dir := t.TempDir()
	f := openStart(t, dir, cache.Options{})
	_, _ = f.checkTogether(nil)
	f.close()
	f = openStart(t, dir, cache.Options{})
	defer f.close()
	_, err := f.checkTogether(errors.New("bad"))
	wrong, _ := errors.AsType[*cache.WrongAnswerError](err)
	for _, key := range wrong.Keys {
		f.cache.RejectWrong(key, "bad")
	}
	for turn, want := range []int{1, 0} {
		if runs, err := f.checkTogether(shader.ErrCheckLater); runs != want || err != nil {
			t.Errorf("turn %d: %d runs, %v", turn, runs, err)
		}
	}
}
