package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/trace"
)

// clock is a clock that a test sets.
type clock struct{ now time.Time }

func (c *clock) time() time.Time         { return c.now }
func (c *clock) advance(d time.Duration) { c.now = c.now.Add(d) }

// What a process pulled that ended before it had synced is synced by the next one.
func TestStartSyncsWhatAnotherPulled(t *testing.T) {
	t.Parallel()
	s, c := newScene(t), &clock{time.Now()}
	begin(t, s.victim, reader(s.url), c)
	files, err := filepath.Glob(filepath.Join(s.victim.Path(), fleet.Folder, "*", mesaDriver.Digest().String(), "state.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	must(t, err)
	s.store.get = func(context.Context, string, *fleet.Object) (*fleet.Object, error) { return nil, fleet.ErrUnreachable }
	for age, stays := range map[time.Duration]bool{0: false, 10 * time.Minute: false, -time.Hour: false, osfile.Uptime() + time.Hour: true} { // then files may be empty
		c.advance(2 * time.Minute)
		unsynced := fmt.Appendf(nil, "{%q: %q,", "unsynced", c.now.Add(-age).UTC().Format(time.RFC3339Nano))
		must(t, os.WriteFile(files[0], bytes.Replace(data, []byte("{"), unsynced, 1), 0o600))
		must(t, os.RemoveAll(filepath.Join(filepath.Dir(files[0]), "..", "breaker.json")))
		r := open(t, s.victim, reader(s.url))
		fleet.SetClock(r, c.time)
		var synced atomic.Bool
		fleet.SetSync(r, func(path string) error {
			synced.Store(true)
			return osfile.SyncVolume(path)
		})
		r.Start(context.Background(), mesaDriver)
		must(t, r.Close())
		is := func() bool {
			after, err := os.ReadFile(files[0])
			return err != nil || bytes.Contains(after, []byte("unsynced"))
		}
		for began := time.Now(); is() && !stays && time.Since(began) < time.Minute; { // Close waits a second for a sync
			time.Sleep(time.Millisecond)
		}
		if is() != stays || synced.Load() != (age <= 0) {
			t.Errorf("unsynced for %v: %t, synced %t", age, is(), synced.Load())
		}
	}
}

// begin starts as a new process does, ends it, and returns the report.
func begin(t testing.TB, d *binary.Dir, o fleet.Options, c *clock) fleet.StartReport {
	t.Helper()
	r, err := fleet.Open(d, o)
	must(t, err)
	if c != nil {
		fleet.SetClock(r, c.time)
	}
	r.Prepare()
	report := r.Start(context.Background(), mesaDriver)
	must(t, r.Close())
	return report
}

func counters(t testing.TB, d *binary.Dir, o fleet.Options) fleet.Counters {
	t.Helper()
	return open(t, d, o).Counters()
}

func TestStartPullsOnce(t *testing.T) {
	t.Parallel()
	s, c := newScene(t), &clock{time.Now()}
	o := reader(s.url)
	s.store.requests()
	if r := begin(t, s.victim, o, c); r.Outcome != fleet.Pulled || r.Pull.Programs != 2 || r.Err != nil {
		t.Errorf("first start: %+v", r)
	}
	if n := len(s.store.requests()); n != 2 {
		t.Errorf("%d requests for a head and a pack", n)
	}
	wantPrograms(t, s.victim, mesaDriver, 1, 2)
	if r := begin(t, s.victim, o, c); r.Outcome != fleet.Current {
		t.Errorf("second start: %+v", r)
	}
	if asked := s.store.requests(); len(asked) != 0 {
		t.Errorf("the second start asked: %q", asked)
	}
	put(t, s.writer, mesaDriver, 3)
	push(t, s.writer, writer(s.url))
	c.advance(2 * time.Minute)
	if r := begin(t, s.victim, o, c); r.Outcome != fleet.Current || r.Pull.Packs != 0 {
		t.Errorf("a start with a newer head waited for it: %+v", r)
	}
	wantPrograms(t, s.victim, mesaDriver, 1, 2, 3) // pulled in the background
	if got := counters(t, s.victim, o); got.Hits != 2 || got.Misses != 0 || len(got.Errors) != 0 || got.Backfills != 3 || got.Bytes == 0 {
		t.Errorf("counters: %+v", got)
	}
}

func TestTracerSeesAPull(t *testing.T) {
	t.Parallel()
	s, recorder := newScene(t), trace.NewRecorder(0)
	o := reader(s.url)
	o.Tracer = recorder
	if r := begin(t, s.victim, o, nil); r.Outcome != fleet.Pulled {
		t.Fatalf("%+v", r)
	}
	events := map[string][]trace.Event{}
	for _, e := range recorder.Recording().Events {
		if e.Lane == trace.Remote {
			events[e.Name] = append(events[e.Name], e)
		}
	}
	if len(events[trace.Pull]) != 1 || len(events[trace.Head]) != 1 || len(events[trace.Pack]) != 1 {
		t.Fatalf("%+v", events)
	}
	pull, head, pack := events[trace.Pull][0], events[trace.Head][0], events[trace.Pack][0]
	if pull.Attr("packs") != int64(1) || pull.Attr("programs") != int64(2) || pull.Attr("bytes") != pack.Attr("bytes") || pull.Attr("outcome") != nil {
		t.Errorf("the pull: %+v", pull.Attrs)
	}
	if head.Task != pull.Task || pack.Task != pull.Task || head.Begin.Before(pull.Begin) || pack.Begin.Before(head.End()) || pack.End().After(pull.End()) {
		t.Errorf("head and pack are not within the pull: %+v, %+v, %+v", pull, head, pack)
	}

	_, url := newMemory(t)
	missing := trace.NewRecorder(0)
	o = reader(url)
	o.Tracer = missing
	begin(t, openDir(t), o, nil)
	for _, e := range missing.Recording().Events {
		if e.Name == trace.Pull && e.Attr("outcome") != "missing" {
			t.Errorf("a pull of nothing: %+v", e.Attrs)
		}
	}
}

func TestStartWithoutAHead(t *testing.T) {
	t.Parallel()
	d, o := openDir(t), fleet.Options{}
	m, url := newMemory(t)
	o = reader(url)
	c := &clock{time.Now()}
	for range 2 { // an empty directory profits from a head that was made meanwhile
		if r := begin(t, d, o, c); r.Outcome != fleet.Missing || r.Err != nil {
			t.Errorf("got %+v", r)
		}
	}
	put(t, d, mesaDriver, 1)
	store, err := d.Store(mesaDriver)
	must(t, err)
	must(t, store.Record([]binary.Use{{Key: testSource(1).Key()}}, binary.Counters{}))
	m.requests()
	if r := begin(t, d, o, c); r.Outcome != fleet.Missing {
		t.Errorf("got %+v", r)
	}
	if asked := m.requests(); len(asked) != 0 {
		t.Errorf("a start with its own programs asked again: %q", asked)
	}
	if got := counters(t, d, o); got.Misses != 2 || got.Hits != 0 || len(got.Errors) != 0 {
		t.Errorf("counters: %+v", got)
	}
}

func TestStartThatIsOff(t *testing.T) {
	t.Parallel()
	r, err := fleet.Open(openDir(t), fleet.Options{Mode: fleet.Off})
	must(t, err)
	if got := r.Start(context.Background(), mesaDriver); got.Outcome != fleet.Disabled || got.Err != nil {
		t.Errorf("got %+v", got)
	}
	must(t, r.Close())
	m, url := newMemory(t)
	o := reader(url)
	o.Keys = nil
	if got := begin(t, openDir(t), o, nil); got.Outcome != fleet.Failed || !strings.Contains(got.Err.Error(), "SHADERCACHE_REMOTE_KEYS") {
		t.Errorf("without keys: %+v", got)
	}
	if asked := m.requests(); len(asked) != 0 {
		t.Errorf("asked without keys: %q", asked)
	}
}

// faults are errors of a store, and the class under which each is counted.
var faults = map[string]error{
	"unreachable": fmt.Errorf("%w: no route to host", fleet.ErrUnreachable),
	"denied":      fmt.Errorf("%w: 403", fleet.ErrDenied),
	"signature":   &fleet.RefusedError{Class: "signature"},
	"damaged":     &fleet.RefusedError{Class: "damaged"},
	"busy":        &fleet.BusyError{},
	"protocol":    fmt.Errorf("%w: a web page", fleet.ErrProtocol),
}

// A remote that fails costs one start its request, and the following ones nothing, until a
// time that doubles with each failure, unless it answers. The first success ends that.
func TestBreaker(t *testing.T) {
	t.Parallel()
	for class, fault := range faults {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			s, c := newScene(t), &clock{time.Now()}
			s.store.get = func(context.Context, string, *fleet.Object) (*fleet.Object, error) { return nil, fault }
			o := reader(s.url)
			wait := time.Minute
			for n := range 9 {
				s.store.requests()
				if r := begin(t, s.victim, o, c); r.Outcome != fleet.Failed || !errors.Is(r.Err, fault) {
					t.Errorf("start %d: %+v", n, r)
				}
				c.advance(wait - time.Second)
				if r := begin(t, s.victim, o, c); r.Outcome != fleet.BreakerOn {
					t.Errorf("start %d was followed by: %+v", n, r)
				}
				if asked := s.store.requests(); len(asked) != 1 {
					t.Errorf("start %d and the next asked %q", n, asked)
				}
				c.advance(2 * time.Second)
				if class != "denied" && class != "signature" { // with other settings it may not be
					wait = min(2*wait, time.Hour)
				}
			}
			got := counters(t, s.victim, o)
			if got.Errors[class] != 9 || len(got.Errors) != 1 || got.Misses != 0 || got.Hits != 0 {
				t.Errorf("counters: %+v", got)
			}
			s.store.get = nil
			if r := begin(t, s.victim, o, c); r.Outcome != fleet.Pulled {
				t.Errorf("after the fault: %+v", r)
			}
			if r := open(t, s.victim, o).Status(context.Background(), &mesaDriver); !r.Breaker.IsZero() || r.Counters.Hits != 1 {
				t.Errorf("status after the fault: %+v", r)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	s, c := newScene(t), &clock{time.Now()}
	s.store.get = func(context.Context, string, *fleet.Object) (*fleet.Object, error) {
		return nil, &fleet.BusyError{RetryAfter: 10 * time.Minute}
	}
	begin(t, s.victim, reader(s.url), c)
	c.advance(9 * time.Minute)
	if r := begin(t, s.victim, reader(s.url), c); r.Outcome != fleet.BreakerOn {
		t.Errorf("asked before the time that the store gave: %+v", r)
	}
	c.advance(2 * time.Minute)
	if r := begin(t, s.victim, reader(s.url), c); r.Outcome != fleet.Failed {
		t.Errorf("not asked after it: %+v", r)
	}
}

// Commands ask whatever failed before.
func TestCommandsIgnoreTheBreaker(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.store.get = func(context.Context, string, *fleet.Object) (*fleet.Object, error) {
		return nil, fleet.ErrUnreachable
	}
	begin(t, s.victim, reader(s.url), nil)
	s.store.get = nil
	r := open(t, s.victim, reader(s.url))
	if st := r.Status(context.Background(), &mesaDriver); st.Breaker.IsZero() || !st.Reachable || !st.Signed || st.Head == nil || st.Reason == "" {
		t.Errorf("status: %+v", st)
	}
	pull(t, s.victim, reader(s.url), mesaDriver)
	if st := r.Status(context.Background(), &mesaDriver); !st.Breaker.IsZero() {
		t.Errorf("the breaker is open after a pull: %+v", st)
	}
}

// A clock that was set back does not keep a breaker open.
func TestBreakerOfTheFuture(t *testing.T) {
	t.Parallel()
	s, c := newScene(t), &clock{time.Now()}
	s.store.get = func(context.Context, string, *fleet.Object) (*fleet.Object, error) {
		return nil, fleet.ErrUnreachable
	}
	begin(t, s.victim, reader(s.url), c)
	s.store.get = nil
	c.advance(-365 * 24 * time.Hour)
	if r := begin(t, s.victim, reader(s.url), c); r.Outcome != fleet.Pulled {
		t.Errorf("got %+v", r)
	}
}

// A store that does not answer costs one start its budget.
func TestHangingRemote(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	pull(t, openDir(t), reader(s.url), mesaDriver) // decoders are made outside of the bubble
	synctest.Test(t, func(t *testing.T) {
		s.store.get = func(ctx context.Context, _ string, _ *fleet.Object) (*fleet.Object, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		o := reader(s.url)
		o.Budget = 20 * time.Millisecond
		if r := begin(t, s.victim, o, nil); r.Outcome != fleet.Late || r.Waited < o.Budget {
			t.Errorf("got %+v", r)
		}
		s.store.requests()
		if r := begin(t, s.victim, o, nil); r.Outcome != fleet.BreakerOn {
			t.Errorf("the next start: %+v", r)
		}
		if asked := s.store.requests(); len(asked) != 0 {
			t.Errorf("the next start asked %q", asked)
		}
		if got := counters(t, s.victim, o); got.Errors["unreachable"] != 1 || len(got.Errors) != 1 || got.Misses != 0 {
			t.Errorf("counters: %+v", got)
		}
	})
}

// A pull that exceeds the budget continues, and serves the next start.
func TestLatePull(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	pull(t, openDir(t), reader(s.url), mesaDriver) // decoders are made outside of the bubble
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s.store.get = func(ctx context.Context, name string, _ *fleet.Object) (*fleet.Object, error) {
			if strings.Contains(name, "/packs/") {
				<-release
			}
			return nil, nil
		}
		o := reader(s.url)
		o.Budget = 20 * time.Millisecond
		r, err := fleet.Open(s.victim, o)
		must(t, err)
		if got := r.Start(context.Background(), mesaDriver); got.Outcome != fleet.Late {
			t.Errorf("got %+v", got)
		}
		if got := r.Report(); got.Outcome != fleet.Late || got.Pull.Packs != 0 {
			t.Errorf("the report before the packs: %+v", got)
		}
		// A second process meanwhile does not wait for what is slow, and brings nothing.
		o.Budget = time.Hour
		if got := begin(t, s.victim, o, nil); got.Outcome != fleet.Late {
			t.Errorf("the other process: %+v", got)
		}
		wantNothing(t, s.victim)
		s.store.requests()
		close(release)
		must(t, r.Close())
		wantPrograms(t, s.victim, mesaDriver, 1, 2)
		if asked := s.store.requests(); len(asked) != 0 {
			t.Errorf("the pull began again: %q", asked)
		}
		if got := r.Report(); got.Outcome != fleet.Late || got.Pull.Packs != 1 || got.Pull.Programs != 2 || got.Err != nil {
			t.Errorf("the report after the packs: %+v", got)
		}
		if got := begin(t, s.victim, o, nil); got.Outcome != fleet.Current {
			t.Errorf("the next start: %+v", got)
		}
		if got := counters(t, s.victim, o); len(got.Errors) != 0 || got.Backfills != 2 {
			t.Errorf("counters: %+v", got)
		}
	})
}

// A store that sends a head and no pack costs one start its budget, and Close a second; the
// next starts neither wait for it nor are held up at their end.
func TestHangingPack(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	pull(t, openDir(t), reader(s.url), mesaDriver) // decoders are made outside of the bubble
	synctest.Test(t, func(t *testing.T) {
		s.store.get = func(ctx context.Context, name string, o *fleet.Object) (*fleet.Object, error) {
			if strings.Contains(name, "/packs/") {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return nil, nil
		}
		o := reader(s.url)
		o.Budget = 20 * time.Millisecond
		for n := range 3 {
			if r := begin(t, s.victim, o, nil); r.Outcome != fleet.Late || (r.Waited < o.Budget) != (n > 0) {
				t.Errorf("start %d: %+v", n, r)
			}
		}
		got := counters(t, s.victim, o)
		if got.Errors["slow"] == 0 || len(got.Errors) != 1 || got.Misses != 0 || got.Hits != 0 {
			t.Errorf("counters: %+v", got)
		}
		wantNothing(t, s.victim)
		s.store.get = nil
		if r := pull(t, s.victim, reader(s.url), mesaDriver); r.Packs != 1 {
			t.Errorf("pull: %+v", r)
		}
	})
}

// A store that sends its head after the budget is slow, and not down: the next starts go on
// with its pack.
func TestSlowHead(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	pull(t, openDir(t), reader(s.url), mesaDriver) // decoders are made outside of the bubble
	synctest.Test(t, func(t *testing.T) {
		reached := make(chan struct{}, 10)
		s.store.get = func(ctx context.Context, name string, o *fleet.Object) (*fleet.Object, error) {
			if strings.Contains(name, "/packs/") {
				reached <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			}
			time.Sleep(60 * time.Millisecond)
			return nil, nil
		}
		o := reader(s.url)
		o.Budget = 20 * time.Millisecond
		for n := range 2 {
			r, err := fleet.Open(s.victim, o)
			must(t, err)
			if got := r.Start(context.Background(), mesaDriver); got.Outcome != fleet.Late {
				t.Errorf("start %d: %+v", n, got)
			}
			select {
			case <-reached:
			case <-time.After(10 * time.Second):
				t.Fatalf("start %d did not ask for the pack", n)
			}
			must(t, r.Close())
		}
		if st := open(t, s.victim, o).Status(context.Background(), &mesaDriver); !strings.Contains(st.Reason, "did not arrive") {
			t.Errorf("the breaker's reason: %q", st.Reason)
		}
	})
}

// A store that does not answer delays no start of a machine that has its programs: it is
// asked in the background, once.
func TestHangingRemoteOfAWarmMachine(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	pull(t, openDir(t), reader(s.url), mesaDriver) // decoders are made outside of the bubble
	synctest.Test(t, func(t *testing.T) {
		c := &clock{time.Now()}
		begin(t, s.victim, reader(s.url), c)
		s.store.get = func(ctx context.Context, _ string, _ *fleet.Object) (*fleet.Object, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		c.advance(2 * time.Minute)
		o := reader(s.url)
		o.Budget = 20 * time.Millisecond
		if r := begin(t, s.victim, o, c); r.Outcome != fleet.Current {
			t.Errorf("got %+v", r)
		}
		if r := begin(t, s.victim, o, c); r.Outcome != fleet.BreakerOn {
			t.Errorf("the next start: %+v", r)
		}
		if got := counters(t, s.victim, o); got.Errors["unreachable"] != 1 || len(got.Errors) != 1 {
			t.Errorf("counters: %+v", got)
		}
	})
}

// What was pruned here is not fetched again; what was cleared is.
func TestPrunedProgramsStayAway(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	pull(t, s.victim, reader(s.url), mesaDriver)
	_, err := s.victim.DeletePrograms(keysOf(1), binary.PruneOptions{})
	must(t, err)
	if r := pull(t, s.victim, reader(s.url), mesaDriver); r.Packs != 0 {
		t.Errorf("a pull after a prune: %+v", r)
	}
	wantPrograms(t, s.victim, mesaDriver, 2)
	r, err := open(t, s.victim, reader(s.url)).Pull(context.Background(), fleet.PullOptions{Current: &mesaDriver, Again: true})
	if err != nil || r.Packs != 1 || r.Programs != 1 {
		t.Errorf("pull again: %+v, %v", r, err)
	}
	wantPrograms(t, s.victim, mesaDriver, 1, 2)
	_, err = s.victim.Clear(binary.PruneOptions{})
	must(t, err)
	if r := begin(t, s.victim, reader(s.url), nil); r.Outcome != fleet.Pulled || r.Pull.Programs != 2 {
		t.Errorf("a start after clear: %+v", r)
	}
}
