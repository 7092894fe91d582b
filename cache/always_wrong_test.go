package cache_test

import (
	"errors"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// A driver that computes a program wrong however it got it gives an error at each start, and
// a result when it was mended.
func TestAlwaysWrongIsAnError(t *testing.T) {
	dir := t.TempDir()
	var f *fixture
	var runs int
	var answer error
	src := checkedSource(&f, &runs, &answer)
	bad := errors.New("got 3, want 4")
	for start, want := range []struct {
		answer error
		counts binary.Counters
		runs   int
		wrong  int // records after the start
	}{
		{nil, binary.Counters{Compiles: 1}, 0, 0},
		{bad, binary.Counters{Compiles: 1, WrongAnswers: 1}, 2, 1},
		{bad, binary.Counters{Compiles: 1}, 1, 1},
		{nil, binary.Counters{Compiles: 1}, 1, 1},
		{bad, binary.Counters{WrongAnswers: 1}, 1, 1},
		{nil, binary.Counters{DiskHits: 1}, 1, 0},
		{nil, binary.Counters{DiskHits: 1}, 0, 0},
	} {
		runs, answer = 0, want.answer
		f = openStart(t, dir, cache.Options{})
		h, err := f.cache.Get(t.Context(), src)
		wrong, isWrong := errors.AsType[*cache.WrongAnswerError](err)
		if isWrong != (want.answer != nil) || isWrong && (!wrong.Compiled || wrong.Keys[0] != src.Key()) || !isWrong && err != nil {
			t.Errorf("start %d: %v", start, err)
		}
		if err == nil {
			h.Release()
		}
		f.flush()
		if want.answer == nil {
			want.counts.Stored = want.counts.Compiles
		}
		f.wantCounts(want.counts)
		if _, err := prune(f.cache, binary.PruneOptions{}); err != nil {
			t.Error(err)
		}
		f.close()
		if runs != want.runs {
			t.Errorf("start %d: %d runs of the check", start, runs)
		}
		if n := f.dev.Calls().Deletes; err != nil && n == 0 {
			t.Errorf("start %d: the program is left", start)
		}
		wantWrongPrograms(t, dir, f.dev.Fingerprint(), src.Name(), want.wrong)
	}
}

// wantWrongPrograms checks the records for the doctor.
func wantWrongPrograms(t *testing.T, dir string, driver binary.Fingerprint, name string, n int) {
	t.Helper()
	d, err := binary.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	store, err := d.Store(driver)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for wrong, reason := range store.WrongPrograms() {
		if found++; wrong != name || reason != "got 3, want 4" {
			t.Errorf("%s is wrong: %s", wrong, reason)
		}
	}
	if found != n {
		t.Errorf("%d wrong programs, should be %d", found, n)
	}
}

// The same of programs that are checked together: later starts compile nothing.
func TestAlwaysWrongTogether(t *testing.T) {
	dir := t.TempDir()
	f := openStart(t, dir, cache.Options{})
	_, _ = f.checkTogether(nil)
	f.close()

	bad := errors.New("got 3, want 4")
	f = openStart(t, dir, cache.Options{})
	_, err := f.checkTogether(bad)
	wrong, ok := errors.AsType[*cache.WrongAnswerError](err)
	if !ok || wrong.Compiled || len(wrong.Keys) != 2 {
		t.Fatalf("%v", err)
	}
	for _, key := range wrong.Keys {
		f.cache.RejectWrong(key, "bad")
	}
	wantAlwaysWrong := func(when string) {
		t.Helper()
		runs, err := f.checkTogether(bad)
		wrong, ok := errors.AsType[*cache.WrongAnswerError](err)
		if runs != 1 || !ok || !wrong.Compiled || len(wrong.Keys) != 2 {
			t.Errorf("%s: %d runs, %v", when, runs, err)
		}
	}
	wantAlwaysWrong("after a compile")
	wantAlwaysWrong("the second time")
	f.close()

	f = openStart(t, dir, cache.Options{})
	wantAlwaysWrong("the next start")
	f.wantCounts(withStored(f, binary.Counters{DiskHits: 2}))
	f.close()

	f = openStart(t, dir, cache.Options{})
	if runs, err := f.checkTogether(nil); runs != 1 || err != nil {
		t.Errorf("with a mended driver: %d runs, %v", runs, err)
	}
	f.close()
}

// A preload has the error too.
func TestAlwaysWrongInPreload(t *testing.T) {
	dir := t.TempDir()
	var f *fixture
	var runs int
	var answer error
	src := checkedSource(&f, &runs, &answer)
	for start, want := range []int{0, 2, 1} {
		runs = 0
		f = openStart(t, dir, cache.Options{})
		results, err := f.cache.Preload(t.Context(), []*shader.Source{src}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, wrong := errors.AsType[*cache.WrongAnswerError](results[0].Err); wrong != (start > 0) {
			t.Errorf("start %d: %v", start, results[0].Err)
		}
		f.close()
		if runs != want {
			t.Errorf("start %d: %d runs of the check", start, runs)
		}
		answer = errors.New("got 3, want 4")
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

// A binary upstream that computes wrong stays there: the program is compiled here, and later
// starts have that one.
func TestWrongUpstream(t *testing.T) {
	up, dir := t.TempDir(), t.TempDir()
	f := openStart(t, up, cache.Options{})
	_, _ = f.checkTogether(nil)
	f.close()

	f = openStart(t, dir, cache.Options{Upstream: up})
	_, err := f.checkTogether(errors.New("bad"))
	wrong, ok := errors.AsType[*cache.WrongAnswerError](err)
	if !ok || wrong.Compiled {
		t.Fatalf("%v", err)
	}
	for _, key := range wrong.Keys {
		f.cache.RejectWrong(key, "bad")
	}
	for _, name := range []string{"a", "b"} {
		f.wantOrigin(source(name), job.Compiled)
	}
	f.wantCounts(withStored(f, binary.Counters{DiskHits: 2, UpstreamHits: 2, Compiles: 2, WrongAnswers: 2, UpstreamRejected: 2, Evictions: 2}))
	f.close()

	f = openStart(t, dir, cache.Options{Upstream: up})
	for _, name := range []string{"a", "b"} {
		f.wantOrigin(source(name), job.Disk)
	}
	f.wantCounts(withStored(f, binary.Counters{DiskHits: 2}))
	f.close()
}

// So does one of a directory that can only be read.
func TestWrongWhereNothingIsWritten(t *testing.T) {
	up := t.TempDir()
	f := openStart(t, up, cache.Options{})
	_, _ = f.checkTogether(nil)
	f.close()

	dir, err := binary.OpenUpstream(up)
	must(t, err)
	store, err := dir.Store(cachetest.NewDevice().Fingerprint())
	must(t, err)
	f = startFixture(t, cachetest.NewDevice(), nil, cache.Options{Store: store})
	f.wantOrigin(source("a"), job.Disk)
	if !f.cache.RejectWrong(source("a").Key(), "bad") {
		t.Error("it was not rejected")
	}
	f.wantOrigin(source("a"), job.Compiled)
	f.close()
}
