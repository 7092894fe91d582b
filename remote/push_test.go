package remote_test

import (
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/remote"
)

func TestPushedProgramsArePulled(t *testing.T) {
	t.Parallel()
	for _, driver := range []binary.Fingerprint{nvidiaDriver, mesaDriver} {
		url, from, to := fileURL(t), openDir(t), openDir(t)
		put(t, from, driver, 1, 2, 3)
		if r := push(t, from, writer(url)); r.Heads != 1 || r.Packs != 1 || r.Programs != 3 {
			t.Errorf("push: %+v", r)
		}
		if r := push(t, from, writer(url)); r.Heads != 0 || r.Packs != 0 {
			t.Errorf("a push of nothing new: %+v", r)
		}
		if r := pull(t, to, reader(url), driver); r.Packs != 1 || r.Programs != 3 || r.DriverFiles == 0 {
			t.Errorf("pull: %+v", r)
		}
		wantPrograms(t, to, driver, 1, 2, 3)
		if r := pull(t, to, reader(url), driver); r.Packs != 0 || r.Present != 1 {
			t.Errorf("a pull of nothing new: %+v", r)
		}
		put(t, from, driver, 4)
		if r := push(t, from, writer(url)); r.Programs != 1 {
			t.Errorf("push of one more: %+v", r)
		}
		if r := pull(t, to, reader(url), driver); r.Packs != 1 || r.Programs != 1 {
			t.Errorf("pull of one more: %+v", r)
		}
		wantPrograms(t, to, driver, 1, 2, 3, 4)
	}
}

// Without compare-and-swap a writer that chose its number earlier may replace a head that
// this machine wrote: the machine accepts the other head then. A machine that read what
// was replaced does not, and neither accepts the head before.
func TestOwnHeadsMayBeReplaced(t *testing.T) {
	t.Parallel()
	for _, swap := range []bool{true, false} {
		s := newScene(t)
		s.store.abilities.CompareAndSwap = swap
		first := s.head()
		first.Sequence = 5
		s.setHead(first)
		machine := openDir(t)
		put(t, machine, mesaDriver, 3)
		push(t, machine, writer(s.url))
		pull(t, s.victim, reader(s.url), mesaDriver)
		own := s.head().Sequence

		wantPull := func(of string, d *binary.Dir, accepted bool) {
			t.Helper()
			_, err := open(t, d, reader(s.url)).Pull(t.Context(), remote.PullOptions{Current: &mesaDriver})
			if accepted != (err == nil) {
				t.Errorf("compare-and-swap %t, own number %d, now %d, %s: %v", swap, own, s.head().Sequence, of, err)
			}
		}
		other := first
		other.Sequence = max(6, own-1)
		s.setHead(other)
		wantPull("the writer", machine, !swap)
		wantPull("a reader", s.victim, false)
		s.setHead(first)
		wantPull("the writer, of the head before", machine, false)
	}
}
