package fleet_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/fleet"
)

// The lease of another process ends, whatever time its object asks for.
func TestLeaseTimeOfAnObjectIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ of, own, want time.Duration }{
		{1<<63 - 1, time.Second, time.Hour},
		{-1 << 63, time.Second, time.Second},
		{time.Minute, time.Second, time.Minute},
		{time.Minute, 2 * time.Hour, 2 * time.Hour},
	} {
		if got := fleet.LeaseWait(c.of, c.own); got != c.want {
			t.Errorf("an object with %v, own %v: waits %v, not %v", c.of, c.own, got, c.want)
		}
	}
}

// A process whose lease another one has taken over leaves it to that, also where the renewal before
// failed: the next one is on the condition of the last that was written.
func TestLeaseThatWasTakenOver(t *testing.T) {
	t.Parallel()
	for _, failing := range []bool{false, true} {
		m, url := newMemory(t)
		name := fleet.LeaseName(mesaDriver.Digest())
		o, renewals, failed := writer(url), 0, make(chan struct{})
		if failing {
			o.LeaseTime = 30 * time.Millisecond
			m.put = func(n string) error {
				if n != name {
					return nil
				}
				switch renewals++; renewals {
				case 1: // the lease is taken
					return nil
				case 2:
					close(failed)
				}
				return fleet.ErrUnreachable
			}
		}
		r := open(t, openDir(t), o)
		if report := r.Start(t.Context(), mesaDriver); report.Outcome != fleet.Leased {
			t.Fatalf("start: %+v", report)
		}
		if failing {
			<-failed
		}
		m.mu.Lock()
		m.put = nil
		m.objects[name] = memoryObject{data: []byte(`{"holder":"another"}`), tag: "another"}
		m.mu.Unlock()
		must(t, r.Close())
		if got := string(m.copyObjects()[name]); got != `{"holder":"another"}` {
			t.Errorf("after a failed renewal %v: the lease is %q", failing, got)
		}
	}
}

// A start that waits its budget for another one's lease has had an answer: no breaker opens.
func TestBudgetThatEndsBesideALease(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.store.objects[fleet.LeaseName(mesaDriver.Digest())] = memoryObject{data: []byte(`{"holder":"another","number":1,"lease_ns":30000000000}`), tag: "another"}
	var heads atomic.Int64
	s.store.get = func(ctx context.Context, name string, o *fleet.Object) (*fleet.Object, error) {
		if !strings.HasSuffix(name, "/head") {
			return o, nil
		}
		if heads.Add(1) > 1 { // it looks again, when the time ends
			<-ctx.Done()
			time.Sleep(time.Second / 2)
		}
		return nil, fleet.ErrNotFound
	}
	o := writer(s.url)
	o.Budget = time.Second / 2
	r := open(t, s.victim, o)
	report := r.Start(t.Context(), mesaDriver)
	breakers, err := filepath.Glob(filepath.Join(s.victim.Path(), fleet.Folder, "*", "breaker.json"))
	if report.Outcome == fleet.Failed || heads.Load() < 2 || err != nil || len(breakers) > 0 {
		t.Errorf("%+v after %d looks, %q, %v", report, heads.Load(), breakers, err)
	}
}

// A store that fails while a start asks for the lease is an error by its class, and no miss. Who has
// the lease then compiles and pushes for all others.
func TestStoreThatFailsBesideTheLease(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		failing int // request for it
		want    fleet.Outcome
	}{
		{fleet.HeadName(mesaDriver.Digest()), 2, fleet.Leased},
		{fleet.LeaseName(mesaDriver.Digest()), 1, fleet.Failed},
	} {
		m, url := newMemory(t)
		requests := 0
		m.get = func(_ context.Context, name string, _ *fleet.Object) (*fleet.Object, error) {
			if name == c.name {
				requests++
			}
			if name == c.name && requests == c.failing {
				return nil, fleet.ErrUnreachable
			}
			return nil, nil
		}
		d, o := openDir(t), writer(url)
		put(t, d, mesaDriver, 1)
		if r := begin(t, d, o, nil); r.Outcome != c.want || !errors.Is(r.Err, fleet.ErrUnreachable) {
			t.Errorf("%s fails: %+v", c.name, r)
		}
		if _, pushed := m.copyObjects()[fleet.HeadName(mesaDriver.Digest())]; !pushed && c.want == fleet.Leased {
			t.Errorf("%s fails: the holder of the lease has not pushed", c.name)
		}
		if got := counters(t, d, o); got.Errors["unreachable"] != 1 || len(got.Errors) != 1 || got.Misses != 0 {
			t.Errorf("%s fails: counters %+v", c.name, got)
		}
	}
}
