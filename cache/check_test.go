package cache_test

import (
	"context"
	"errors"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// checkedSource returns a source whose check counts its runs and returns *err.
func checkedSource(f **fixture, runs *int, err *error) *shader.Source {
	src := source("a")
	return src.WithCheck(func(_ context.Context, program uint32) error {
		(*f).dev.Use(program, src.Key())
		*runs++
		return *err
	})
}

func TestCheckRunsOnceForABinary(t *testing.T) {
	dir := t.TempDir()
	var f *fixture
	var runs int
	var answer error
	src := checkedSource(&f, &runs, &answer)
	for start, want := range []struct {
		origin job.Origin
		runs   int
	}{{job.Compiled, 0}, {job.Disk, 1}, {job.Disk, 1}} {
		f = openStart(t, dir, cache.Options{MaxPrograms: 1})
		f.wantOrigin(src, want.origin)
		f.close()
		if runs != want.runs {
			t.Errorf("start %d: %d runs, want %d", start, runs, want.runs)
		}
	}
}

func TestWrongAnswerDiscardsTheBinary(t *testing.T) {
	dir := t.TempDir()
	var runs int
	var answer error
	src := source("a").WithCheck(func(context.Context, uint32) error {
		runs++
		once := answer
		answer = nil
		return once
	})
	f := openStart(t, dir, cache.Options{})
	f.wantOrigin(src, job.Compiled)
	f.close()

	answer = errors.New("got 3, want 4")
	f = openStart(t, dir, cache.Options{})
	f.wantOrigin(src, job.Compiled)
	f.wantCounts(withStored(f, binary.Counters{Compiles: 1, WrongAnswers: 1}))
	f.close()
	if runs != 2 {
		t.Errorf("%d runs: of the binary, and of what was compiled in its place", runs)
	}

	f = openStart(t, dir, cache.Options{})
	f.wantOrigin(src, job.Disk)
	f.wantCounts(binary.Counters{DiskHits: 1})
	if runs != 3 {
		t.Errorf("%d runs", runs)
	}
}

func TestNoAnswerIsNotAWrongOne(t *testing.T) {
	var f *fixture
	var runs int
	var answer error
	src := checkedSource(&f, &runs, &answer)
	f = newFixture(t, cache.Options{MaxPrograms: 1})
	f.wantOrigin(src, job.Compiled)
	f.flush()
	f.wantOrigin(source("b"), job.Compiled)
	f.flush()
	answer = shader.ErrOutOfMemory
	if _, err := f.cache.Get(context.Background(), src); !errors.Is(err, shader.ErrOutOfMemory) {
		t.Errorf("Get: %v", err)
	}
	answer = nil
	f.wantOrigin(src, job.Memory)
	f.wantOrigin(source("b"), job.Memory)
	f.wantOrigin(src, job.Memory)
	if runs != 2 {
		t.Errorf("%d runs, the one that passed should be recorded", runs)
	}
}

func TestBinaryThatMiscomputesIsReplaced(t *testing.T) {
	f := newFixture(t, cache.Options{MaxPrograms: 1, KeepEvictedBytes: -1})
	src := source("a").WithCheck(func(_ context.Context, program uint32) error { return f.dev.Answer(program) })
	f.wantOrigin(src, job.Compiled)
	f.flush()
	f.dev.MiscomputeBinaries(true)
	f.wantOrigin(source("b"), job.Compiled)
	h := f.get(src)
	if err := f.dev.Answer(h.Program()); err != nil || h.Origin() != job.Compiled {
		t.Errorf("%v, %v", h.Origin(), err)
	}
	h.Release()
	f.wantCounts(withStored(f, binary.Counters{Compiles: 3, WrongAnswers: 1, Evictions: 2}))
	if f.store.Rejected(src.Key()) == "" {
		t.Error("the binary was not rejected")
	}
}

// The binary of a program passes its check, the program is evicted, and another process
// puts another binary in its place.
func TestBinaryOfAnotherProcessIsChecked(t *testing.T) {
	dir := t.TempDir()
	f := openStart(t, dir, cache.Options{})
	f.wantOrigin(source("a"), job.Compiled)
	f.close()

	f = openStart(t, dir, cache.Options{MaxPrograms: 1, KeepEvictedBytes: -1})
	runs := 0
	src := source("a").WithCheck(func(_ context.Context, program uint32) error {
		runs++
		return f.dev.Answer(program)
	})
	for range 2 { // the second time it is known to be checked
		f.wantOrigin(src, job.Disk)
		f.origin(source("b"))
		f.flush()
	}
	if runs != 1 {
		t.Errorf("%d runs of the check, want 1", runs)
	}

	blob, err := f.cache.Store().Get(src.Key())
	if err != nil {
		t.Fatal(err)
	}
	blob.Payload[len(blob.Payload)-1]++
	if err := f.cache.Store().Put(blob); err != nil {
		t.Fatal(err)
	}
	f.dev.MiscomputeBinaries(true)
	h := f.get(src)
	defer h.Release()
	if err := f.dev.Answer(h.Program()); err != nil || runs != 3 {
		t.Errorf("%v, %v; %d runs of the check, want 3: of the other binary, and of what was compiled in its place", h.Origin(), err, runs)
	}
}

// A binary that is rejected while its program is in use is not loaded from memory either, once
// that is evicted.
func TestRejectedWhileInUse(t *testing.T) {
	dir := t.TempDir()
	f := openStart(t, dir, cache.Options{})
	f.wantOrigin(source("a"), job.Compiled)
	f.close()
	f = openStart(t, dir, cache.Options{MaxPrograms: 1})
	h := f.get(source("a"))
	if f.cache.RejectWrong(source("a").Key(), "bad") {
		t.Error("it is rejected while there is a handle")
	}
	h.Release()
	f.wantOrigin(source("b"), job.Compiled) // evicts a
	f.wantOrigin(source("a"), job.Compiled)
	f.close()
}
