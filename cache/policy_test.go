package cache

import (
	"context"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// askedStore answers what the policy asks the directory, and counts the questions.
type askedStore struct {
	nothing
	notes   []binary.Quarantined
	failure *shader.CompileError
	wrong   bool
	asked   int
}

func (s *askedStore) Recover() (binary.Recovery, error) {
	return binary.Recovery{Active: s.notes}, nil
}

func (s *askedStore) Failure(*shader.Source) *shader.CompileError {
	s.asked++
	return s.failure
}

func (s *askedStore) Wrong(shader.Key) (string, bool) {
	s.asked++
	return "", s.wrong
}

type noTrier struct{ Trier }

// Each situation has its answers: before find, after a trial, and before make. The first
// reads no file of the program.
func TestPolicy(t *testing.T) {
	src := shader.NewFinalSource("a", "void main() {}", nil).WithCheck(func(context.Context, uint32) error { return nil })
	note := func(action binary.Action, suspect bool, signal string) []binary.Quarantined {
		return []binary.Quarantined{{Key: src.Key(), Action: action, Suspect: suspect, Signal: signal}}
	}
	const segv = "SIGSEGV: segmentation fault"
	for name, c := range map[string]struct {
		store             askedStore
		trier             Trier
		sourceOnly        string
		find, tried, made answer
	}{
		"nothing is known": {made: answer{may: mayCompile}},
		"no binaries": {sourceOnly: "a choice", find: answer{may: mayCompile, source: binaryChoice},
			tried: answer{may: mayCompile, source: binaryChoice}, made: answer{may: mayCompile}},
		"it crashed a compile": {store: askedStore{notes: note(binary.ActionCompile, false, segv)},
			made: answer{may: refused, source: crashNote}},
		"it crashed its first job": {store: askedStore{notes: note(binary.ActionDispatch, false, segv)},
			find: answer{may: refused, source: crashNote}, tried: answer{may: refused, source: crashNote}, made: answer{may: refused, source: crashNote}},
		"it crashed a load": {store: askedStore{notes: note(binary.ActionLoad, false, segv)},
			find: answer{may: mayCompile, source: crashNote, unstored: true}, tried: answer{may: mayCompile, source: crashNote, unstored: true},
			made: answer{may: mayCompile, source: crashNote, unstored: true}},
		"it was being compiled": {store: askedStore{notes: note(binary.ActionCompile, true, "")}, trier: noTrier{},
			find: answer{may: onlyApart, source: crashNote, alone: true}, tried: answer{source: crashNote, alone: true},
			made: answer{may: mayCompile, source: crashNote, alone: true}},
		"it was being loaded": {store: askedStore{notes: note(binary.ActionLoad, true, "")},
			find: answer{may: mayCompile, source: crashNote, alone: true}, tried: answer{may: mayCompile, source: crashNote, alone: true},
			made: answer{may: mayCompile, source: crashNote, alone: true}},
		"its first job did not end": {store: askedStore{notes: note(binary.ActionDispatch, true, "")}, trier: noTrier{},
			made: answer{may: mayCompile}},
		"it did not compile": {store: askedStore{failure: &shader.CompileError{Log: "no"}}, made: answer{may: refused, source: keptError}},
		"it is wrong":        {store: askedStore{wrong: true}, made: answer{may: mayCompile, source: wrongAnswer, recheck: true}},
	} {
		t.Run(name, func(t *testing.T) {
			cache := &Cache{store: powersOf(&c.store), sourceOnly: c.sourceOnly, clock: newClock(nil), options: Options{KeepCompileErrors: true}.withDefaults()}
			cache.log = cache.options.Logger
			for i := range c.store.notes {
				c.store.notes[i].Time = cache.clock.wall()
			}
			cache.guard = newCrashGuard(cache, c.trier)
			cache.guard.readNotes()
			want := func(got, want answer) {
				t.Helper()
				if (got.err != nil) != (want.may == refused) {
					t.Errorf("%v: the error is %v", got.may, got.err)
				}
				if got.err = nil; got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
			}
			want(cache.beforeFind(src, false), c.find)
			want(cache.beforeFind(src, true), c.tried)
			if c.store.asked > 0 {
				t.Error("what a Get of a stored program asks was read from the directory")
			}
			want(cache.beforeMake(src), c.made)
			if unchecked := src.WithCheck(nil); cache.beforeMake(unchecked).recheck {
				t.Error("a source without a check is to be checked")
			}
		})
	}
}
