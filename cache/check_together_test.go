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

// checkTogether gets two programs whose check comes later, checks them, and returns the
// error and how often the check ran.
func (f *fixture) checkTogether(answer error) (runs int, err error) {
	f.Helper()
	var handles []*cache.Handle
	for _, name := range []string{"a", "b"} {
		later := func(context.Context, uint32) error { return shader.ErrCheckLater }
		h, err := f.cache.Get(context.Background(), source(name).WithCheck(later))
		if err != nil {
			f.Fatal(err)
		}
		defer h.Release()
		handles = append(handles, h)
	}
	err = f.cache.CheckTogether(context.Background(), handles, func(context.Context) error {
		runs++
		return answer
	})
	return runs, err
}

func TestCheckTogetherRunsOnceForBinaries(t *testing.T) {
	dir := t.TempDir()
	for start, want := range []struct {
		answer error
		runs   [2]int
	}{{nil, [2]int{0, 0}}, {shader.ErrCheckLater, [2]int{1, 0}}, {nil, [2]int{1, 0}}, {nil, [2]int{0, 0}}} {
		f := openStart(t, dir, cache.Options{})
		for turn := range 2 {
			runs, err := f.checkTogether(want.answer)
			if err != nil || runs != want.runs[turn] {
				t.Errorf("start %d, turn %d: %d runs, %v", start, turn, runs, err)
			}
		}
		f.close()
	}
}

func TestCheckTogetherNamesWrongPrograms(t *testing.T) {
	dir := t.TempDir()
	f := openStart(t, dir, cache.Options{})
	f.wantOrigin(source("a"), job.Compiled)
	f.close() // b is not stored

	f = openStart(t, dir, cache.Options{})
	if _, err := f.checkTogether(shader.ErrOutOfMemory); err != shader.ErrOutOfMemory {
		t.Errorf("without an answer: %v", err)
	}
	_, err := f.checkTogether(errors.New("got 3, want 4"))
	wrong, ok := errors.AsType[*cache.WrongAnswerError](err)
	if !ok || len(wrong.Keys) != 1 || wrong.Keys[0] != source("a").Key() {
		t.Fatalf("got %v", err)
	}
	if !f.cache.RejectWrong(wrong.Keys[0], "test") {
		t.Error("the program is in use")
	}
	for turn, want := range []int{1, 0} { // the one that was rejected is checked again
		if runs, err := f.checkTogether(nil); runs != want || err != nil {
			t.Errorf("compiled programs, turn %d: %d runs, %v", turn, runs, err)
		}
	}
	f.wantCounts(withStored(f, binary.Counters{DiskHits: 1, ResidentHits: 5, Compiles: 2, Evictions: 1, WrongAnswers: 1}))
	f.close()
}
