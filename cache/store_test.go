package cache_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// A cache over a store without further powers works, and keeps nothing of them.
func TestStoreWithoutPowers(t *testing.T) {
	bare := struct{ cache.Store }{cachetest.NewStore()}
	o := cache.Options{Store: bare, ShareCompiles: time.Second, KeepSources: true, History: true, RecordCrashes: true, MaxDiskBytes: 1}
	f := startFixture(t, cachetest.NewDevice(), nil, o)
	f.wantOrigin(source("a"), job.Compiled)
	f.flush()
	if _, err := f.cache.Rebuild(context.Background(), nil); err != nil {
		t.Error(err)
	}
	if err := f.cache.Tunings().PutTuning(binary.Tuning{Problem: "p"}); err != nil {
		t.Error(err)
	}
	if _, err := f.cache.Tunings().Tuning("p"); !errors.Is(err, binary.ErrNotFound) {
		t.Error(err)
	}
	f.cache.Interrupted()
	must(t, f.cache.Close())
	f = startFixture(t, cachetest.NewDevice(), nil, o)
	f.wantOrigin(source("a"), job.Disk)
}

func TestNothingKeepsNothing(t *testing.T) {
	s := cache.Nothing{}
	src := source("a")
	must(t, errors.Join(
		s.Put(&binary.Blob{Key: src.Key()}), s.PutChecked(&binary.Blob{Key: src.Key()}), s.Record(nil, binary.Counters{Compiles: 1}),
		s.PutSource(src), s.PutFailure(src, "log"), s.PutTuning(binary.Tuning{Problem: "p"}),
		s.Reject(src.Key(), "reason"), s.Lift(src.Key())))
	s.Mark(binary.ActionLoad, src.Key(), "a")
	s.Unmark(binary.ActionLoad, src.Key())
	s.ClearMarks()
	s.SetCrashOutput(func(*os.File) { t.Error("there is no file for crashes") })
	for what, err := range map[string]error{
		"Get": second(s.Get(src.Key())), "Source": second(s.Source(src.Key())), "Tuning": second(s.Tuning("p")),
	} {
		if !errors.Is(err, binary.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if s.Checked(&binary.Blob{Key: src.Key()}) || s.Failure(src) != nil {
		t.Error("a check or a failure is kept")
	}
	if missing, err := s.Missing(); len(missing) != 0 || err != nil {
		t.Errorf("missing: %+v, %v", missing, err)
	}
	if r, err := s.Recover(); len(r.Found)+len(r.Active) != 0 || err != nil {
		t.Errorf("in quarantine: %+v, %v", r, err)
	}
	if _, done, err := s.Trim(binary.PruneOptions{MaxBytes: 1}); done || err != nil {
		t.Errorf("trimmed: %v, %v", done, err)
	}
	must(t, s.Close())
}

// rest is below what a store that embeds it has.
type rest struct{ cache.Nothing }

// markedStore is a fake store with crash marks and a quarantine.
type markedStore struct {
	*cachetest.Store
	rest
	recovery binary.Recovery
	err      error // of Recover, Lift, Missing and Trim

	mu     sync.Mutex
	marked []string // action and name
	lifted []shader.Key
}

func (s *markedStore) Recover() (binary.Recovery, error) { return s.recovery, s.err }

func (s *markedStore) Mark(action binary.Action, _ shader.Key, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marked = append(s.marked, string(action)+" "+name)
}

func (s *markedStore) Unmark(action binary.Action, key shader.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marked = slices.DeleteFunc(s.marked, func(mark string) bool {
		prefix, name, _ := strings.Cut(mark, " ")
		return prefix == string(action) && source(name).Key() == key
	})
}

func (s *markedStore) marks() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.marked)
}

func (s *markedStore) Lift(key shader.Key) error {
	s.lifted = append(s.lifted, key)
	return s.err
}

func (s *markedStore) Missing() ([]binary.Entry, error) { return nil, s.err }

func (s *markedStore) Trim(binary.PruneOptions) (binary.PruneReport, bool, error) {
	return binary.PruneReport{}, false, s.err
}

// newMarkedFixture is newFixture with a markedStore.
func newMarkedFixture(t *testing.T, store *markedStore, o cache.Options) *fixture {
	t.Helper()
	o.Store, o.Now = store, ticker()
	return startFixture(t, cachetest.NewDevice(), store.Store, o)
}

// The crash guard works with every store that has marks, also beneath others.
func TestDeviceWorksUnderAMark(t *testing.T) {
	store := &markedStore{Store: cachetest.NewStore()}
	f := newMarkedFixture(t, store, cache.Options{MaxPrograms: 1, KeepEvictedBytes: -1})
	var compiling, loading []string
	f.dev.OnCompile = func(context.Context, *shader.Source) error {
		compiling = store.marks()
		return nil
	}
	f.dev.OnLoad = func(context.Context, []byte) error {
		loading = store.marks()
		return nil
	}
	f.wantOrigin(source("a"), job.Compiled)
	if !slices.Equal(compiling, []string{"compile a"}) {
		t.Errorf("marks while a is compiled: %q", compiling)
	}
	f.wantOrigin(source("b"), job.Compiled)
	f.flush()
	f.wantOrigin(source("a"), job.Disk)
	if !slices.Equal(loading, []string{"load a"}) {
		t.Errorf("marks while a is loaded: %q", loading)
	}
	if left := store.marks(); len(left) != 0 {
		t.Errorf("marks without work: %q", left)
	}
}

