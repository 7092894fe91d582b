package cache_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// fakeTrier tries sources in this process, with a cache of its own on the same directory,
// and has a verdict for some names.
type fakeTrier struct {
	t        *testing.T
	dir      string
	verdicts map[string]cache.Trial // default: Survived
	forget   string                 // a name for which done is not called

	mu     sync.Mutex
	tried  []string
	limits []time.Duration
}

func (f *fakeTrier) Try(ctx context.Context, sources []*shader.Source, limit time.Duration, done func(int, cache.Trial)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limits = append(f.limits, limit)
	child, err := cache.New(cachetest.NewDevice(), cache.Options{Dir: f.dir, InTrial: true})
	must(f.t, err)
	for i, src := range sources {
		f.tried = append(f.tried, src.Name())
		if src.Name() == f.forget {
			continue
		}
		trial, other := f.verdicts[src.Name()]
		if !other {
			trial.Verdict = cache.Survived
		}
		if !other || trial.Verdict == cache.BadDriverCache { // that child has stored it too
			_, err := child.Preload(ctx, []*shader.Source{src}, nil)
			must(f.t, err)
		}
		done(i, trial)
	}
	must(f.t, child.Close())
}

// suspects makes suspects of sources, as a process that was killed does.
func suspects(t *testing.T, dir string, names ...string) {
	t.Helper()
	if !runCrash(t, dir, names[0], names...) {
		t.Fatal("the process lived")
	}
}

func openTrying(t *testing.T, trier *fakeTrier, o cache.Options) *fixture {
	trier.t, o.Trier = t, trier
	if trier.dir == "" {
		trier.dir = t.TempDir()
		suspects(t, trier.dir, "a", "b", "suspect")
	}
	return openStart(t, trier.dir, o)
}

// What a child compiled is loaded here; a program that is no suspect is not tried.
func TestSuspectsAreTried(t *testing.T) {
	trier := &fakeTrier{}
	f := openTrying(t, trier, cache.Options{})
	results, err := f.cache.Preload(context.Background(), []*shader.Source{source("a"), source("new"), source("b")}, nil)
	must(t, err)
	for i, want := range []job.Origin{job.Disk, job.Compiled, job.Disk} {
		if results[i].Err != nil || results[i].Origin != want {
			t.Errorf("%+v, want %v", results[i], want)
		}
	}
	f.wantOrigin(source("suspect"), job.Disk)
	f.wantOrigin(source("suspect"), job.Resident)
	slices.Sort(trier.tried)
	if got := strings.Join(trier.tried, " "); got != "a b suspect" {
		t.Errorf("tried: %s", got)
	}
	f.wantCounts(withStored(f, binary.Counters{ResidentHits: 1, DiskHits: 3, Compiles: 1, Trials: 3}))
	if list := realStore(t, trier.dir).Quarantined(); len(list) != 0 {
		t.Errorf("still suspect: %+v", list)
	}
}

