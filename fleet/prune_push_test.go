package fleet_test

import (
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/fleet"
)

// pruned returns a scene whose head and pack are a month old, and a prune of it by another
// machine. Without a head the pack is that of a push which ended before it wrote one.
func pruned(t *testing.T, swaps, head bool) (*scene, func() error) {
	t.Helper()
	s := newScene(t)
	s.store.abilities.CompareAndSwap = swaps
	h := s.head()
	h.Sequence, h.Time = h.Sequence+1, h.Time.Add(-30*24*time.Hour)
	s.setHead(h)
	if !head {
		must(t, s.store.Delete(t.Context(), fleet.HeadName(mesaDriver.Digest())))
	}
	for name, o := range s.store.objects {
		o.changed = o.changed.Add(-30 * 24 * time.Hour)
		s.store.objects[name] = o
	}
	r := open(t, openDir(t), writer(s.url))
	return s, func() error {
		_, err := r.Prune(t.Context(), fleet.PruneOptions{Age: 24 * time.Hour})
		return err
	}
}

// wantPushed checks that a machine gets what was pushed.
func (s *scene) wantPushed(programs ...int) {
	s.Helper()
	s.store.setAsking(nil)
	pull(s, s.victim, reader(s.url), mesaDriver)
	wantPrograms(s, s.victim, mesaDriver, programs...)
}

// A push that runs when a prune has made so many requests: LIST, GET head, DELETE head, and a
// GET head before each DELETE of a pack. Without another program, the pack that it writes is
// the old one, byte for byte.
func TestPushDuringAPrune(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		head     bool
		requests int
		more     []int
	}{
		{"a pack of no head, nothing is known", false, 0, nil},
		{"a pack of no head, it was listed", false, 1, nil},
		{"a pack of no head, the head was asked for", false, 2, nil},
		{"an old head, nothing is known", true, 0, []int{3}},
		{"an old head, it was listed", true, 1, []int{3}},
		{"an old head, it was deleted", true, 3, nil},
	} {
		for _, swaps := range []bool{true, false} {
			t.Run(test.name, func(t *testing.T) {
				s, prune := pruned(t, swaps, test.head)
				put(t, s.writer, mesaDriver, test.more...)
				n := 0
				s.store.setAsking(func(string) {
					if n++; n == test.requests+1 {
						s.store.setAsking(nil)
						push(t, s.writer, writer(s.url))
					}
				})
				must(t, prune())
				if n <= test.requests {
					t.Fatalf("the prune made %d requests", n)
				}
				s.wantPushed(append([]int{1, 2}, test.more...)...)
			})
		}
	}
}

// A prune that runs before each request of a push.
func TestPruneDuringAPush(t *testing.T) {
	t.Parallel()
	for _, swaps := range []bool{true, false} {
		for requests, more := 0, true; more; requests++ {
			s, prune := pruned(t, swaps, true)
			put(t, s.writer, mesaDriver, 3)
			n := 0
			s.store.setAsking(func(request string) {
				if n++; n == requests+1 {
					s.store.setAsking(nil)
					must(t, prune())
				}
			})
			push(t, s.writer, writer(s.url))
			more = n > requests
			s.wantPushed(1, 2, 3)
		}
	}
}

// A prune that deletes the old copy of a pack after a push has written it again, and before
// its head.
func TestPackDeletedBeforeItsHeadIsWritten(t *testing.T) {
	t.Parallel()
	for _, swaps := range []bool{true, false} {
		s, prune := pruned(t, swaps, false)
		written, deleted, done := make(chan bool), make(chan bool), make(chan bool)
		s.store.put = func(name string) error {
			if strings.HasSuffix(name, "/head") {
				close(written)
				<-deleted
				s.store.put = nil
			}
			return nil
		}
		s.store.setAsking(func(request string) {
			if strings.HasPrefix(request, "DELETE ") {
				s.store.setAsking(nil)
				go func() {
					defer close(done)
					push(t, s.writer, writer(s.url))
				}()
				<-written
			}
		})
		must(t, prune())
		close(deleted)
		<-done
		s.wantPushed(1, 2)
	}
}

// The same with the pack of a compaction: no machine may have all of its programs.
func TestCompactedPackDeletedBeforeItsHeadIsWritten(t *testing.T) {
	t.Parallel()
	for _, swaps := range []bool{true, false} {
		s := newScene(t)
		s.store.abilities.CompareAndSwap = swaps
		put(t, s.writer, mesaDriver, 3)
		push(t, s.writer, writer(s.url))
		listed := s.store.copyObjects()
		s.store.put = func(name string) error {
			if strings.HasSuffix(name, "/head") {
				s.store.put = nil
				for pack := range s.store.copyObjects() {
					if listed[pack] == nil && strings.Contains(pack, "/packs/") {
						s.store.lose(pack)
					}
				}
			}
			return nil
		}
		if _, err := open(t, openDir(t), writer(s.url)).Compact(t.Context(), mesaDriver.Digest()); err != nil {
			t.Fatal(err)
		}
		if h := s.head(); len(h.Packs) != 1 || s.store.put != nil {
			t.Fatalf("head: %+v", h)
		}
		s.wantPushed(1, 2, 3)
	}
}

// A pack that a push took for lost, as its store did not have it for a moment, stays for a day.
func TestPruneKeepsWhatAPushTookForLost(t *testing.T) {
	t.Parallel()
	s, prune := pruned(t, true, true)
	first := s.head().Packs[0]
	s.store.failPacks(fleet.ErrNotFound, first)
	put(t, s.writer, mesaDriver, 3)
	push(t, s.writer, writer(s.url))
	s.store.get = nil
	if h := s.head(); len(h.Packs) != 1 || h.Packs[0].SHA256 == first.SHA256 {
		t.Fatalf("%+v", h)
	}
	must(t, prune())
	if _, kept := s.store.copyObjects()[fleet.PackName(mesaDriver.Digest(), first.SHA256)]; !kept {
		t.Error("it was deleted")
	}
}

// A pack that no head lists is that of a push under way for a day, and for ever where the store
// does not tell its age.
func TestPruneKeepsYoungPacks(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*memoryObject){
		"young":     func(o *memoryObject) { o.changed = o.changed.Add(-23 * time.Hour) },
		"of no age": func(o *memoryObject) { o.changed = time.Time{} },
	} {
		s := newScene(t)
		must(t, s.store.Delete(t.Context(), fleet.HeadName(mesaDriver.Digest())))
		for name, o := range s.store.objects {
			change(&o)
			s.store.objects[name] = o
		}
		before := len(s.store.objects)
		report, err := open(t, s.writer, writer(s.url)).Prune(t.Context(), fleet.PruneOptions{})
		if err != nil || before == 0 || len(s.store.objects) != before {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
}