func TestFailingQuarantineStopsNothing(t *testing.T) {
	a := source("a")
	suspect := binary.Quarantined{Key: a.Key(), Name: "a", Action: binary.ActionCompile, Suspect: true, Reason: "test"}
	store := &markedStore{Store: cachetest.NewStore(), err: errors.New("disk on fire"),
		recovery: binary.Recovery{Found: []binary.Quarantined{suspect}, Active: []binary.Quarantined{suspect}}}
	var log bytes.Buffer
	f := newMarkedFixture(t, store, cache.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), MaxDiskBytes: -1, MaxDiskFiles: -1, MaxDiskAge: -1})
	f.wantOrigin(a, job.Compiled)
	f.wantOrigin(a, job.Resident)
	if !slices.Equal(store.lifted, []shader.Key{a.Key()}) {
		t.Errorf("lifted: %v", store.lifted)
	}
	f.wantCounts(withStored(f, binary.Counters{Compiles: 1, ResidentHits: 1, StoreFailures: 2}))
	if n := strings.Count(log.String(), "disk on fire"); n != 2 {
		t.Errorf("%d warnings, want one for Recover and one for Lift:\n%s", n, &log)
	}
}

func TestFailingMissingAndTrim(t *testing.T) {
	broken := errors.New("disk on fire")
	f := newMarkedFixture(t, &markedStore{Store: cachetest.NewStore(), err: broken}, cache.Options{MaxDiskBytes: 1})
	if _, err := f.cache.Rebuild(context.Background(), nil); !errors.Is(err, broken) {
		t.Errorf("Rebuild: %v", err)
	}
	f.flush()
	f.wantCounts(binary.Counters{StoreFailures: 2}) // Recover and Trim
}

// crashFileStore has a file for crashes.
type crashFileStore struct {
	*cachetest.Store
	rest
	file *os.File
}

func (s crashFileStore) SetCrashOutput(set func(*os.File)) { set(s.file) }

// signalDevice has no signal handler for crashes.
type signalDevice struct{ *cachetest.Device }

func (signalDevice) SetCrashOutput(*os.File) error { return errors.New("no handler") }

func TestUnrecordedCrashesAreLogged(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "closed"))
	must(t, err)
	must(t, file.Close())
	var log bytes.Buffer
	c, err := cache.New(signalDevice{cachetest.NewDevice()}, cache.Options{
		Store: crashFileStore{cachetest.NewStore(), rest{}, file}, RecordCrashes: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	must(t, err)
	must(t, c.Close())
	for _, text := range []string{"crashes are not recorded", "crashes on threads of the driver are not recorded", "no handler"} {
		if !strings.Contains(log.String(), text) {
			t.Errorf("%q is not logged:\n%s", text, &log)
		}
	}
}

// A suspect whose binary is there is loaded by this process, which ends the suspicion.
func TestSuspectThatLoadsIsNoneAnyMore(t *testing.T) {
	a := source("a")
	first := newFixture(t, cache.Options{})
	first.wantOrigin(a, job.Compiled)
	must(t, first.cache.Close())
	suspect := binary.Quarantined{Key: a.Key(), Name: "a", Action: binary.ActionCompile, Suspect: true}
	store := &markedStore{Store: first.store.Reopen(), recovery: binary.Recovery{Active: []binary.Quarantined{suspect}}}
	f := newMarkedFixture(t, store, cache.Options{})
	f.wantOrigin(a, job.Disk)
	if !slices.Equal(store.lifted, []shader.Key{a.Key()}) {
		t.Errorf("lifted: %v", store.lifted)
	}
}

// While a suspect is compiled, the device compiles nothing else, neither for its
// cache nor for one that shares the guard.
func TestSuspectIsCompiledAlone(t *testing.T) {
	list := sources(16)
	suspect := binary.Quarantined{Key: list[8].Key(), Name: list[8].Name(), Action: binary.ActionCompile, Suspect: true}
	store := &markedStore{Store: cachetest.NewStore(), recovery: binary.Recovery{Active: []binary.Quarantined{suspect}}}
	f := newMarkedFixture(t, store, cache.Options{})
	scratch, err := newScratch(f.dev, f.cache)
	must(t, err)
	var compiling, alone atomic.Int32
	f.dev.OnCompile = func(_ context.Context, src *shader.Source) error {
		others := compiling.Add(1) - 1
		defer compiling.Add(-1)
		if src.Key() == suspect.Key {
			alone.Add(1)
			defer alone.Add(-1)
			if others != 0 {
				t.Errorf("%d others are being compiled", others)
			}
		} else if alone.Load() != 0 {
			t.Error("compiled beside the suspect")
		}
		runtime.Gosched()
		return nil
	}
	var wg sync.WaitGroup
	for i, src := range list {
		c := []*cache.Cache{f.cache, scratch}[i%2]
		wg.Go(func() {
			h, err := c.Get(context.Background(), src)
			if err != nil {
				t.Error(err)
				return
			}
			h.Release()
		})
	}
	wg.Wait()
	must(t, scratch.Close())
	if !slices.Equal(store.lifted, []shader.Key{suspect.Key}) {
		t.Errorf("lifted: %v", store.lifted)
	}
}