// With a context that can end too.
func TestSuspectIsTriedInTheBackground(t *testing.T) {
	trier := &fakeTrier{}
	f := openTrying(t, trier, cache.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	trier.mu.Lock() // the child takes its time
	waiting, stop := context.WithTimeout(ctx, time.Millisecond)
	defer stop()
	if _, err := f.cache.Get(waiting, source("suspect")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
	f.wantOrigin(source("new"), job.Compiled) // meanwhile
	trier.mu.Unlock()
	h, err := f.cache.Get(ctx, source("suspect"))
	must(t, err)
	h.Release()
	if len(trier.tried) != 1 {
		t.Errorf("tried: %q", trier.tried)
	}
}

// dyingStore has a process of the same driver die with the program of a claim, as the one that had
// the claim before does.
type dyingStore struct {
	*binary.Store
	die func()
}

func (s *dyingStore) Claim(key shader.Key) (release func(), claimed bool) {
	s.die()
	return s.Store.Claim(key)
}

// A cache that runs while another process dies has what that was compiling tried elsewhere too,
// whether it died before a Get or while that waited for its claim.
func TestWhatOtherProcessesDieOfIsTried(t *testing.T) {
	for _, waiting := range []bool{false, true} {
		dir := t.TempDir()
		trier := &fakeTrier{dir: dir, verdicts: map[string]cache.Trial{"bad": {Verdict: cache.Crashed, Signal: "SIGSEGV: segmentation fault"}}}
		store := &dyingStore{realStore(t, dir), func() {}}
		f := openTrying(t, trier, cache.Options{Store: store, ShareCompiles: time.Hour})
		for _, name := range []string{"bad", "good"} {
			if waiting {
				store.die = sync.OnceFunc(func() { suspects(t, dir, name) })
			} else {
				suspects(t, dir, name)
			}
			h, err := f.cache.Get(t.Context(), source(name))
			if refused := errors.Is(err, binary.ErrQuarantined); refused != (name == "bad") || !refused && err != nil {
				t.Errorf("%s, with the claim waited for: %v: %v", name, waiting, err)
			}
			if err == nil {
				if h.Origin() != job.Disk {
					t.Errorf("%s: %v", name, h.Origin())
				}
				h.Release()
			}
		}
		if calls := f.dev.Calls(); calls.Compiles != 0 || !slices.Equal(trier.tried, []string{"bad", "good"}) {
			t.Errorf("with the claim waited for: %v: compiled here: %d, tried: %q", waiting, calls.Compiles, trier.tried)
		}
	}
}

// A program that another process refuses is not compiled by one that runs already.
func TestRefusalsOfOtherProcesses(t *testing.T) {
	dir := t.TempDir()
	f := openStart(t, dir, cache.Options{})
	f.wantOrigin(source("good"), job.Compiled)
	must(t, realStore(t, dir).Refuse(binary.Quarantined{Key: source("bad").Key(), Name: "bad", Action: binary.ActionCompile, Reason: "a child process crashed"}))
	for range 2 {
		if _, err := f.cache.Get(t.Context(), source("bad")); !errors.Is(err, binary.ErrQuarantined) {
			t.Errorf("error is %v", err)
		}
	}
	must(t, realStore(t, dir).Refuse(binary.Quarantined{Key: source("read").Key(), Name: "read", Action: binary.ActionRead, Reason: "a child process crashed"}))
	f.wantOrigin(source("read"), job.Compiled)
	f.flush()
	if realStore(t, dir).Has(source("read").Key()) {
		t.Error("a binary that no process may read is stored")
	}
	if calls := f.dev.Calls(); calls.Compiles != 2 {
		t.Errorf("%+v", calls)
	}
}

func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		trial  cache.Trial
		reason string // of the refusal; "" = compiled here
		note   bool   // that refuses it in the next process too
	}{
		"crashed":      {cache.Trial{Verdict: cache.Crashed, Signal: "SIGSEGV: segmentation fault"}, "a child process crashed (SIGSEGV: segmentation fault)", true},
		"hung":         {cache.Trial{Verdict: cache.Hung}, "hung", true},
		"driver cache": {cache.Trial{Verdict: cache.BadDriverCache}, "which was set aside", false},
		"untried":      {cache.Trial{Verdict: cache.Untried, Err: errors.New("no processes")}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			trier := &fakeTrier{verdicts: map[string]cache.Trial{"suspect": c.trial}}
			f := openTrying(t, trier, cache.Options{})
			f.wantOrigin(source("a"), job.Disk)
			for range 2 {
				if c.reason != "" {
					f.wantRefused("suspect", c.reason)
				}
			}
			if c.reason == "" {
				f.wantOrigin(source("suspect"), job.Compiled)
			}
			if n := len(trier.tried); n != 2 {
				t.Errorf("tried %q", trier.tried)
			}
			f.close()
			note, found := realStore(t, trier.dir).Note(source("suspect").Key())
			if found != c.note || note.Suspect {
				t.Errorf("note %+v", note)
			}
			next := openTrying(t, &fakeTrier{dir: trier.dir}, cache.Options{})
			if c.note {
				next.wantRefused("suspect", c.reason)
			} else {
				h, err := next.cache.Get(context.Background(), source("suspect"))
				must(t, err)
				h.Release()
			}
		})
	}
}

// A trier that never calls done for a source did not try it.
func TestForgottenTrial(t *testing.T) {
	f := openTrying(t, &fakeTrier{forget: "suspect"}, cache.Options{})
	f.wantOrigin(source("suspect"), job.Compiled)
}

// A program that hung is tried again, with more time, once it was refused for a while, in
// the same process and in the next.
func TestHungProgramIsTriedAgain(t *testing.T) {
	now := time.Now()
	trier := &fakeTrier{verdicts: map[string]cache.Trial{"suspect": {Verdict: cache.Hung}}}
	f := openTrying(t, trier, cache.Options{Now: func() time.Time { return now }})
	f.wantRefused("suspect", "hung")
	now = now.Add(61 * time.Second)
	f.wantRefused("suspect", "hung")
	f.wantRefused("suspect", "hung")
	now = now.Add(121 * time.Second)
	trier.verdicts = nil
	must(t, realStore(t, trier.dir).Lift(source("suspect").Key())) // its clock is the real one
	f.wantOrigin(source("suspect"), job.Disk)
	if want := []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute}; !slices.Equal(trier.limits, want) {
		t.Errorf("limits %v, want %v", trier.limits, want)
	}
	if list := realStore(t, trier.dir).Quarantined(); len(list) != 2 {
		t.Errorf("want two suspects: %+v", list)
	}
}
