package fleet_test

import (
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
