package fleet_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/shader"
)

// rootPair is the root key of a fleet.
func rootPair() (ed25519.PublicKey, ed25519.PrivateKey) { return keyPair(5) }

// rooted returns options that know the root key alone.
func rooted(o fleet.Options) fleet.Options {
	public, _ := rootPair()
	o.Keys, o.Roots = nil, []ed25519.PublicKey{public}
	return o
}

// list returns a list of keys with those that may sign, and those that were revoked.
func list(epoch uint64, valid, revoked []byte) fleet.KeyList {
	l := fleet.KeyList{Schema: 1, Epoch: epoch, Expires: time.Now().Add(time.Hour)}
	for _, n := range append(bytes.Clone(valid), revoked...) {
		public, _ := keyPair(n)
		k := fleet.ListedKey{Key: public, Added: time.Now()}
		if bytes.IndexByte(revoked, n) >= 0 {
			k.Revoked = time.Now()
		}
		l.Keys = append(l.Keys, k)
	}
	return l
}

// setKeys puts a list of this remote before the head, and into its place.
func (s *scene) setKeys(l fleet.KeyList) {
	_, root := rootPair()
	l.Name = cmp.Or(l.Name, fleet.NameOf(s.url))
	s.setKeysLine(fleet.EncodeKeys(l, root))
}

func (s *scene) setKeysLine(line []byte) {
	s.changeHead(func(b []byte) []byte {
		_, rest := fleet.CutKeys(b)
		return append(bytes.Clone(line), rest...)
	})
	s.setObject(fleet.KeysName, line)
}

// signedHead replaces the head, and leaves the list.
func (s *scene) signedHead(key byte, change func(*fleet.Head)) {
	_, private := keyPair(key)
	s.changeHead(func(b []byte) []byte {
		line, rest := fleet.CutKeys(b)
		h := s.decoded(rest)
		change(&h)
		return append(bytes.Clone(line), fleet.EncodeHead(h, private)...)
	})
}

func (s *scene) decoded(object []byte) fleet.Head {
	public, _ := keyPair(1)
	other, _ := keyPair(2)
	h, err := fleet.DecodeHead(object, []ed25519.PublicKey{public, other}, mesaDriver.Digest())
	must(s, err)
	return *h
}

// What is wrong in time, place or keys is refused, whoever has signed it.
func TestAttacksOnTrust(t *testing.T) {
	t.Parallel()
	past := time.Now().UTC().Add(-time.Hour).Truncate(time.Second)
	never := func(*fleet.Options) {}
	root := func(o *fleet.Options) { *o = rooted(*o) }
	rows := map[string]struct {
		attack      func(*scene)
		options     func(*fleet.Options)
		class, says string
	}{
		"frozen head": {func(s *scene) { s.signedHead(1, func(h *fleet.Head) { h.Expires = past }) }, never,
			"expired", "is not valid since"},
		"head of staging": {func(s *scene) { s.signedHead(1, func(h *fleet.Head) { h.Name = "staging" }) }, never,
			"signature", "that of the remote \"staging\""},
		"rollback on a fresh machine": {func(*scene) {}, func(o *fleet.Options) { o.MinSequence = 1 << 50 },
			"rollback", "SHADERCACHE_REMOTE_MIN_SEQUENCE"},
		"older schema": {func(s *scene) { s.signedHead(1, func(h *fleet.Head) { h.Schema = 1 }) }, never,
			"damaged", "has schema 1"},
		"head without an end": {func(s *scene) { s.signedHead(1, func(h *fleet.Head) { h.Expires = time.Time{} }) }, never,
			"damaged", "no end"},
		"list taken away": {func(s *scene) { s.setKeysLine(nil) }, root, "signature", "has no list of keys"},
		"list of another root": {func(s *scene) {
			_, other := keyPair(6)
			s.setKeysLine(fleet.EncodeKeys(list(1, []byte{1}, nil), other))
		}, root, "signature", "list of keys is not what root key"},
		"changed list": {func(s *scene) {
			_, root := rootPair()
			line := fleet.EncodeKeys(list(1, []byte{2}, nil), root)
			other := fleet.EncodeKeys(list(1, []byte{1}, nil), root)
			s.setKeysLine(append(line[:bytes.LastIndexByte(line, ' ')], other[bytes.LastIndexByte(other, ' '):]...))
		}, root, "signature", "list of keys is not what root key"},
		"list of staging": {func(s *scene) {
			l := list(1, []byte{1}, nil)
			l.Name = "staging"
			s.setKeys(l)
		}, root, "signature", "list of keys is that of the remote \"staging\""},
		"frozen list": {func(s *scene) {
			l := list(1, []byte{1}, nil)
			l.Expires = past
			s.setKeys(l)
		}, root, "expired", "the list of keys is not valid since"},
		"list without an end": {func(s *scene) {
			l := list(1, []byte{1}, nil)
			l.Expires = time.Time{}
			s.setKeys(l)
		}, root, "damaged", "impossible values"},
		"empty list of an impossible number": {func(s *scene) {
			s.setKeys(list(1<<53+1, nil, nil))
		}, root, "damaged", "impossible values"},
		"list of before a revocation, to one that refused the revoked head": {func(s *scene) {
			s.setKeys(list(2, []byte{2}, []byte{1}))
			if st := open(s, s.victim, rooted(reader(s.url))).Status(s.Context(), &mesaDriver); !errors.Is(st.Err, fleet.ErrRefused) {
				s.Fatal(st.Err)
			}
			s.setKeys(list(1, []byte{1}, nil))
		}, root, "signature", "was revoked on"},
		"list taken away, from one that saw the revocation and knows the key": {func(s *scene) {
			s.setKeys(list(2, []byte{2}, []byte{1}))
			if st := open(s, s.victim, rooted(reader(s.url))).Status(s.Context(), &mesaDriver); !errors.Is(st.Err, fleet.ErrRefused) {
				s.Fatal(st.Err)
			}
			s.setKeysLine(nil)
		}, func(o *fleet.Options) { o.Roots = rooted(*o).Roots }, "signature", "was revoked on"},
		"key that is not listed": {func(s *scene) { s.setKeys(list(1, []byte{2}, nil)) }, root, "signature", "the known keys are"},
		"revoked key":            {func(s *scene) { s.setKeys(list(2, []byte{2}, []byte{1})) }, root, "signature", "was revoked on"},
		"later list claimed": {func(s *scene) {
			s.setKeys(list(1, []byte{1}, nil))
			s.signedHead(1, func(h *fleet.Head) { h.Epoch = 2 })
		}, root, "signature", "claims list of keys 2"},
		"list claimed and not there, to one that knows a key too": {func(s *scene) {
			s.signedHead(1, func(h *fleet.Head) { h.Epoch = 2 })
		}, func(o *fleet.Options) { o.Roots = rooted(*o).Roots }, "signature", "claims list of keys 2"},
		"key that is listed twice, and revoked once": {func(s *scene) {
			l := list(1, []byte{1}, []byte{2})
			l.Keys[1].Key = l.Keys[0].Key
			l.Keys = append(l.Keys, l.Keys[0])
			s.setKeys(l)
		}, root, "signature", "was revoked on"},
		"older head under a newer list": {func(s *scene) {
			s.setKeys(list(1, []byte{1}, nil))
			s.seeBy(rooted(reader(s.url)))
			s.signedHead(1, func(h *fleet.Head) { h.Sequence-- })
			s.setKeys(list(2, []byte{1}, nil))
		}, root, "rollback", "it is an old one"},
		"huge list": {func(s *scene) {
			s.setKeysLine([]byte("shadercache-keys ed25519 a b " + strings.Repeat("c", 70<<10) + "\n"))
		}, root, "newer", "list of keys"},
		"empty list": {func(s *scene) { s.setKeysLine([]byte("shadercache-keys \n")) }, root, "newer", "list of keys"},
	}
	onEachPlace(t, func(t *testing.T, empty func(*testing.T) *scene) {
		for name, c := range rows {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := empty(t).filled()
				c.attack(s)
				o := reader(s.url)
				c.options(&o)
				s.wantRefused(o, c.class, c.says)
			})
		}
	})
}

// seeBy makes the victim see the present head and list, without any pack.
func (s *scene) seeBy(o fleet.Options) {
	s.Helper()
	if st := open(s, s.victim, o).Status(context.Background(), &mesaDriver); st.Head == nil || st.Err != nil {
		s.Fatal(st.Err)
	}
}

// endHead puts a head that has ended in the place of the present one, with the next number.
func (s *scene) endHead() {
	s.signedHead(1, func(h *fleet.Head) {
		h.Expires, h.Sequence = time.Now().UTC().Add(-time.Hour).Truncate(time.Second), h.Sequence+1
	})
}

// push --refresh lets a head live longer, also one that has ended; without it nothing is
// written where nothing is new.
func TestRefresh(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.endHead()
	before := s.head()
	earlier := open(t, s.writer, writer(s.url))
	fleet.SetClock(earlier, func() time.Time { return time.Now().Add(-2 * time.Hour) })
	must(t, earlier.Status(t.Context(), &mesaDriver).Err) // a head that it did not see may be one that was put back
	if report := push(t, s.writer, writer(s.url)); report.Heads != 0 {
		t.Errorf("a push with nothing new: %+v", report)
	}
	report, err := open(t, s.writer, writer(s.url)).Push(context.Background(), fleet.PushOptions{Refresh: true})
	must(t, err)
	if h := s.head(); report.Heads != 1 || report.Packs != 0 || h.Sequence <= before.Sequence || time.Until(h.Expires) < 89*24*time.Hour {
		t.Errorf("%+v: %+v", report, h)
	}
	pull(t, s.victim, reader(s.url), mesaDriver)
	wantPrograms(t, s.victim, mesaDriver, 1, 2)
}

// TestPushOnAHeadThatWasPutBack: readers refuse a head that has ended, and a machine that does not know
// it does not sign again what it lists, unless it is told to.
func TestPushOnAHeadThatWasPutBack(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.endHead()
	ended := s.head()
	runner := func(programs ...int) *binary.Dir {
		d := openDir(t)
		put(t, d, mesaDriver, programs...)
		if st := open(t, d, writer(s.url)).Status(t.Context(), &mesaDriver); !errors.Is(st.Err, fleet.ErrRefused) { // a look is no proof
			t.Error(st.Err)
		}
		return d
	}
	if _, err := open(t, runner(3), writer(s.url)).Compact(t.Context(), mesaDriver.Digest()); !errors.Is(err, fleet.ErrRefused) {
		t.Errorf("compact: %v", err)
	}
	before := s.store.copyObjects()
	for _, least := range []uint64{0, ended.Sequence} { // a floor of some day is no sight of this head
		s.store.set(before)
		o := writer(s.url)
		o.MinSequence = least
		push(t, runner(3), o)
		if h := s.head(); h.Sequence <= ended.Sequence || len(h.Packs) != 1 || len(h.Retired) != len(ended.Packs) {
			t.Errorf("least %d: %+v", least, h)
		}
	}
	pull(t, s.victim, reader(s.url), mesaDriver)
	wantPrograms(t, s.victim, mesaDriver, 3)
}

// A clock that is a year wrong, either way, costs a machine its packs at most, and the error
// says how far it is from the store's. Such a machine does not change the remote: what it
// signs behind the others would have ended for them, and ahead a prune would delete all.
func TestWrongClocks(t *testing.T) {
	t.Parallel()
	onEachPlace(t, func(t *testing.T, empty func(*testing.T) *scene) {
		f := newFleet(empty(t))
		if f.store != nil {
			f.store.clocked = true
		}
		const year = 365 * 24 * time.Hour
		wrong := func(d *binary.Dir, o fleet.Options, by time.Duration) *fleet.Remote {
			r := open(t, d, o)
			fleet.SetClock(r, func() time.Time { return time.Now().Add(by) })
			return r
		}
		victim := openDir(t)
		_, err := wrong(victim, rooted(reader(f.url)), year).Pull(t.Context(), fleet.PullOptions{Current: &mesaDriver})
		if !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), "clock is 8760h0m0s ahead") {
			t.Errorf("a year ahead: %v", err)
		}
		wantNothing(t, victim)
		if _, err := wrong(victim, rooted(reader(f.url)), -year).Pull(t.Context(), fleet.PullOptions{Current: &mesaDriver}); err != nil {
			t.Errorf("a year behind: %v", err)
		}

		put(t, f.writer, mesaDriver, 9)
		_, root := rootPair()
		before := f.object(mesaHead)
		for _, by := range []time.Duration{-year, year} {
			r := wrong(f.writer, f.signer(1), by)
			_, pushed := r.Push(t.Context(), fleet.PushOptions{})
			_, replaced := r.Push(t.Context(), fleet.PushOptions{Replace: true})
			_, keys := r.ChangeKeys(t.Context(), root, func(*fleet.KeyList) error { return nil })
			_, pruned := r.Prune(t.Context(), fleet.PruneOptions{Age: time.Hour})
			for _, err := range []error{pushed, replaced, keys, pruned} {
				if err == nil || !strings.Contains(err.Error(), "set it right") {
					t.Errorf("a change with a clock that is off by %v: %v", by, err)
				}
			}
		}
		if !bytes.Equal(before, f.object(mesaHead)) {
			t.Error("the head was changed")
		}
	})
}

// TestClockBehindTheLastWriters: a store without a clock has that of the head.
func TestClockBehindTheLastWriters(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	put(t, s.writer, mesaDriver, 9)
	before := s.store.copyObjects()
	r := open(t, s.writer, writer(s.url))
	fleet.SetClock(r, func() time.Time { return time.Now().AddDate(-1, 0, 0) })
	if _, err := r.Push(t.Context(), fleet.PushOptions{}); err == nil || !strings.Contains(err.Error(), "set it right") {
		t.Errorf("with a clock that is a year behind: %v", err)
	}
	if !bytes.Equal(before[mesaHead], s.store.copyObjects()[mesaHead]) {
		t.Error("the head was changed")
	}
}

// TestWrongClockAtTheFirstPush: the first head of a driver, or the first list, has none before it
// that has the store's clock. What was written has it, and the job says that it is wrong.
func TestWrongClockAtTheFirstPush(t *testing.T) {
	t.Parallel()
	onEachPlace(t, func(t *testing.T, empty func(*testing.T) *scene) {
		s := empty(t)
		if s.store != nil {
			s.store.clocked = true
		}
		put(t, s.writer, mesaDriver, 1)
		_, root := rootPair()
		o := writer(s.url)
		o.Roots = rooted(o).Roots
		r := open(t, s.writer, o)
		fleet.SetClock(r, func() time.Time { return time.Now().AddDate(-1, 0, 0) })
		_, pushed := r.Push(t.Context(), fleet.PushOptions{})
		_, keys := r.ChangeKeys(t.Context(), root, func(*fleet.KeyList) error { return nil })
		for _, err := range []error{pushed, keys} {
			if err == nil || !strings.Contains(err.Error(), "set it right") {
				t.Errorf("with a clock that is a year behind: %v", err)
			}
		}
	})
}

// fleetOf is a remote whose root key is offline.
type fleetOf struct {
	*scene
	number int
}

// newFleet returns one whose first key has pushed a program.
func newFleet(empty *scene) *fleetOf {
	f := &fleetOf{scene: empty}
	f.change(add(1))
	must(f, f.pushNew(1, fleet.PushOptions{}))
	return f
}

// signer returns the options of a writer with a key, and the root key's public half.
func (f *fleetOf) signer(n byte) fleet.Options {
	o := rooted(writer(f.url))
	_, o.SignKey = keyPair(n)
	return o
}

// change adds and revokes keys, as remote keys does.
func (f *fleetOf) change(change func(*fleet.KeyList)) {
	f.Helper()
	_, err := f.changeFrom(openDir(f), change)
	must(f, err)
}

// changeFrom is change on the machine with a cache directory.
func (f *fleetOf) changeFrom(d *binary.Dir, change func(*fleet.KeyList)) (*fleet.KeyList, error) {
	_, root := rootPair()
	r := open(f, d, rooted(reader(f.url)))
	return r.ChangeKeys(context.Background(), root, func(l *fleet.KeyList) error { change(l); return nil })
}

func add(n byte) func(*fleet.KeyList) {
	public, _ := keyPair(n)
	return func(l *fleet.KeyList) { l.Keys = append(l.Keys, fleet.ListedKey{Key: public, Added: time.Now()}) }
}

func revoke(n byte) func(*fleet.KeyList) {
	public, _ := keyPair(n)
	return func(l *fleet.KeyList) {
		for i := range l.Keys {
			if bytes.Equal(l.Keys[i].Key, public) {
				l.Keys[i].Revoked = time.Now()
			}
		}
	}
}

// pushNew pushes one more program, with a key.
func (f *fleetOf) pushNew(key byte, o fleet.PushOptions) error {
	f.Helper()
	f.number++
	put(f, f.writer, mesaDriver, f.number)
	_, err := open(f, f.writer, f.signer(key)).Push(context.Background(), o)
	return err
}

// pulls reports whether a machine gets what there is.
func (f *fleetOf) pulls(d *binary.Dir) error {
	_, err := open(f, d, rooted(reader(f.url))).Pull(context.Background(), fleet.PullOptions{Current: &mesaDriver})
	return err
}

// A key leaks, and signs the last number of all: taking it back needs the root key and a
// push, and no node is touched. One that slept meanwhile, and one that saw the huge number,
// pull what is signed after.
func TestRotation(t *testing.T) {
	t.Parallel()
	onEachPlace(t, func(t *testing.T, empty func(*testing.T) *scene) { rotate(t, newFleet(empty(t))) })
}

func rotate(t *testing.T, f *fleetOf) {
	asleep, awake := openDir(t), openDir(t)
	must(t, errors.Join(f.pulls(asleep), f.pulls(awake)))
	if err := f.pushNew(2, fleet.PushOptions{}); err == nil || !strings.Contains(err.Error(), "list of keys, or was revoked") {
		t.Errorf("a push with a key that is not listed: %v", err)
	}
	f.signedHead(1, func(h *fleet.Head) { h.Sequence = 1 << 53 })
	must(t, f.pulls(awake))

	f.change(func(l *fleet.KeyList) { add(2)(l); revoke(1)(l) })
	leaked, keys := f.object(mesaHead), f.object(fleet.KeysName)
	if err := f.pulls(awake); err == nil || !strings.Contains(err.Error(), "was revoked on") {
		t.Errorf("a head of a revoked key: %v", err)
	}
	if err := f.pushNew(1, fleet.PushOptions{Replace: true}); err == nil || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("a push with a revoked key: %v", err)
	}
	if err := f.pushNew(2, fleet.PushOptions{}); !errors.Is(err, fleet.ErrRefused) {
		t.Errorf("a push onto what a revoked key has signed: %v", err)
	}
	must(t, f.pushNew(2, fleet.PushOptions{Replace: true}))
	must(t, errors.Join(f.pulls(awake), f.pulls(asleep), f.pulls(openDir(t))))
	wantPrograms(t, awake, mesaDriver, 1, 2, 3, 4, 5)

	f.setHeadObject(leaked)
	f.setObject(fleet.KeysName, keys)
	if err := f.pulls(awake); !errors.Is(err, fleet.ErrRefused) {
		t.Errorf("the revoked head again: %v", err)
	}
	must(t, errors.Join(f.Delete(t.Context(), mesaHead), f.Delete(t.Context(), fleet.KeysName)))
	if l, err := open(t, openDir(t), rooted(reader(f.url))).Keys(context.Background()); err != nil || l.Epoch != 0 {
		t.Errorf("a remote without a list: %+v, %v", l, err)
	}
}

// The list travels with the head: a start asks for one object, as without it.
func TestKeysCostNoRequest(t *testing.T) {
	t.Parallel()
	f := newFleet(inMemory(t))
	f.store.asked = nil
	must(t, f.pulls(openDir(t)))
	if got := fmt.Sprint(f.store.asked); strings.Count(got, "GET") != 2 || !strings.Contains(got, "/head GET") || strings.Contains(got, fleet.KeysName) {
		t.Errorf("asked: %s", got)
	}
}

// A writer that knows no root key is told so, and one whose store has lost the list takes that of
// the head.
func TestKeysAreKept(t *testing.T) {
	t.Parallel()
	f := newFleet(inMemory(t))
	put(t, f.writer, mesaDriver, 8)
	for _, object := range []string{"", fleet.KeysName} { // is lost
		must(t, f.store.Delete(t.Context(), object))
		if _, err := open(t, f.writer, writer(f.url)).Push(t.Context(), fleet.PushOptions{}); err == nil || !strings.Contains(err.Error(), "no root key is known here") {
			t.Errorf("a push without the root's public half, %q lost: %v", object, err)
		}
	}
	must(t, f.pushNew(1, fleet.PushOptions{}))
	must(t, f.pulls(openDir(t)))

	f.change(add(2))
	old := f.store.copyObjects()[fleet.KeysName]
	f.change(revoke(2))
	f.store.change(fleet.KeysName, func([]byte) []byte { return old })
	must(t, f.pushNew(1, fleet.PushOptions{}))
	if line, _ := fleet.CutKeys(f.object(mesaHead)); listOf(t, line).Epoch != 3 {
		t.Errorf("a list that was put back is in the head: %s", line)
	}
}

// TestListOfBeforeAChange: who changes keys remembers its list, and does not continue from one of
// before, in which a revoked key is valid.
func TestListOfBeforeAChange(t *testing.T) {
	t.Parallel()
	f := newFleet(inMemory(t))
	before := f.store.copyObjects()
	admin := openDir(t)
	change := func(change func(*fleet.KeyList)) error { _, err := f.changeFrom(admin, change); return err }
	must(t, change(revoke(1)))
	f.setObject(fleet.KeysName, before[fleet.KeysName])
	must(t, change(add(2))) // that of the head is newer
	f.setObject(fleet.KeysName, before[fleet.KeysName])
	f.setObject(mesaHead, before[mesaHead])
	if l, err := f.changeFrom(admin, add(3)); err != nil || l.Epoch != 4 || l.Keys[0].Revoked.IsZero() {
		t.Errorf("after the list and the head of before were put back: %+v, %v", l, err)
	}
}

// TestRevocationWhereAHeadIsMissingOnce: a store that says once that it has no head does not keep the list
// of before in it.
func TestRevocationWhereAHeadIsMissingOnce(t *testing.T) {
	t.Parallel()
	for nth := range 3 {
		f := newFleet(inMemory(t))
		f.change(add(2))
		reads := 0
		f.store.get = func(_ context.Context, name string, _ *fleet.Object) (*fleet.Object, error) {
			if name != mesaHead {
				return nil, nil
			}
			if reads++; reads-1 == nth {
				return nil, fleet.ErrNotFound
			}
			return nil, nil
		}
		f.change(revoke(1))
		f.store.get = nil
		if err := f.pulls(openDir(t)); !errors.Is(err, fleet.ErrRefused) {
			t.Errorf("reading %d failed: a pull of what the revoked key has signed: %v", nth, err)
		}
	}
}

// TestPushAfterALossOfTheStore: a writer that has seen a later list than that of a remote that was
// made anew puts it into the head.
func TestPushAfterALossOfTheStore(t *testing.T) {
	t.Parallel()
	f := newFleet(inMemory(t))
	f.change(add(2))
	must(t, f.pushNew(1, fleet.PushOptions{}))
	must(t, errors.Join(f.Delete(t.Context(), mesaHead), f.Delete(t.Context(), fleet.KeysName)))
	f.change(add(1))
	for _, replace := range []bool{false, true} {
		must(t, f.pushNew(1, fleet.PushOptions{Replace: replace}))
		must(t, f.pulls(openDir(t)))
	}
	f.writer = openDir(t)
	must(t, f.pushNew(2, fleet.PushOptions{}))
	must(t, f.pulls(openDir(t)))
}

// A change of keys writes no list that readers would refuse, and takes none of another remote.
func TestListsThatReadersRefuseAreNotWritten(t *testing.T) {
	t.Parallel()
	f := newFleet(inMemory(t))
	before := f.object(fleet.KeysName)
	_, root := rootPair()
	for name, keys := range map[string][]fleet.ListedKey{
		"a key of one byte": {{Key: []byte{1}}}, "many keys": make([]fleet.ListedKey, 257),
	} {
		_, err := open(t, openDir(t), rooted(reader(f.url))).ChangeKeys(t.Context(), root, func(l *fleet.KeyList) error {
			for i := range keys {
				if keys[i].Key == nil {
					keys[i].Key = make([]byte, 32)
				}
			}
			l.Keys = keys
			return nil
		})
		if !errors.Is(err, fleet.ErrRefused) || !bytes.Equal(f.object(fleet.KeysName), before) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := list(50, []byte{1}, nil)
	other.Name = "staging"
	f.changeHead(func(b []byte) []byte {
		_, rest := fleet.CutKeys(b)
		return append(fleet.EncodeKeys(other, root), rest...)
	})
	f.change(add(2))
	must(t, f.pulls(openDir(t)))
}

// unlisted is a store that does not list, and answers so.
type unlisted struct {
	*memory
	answer error
}

func (u unlisted) List(context.Context, string) ([]fleet.Info, error) { return nil, u.answer }

// Where a store does not list, heads have the list of before, and a change of keys says so. Some
// servers say of each folder that it is not there, also of that of the list.
func TestChangeOfKeysWithoutAListing(t *testing.T) {
	t.Parallel()
	for _, answer := range []error{errors.ErrUnsupported, fleet.ErrNotFound} {
		f := newFleet(inMemory(t))
		u, err := url.Parse(f.url)
		must(t, err)
		memories.Store(u.Host, unlisted{f.store, answer})
		_, root := rootPair()
		r := open(t, openDir(t), rooted(reader(f.url)))
		l, err := r.ChangeKeys(t.Context(), root, func(l *fleet.KeyList) error { revoke(1)(l); return nil })
		if l == nil || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%v: %+v, %v", answer, l, err)
		}
	}
}

// TestRevocationBesideWhatIsNoHead: who may write to the store, as who has the key may, cannot keep it
// from being revoked.
func TestRevocationBesideWhatIsNoHead(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*fleetOf, string){
		"large head":  func(f *fleetOf, _ string) { f.setObject(fleet.HeadName(shader.Digest{1}), make([]byte, 300_000)) },
		"bad listing": func(f *fleetOf, host string) { memories.Store(host, unlisted{f.store, fleet.ErrProtocol}) },
	} {
		f := newFleet(inMemory(t))
		u, err := url.Parse(f.url)
		must(t, err)
		spoil(f, u.Host)
		_, root := rootPair()
		l, err := open(t, openDir(t), rooted(reader(f.url))).ChangeKeys(t.Context(), root, func(l *fleet.KeyList) error { revoke(1)(l); return nil })
		if l == nil || err == nil {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
		memories.Store(u.Host, f.store)
		if l, err := open(t, openDir(t), rooted(reader(f.url))).Keys(t.Context()); err != nil || l.Keys[0].Revoked.IsZero() {
			t.Errorf("%s: the list that was written: %+v, %v", name, l, err)
		}
	}
}

// TestRevocationBesideASilentStore: what a store does not answer may have a later list than that in
// its place, which was put back, so a change of the earlier one is not written.
func TestRevocationBesideASilentStore(t *testing.T) {
	t.Parallel()
	for _, answer := range []error{&fleet.BusyError{}, fleet.ErrUnreachable} {
		f := newFleet(inMemory(t))
		before := f.object(fleet.KeysName)
		f.change(add(2))
		f.setObject(fleet.KeysName, before)
		f.store.get = func(_ context.Context, name string, _ *fleet.Object) (*fleet.Object, error) {
			if name == mesaHead {
				return nil, answer
			}
			return nil, nil
		}
		_, root := rootPair()
		_, err := open(t, openDir(t), rooted(reader(f.url))).ChangeKeys(t.Context(), root, func(l *fleet.KeyList) error { revoke(1)(l); return nil })
		if f.store.get = nil; !errors.Is(err, answer) || !strings.Contains(err.Error(), "delete that object") || !bytes.Equal(f.object(fleet.KeysName), before) {
			t.Errorf("%v: %v", answer, err)
		}
	}
}

// TestListingWithoutTheListOfKeys: an error that a store sends as a success, or a listing that
// lags, has no heads. Who revoked a key is told that they have the list of before.
func TestListingWithoutTheListOfKeys(t *testing.T) {
	t.Parallel()
	f := newFleet(inMemory(t))
	u, err := url.Parse(f.url)
	must(t, err)
	memories.Store(u.Host, unlisted{f.store, nil})
	_, root := rootPair()
	l, err := open(t, openDir(t), rooted(reader(f.url))).ChangeKeys(t.Context(), root, func(l *fleet.KeyList) error { revoke(1)(l); return nil })
	if l == nil || !errors.Is(err, fleet.ErrProtocol) {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestListsThatAreNotKept: a store that does not keep the new list, or the head with it, or
// another writer, costs a second attempt, and is no success.
func TestListsThatAreNotKept(t *testing.T) {
	t.Parallel()
	for _, object := range []string{mesaHead, fleet.KeysName} {
		for _, always := range []bool{false, true} {
			f := newFleet(inMemory(t))
			old := f.store.objects[object]
			f.store.did = func(name string) error {
				if name == object {
					f.store.objects[name] = old
					if !always {
						f.store.did = nil
					}
				}
				return nil
			}
			_, root := rootPair()
			_, err := open(t, openDir(t), rooted(reader(f.url))).ChangeKeys(t.Context(), root, func(l *fleet.KeyList) error { revoke(1)(l); return nil })
			if always != errors.Is(err, fleet.ErrChanged) {
				t.Errorf("%s, always %v: %v", object, always, err)
			}
			if err := f.pulls(openDir(t)); always == errors.Is(err, fleet.ErrRefused) {
				t.Errorf("%s, always %v: pull: %v", object, always, err)
			}
		}
	}
}

// On a store without compare-and-swap a push whose head another writer replaces at once is
// made again.
func TestHeadThatIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(inMemory(t))
	f.store.abilities.CompareAndSwap = false
	old := f.store.objects[mesaHead]
	f.store.did = func(name string) error {
		if strings.HasSuffix(name, "/head") {
			f.store.did = nil
			f.store.objects[name] = old
		}
		return nil
	}
	must(t, f.pushNew(1, fleet.PushOptions{}))
	victim := openDir(t)
	must(t, f.pulls(victim))
	wantPrograms(t, victim, mesaDriver, 1, 2)
}

// TestListOfKeysIsOfTheRemote: the newest list that a machine saw counts for the head of any driver,
// such as its next version, whatever comes with that, and for one that changes keys.
func TestListOfKeysIsOfTheRemote(t *testing.T) {
	t.Parallel()
	f := newFleet(inMemory(t))
	put(f, f.writer, nvidiaDriver, 9)
	must(f, f.pushNew(1, fleet.PushOptions{}))
	before := maps.Clone(f.store.objects)
	d := openDir(t)
	change := func(change func(*fleet.KeyList)) error { _, err := f.changeFrom(d, change); return err }
	must(t, errors.Join(change(add(2)), change(revoke(1))))
	node := openDir(t)
	if err := f.pulls(node); !errors.Is(err, fleet.ErrRefused) {
		t.Fatal(err)
	}
	maps.Copy(f.store.objects, before)
	pull := func() error {
		_, err := open(f, node, rooted(reader(f.url))).Pull(t.Context(), fleet.PullOptions{Current: &nvidiaDriver})
		return err
	}
	if err := pull(); !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), "was revoked on") {
		t.Error(err)
	}
	f.writer = openDir(t)
	put(t, f.writer, nvidiaDriver, 9)
	_, err := open(t, f.writer, f.signer(1)).Push(t.Context(), fleet.PushOptions{})
	must(t, err) // this writer saw no revocation
	if err := pull(); !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), "was revoked on") {
		t.Error(err)
	}
	must(t, change(add(3)))
	before[fleet.KeysName] = f.store.objects[fleet.KeysName]
	maps.Copy(f.store.objects, before) // the change reached no head
	_, err = open(t, f.writer, f.signer(2)).Push(t.Context(), fleet.PushOptions{Replace: true})
	must(t, errors.Join(err, pull()))
}

// TestPullOfAllDriversLeavesOutRefusedHeads: a driver whose machines are gone has the head of a
// key that was revoked since. The packs of the others come.
func TestPullOfAllDriversLeavesOutRefusedHeads(t *testing.T) {
	t.Parallel()
	f := newFleet(inMemory(t))
	gone := openDir(t)
	put(t, gone, nvidiaDriver, 9)
	push(t, gone, f.signer(1))
	f.change(func(l *fleet.KeyList) { add(2)(l); revoke(1)(l) })
	pull := func() (*binary.Dir, error) {
		d := openDir(t)
		_, err := open(t, d, rooted(reader(f.url))).Pull(t.Context(), fleet.PullOptions{AnyDriver: true})
		return d, err
	}
	d, err := pull()
	if !errors.Is(err, fleet.ErrRefused) {
		t.Errorf("no head that is not refused: %v", err)
	}
	wantNothing(t, d)
	must(t, f.pushNew(2, fleet.PushOptions{Replace: true}))
	d, err = pull()
	must(t, err)
	wantPrograms(t, d, mesaDriver, 1, 2)
	wantPrograms(t, d, nvidiaDriver)
}

// TestStateThatCannotBeRead: what a machine saw of a head counts, or the head is refused.
func TestStateThatCannotBeRead(t *testing.T) {
	t.Parallel()
	f := newFleet(inMemory(t))
	f.change(add(1))
	must(t, f.pushNew(1, fleet.PushOptions{}))
	node := openDir(t)
	must(t, f.pulls(node))
	seen, err := filepath.Glob(filepath.Join(node.Path(), fleet.Folder, "*", mesaDriver.Digest().String()))
	if err != nil || len(seen) != 1 {
		t.Fatal(seen, err)
	}
	must(t, errors.Join(os.RemoveAll(seen[0]), os.Symlink(seen[0], seen[0]))) // a way without an end
	if st := open(t, node, rooted(reader(f.url))).Status(t.Context(), &mesaDriver); !errors.Is(st.Err, syscall.ELOOP) {
		t.Errorf("%+v", st)
	}
}

// TestListThatALateRequestPutBack: a push writes the newest list that its machine has seen over it,
// and warns where it might undo another change so.
func TestListThatALateRequestPutBack(t *testing.T) {
	t.Parallel()
	for _, swaps := range []bool{true, false} {
		f, log := newFleet(inMemory(t)), &bytes.Buffer{}
		f.store.abilities.CompareAndSwap = swaps
		f.change(func(l *fleet.KeyList) { add(1)(l); add(2)(l) })
		old := f.object(fleet.KeysName)
		must(t, f.pushNew(2, fleet.PushOptions{}))
		f.change(revoke(1))
		must(t, f.pulls(f.writer))
		f.setObject(fleet.KeysName, old)
		o := f.signer(2)
		o.Logger = slog.New(slog.NewTextHandler(log, nil))
		_, err := open(t, f.writer, o).Push(t.Context(), fleet.PushOptions{})
		must(t, err)
		if stays := bytes.Equal(f.object(fleet.KeysName), old); stays == swaps || stays != strings.Contains(log.String(), "remote keys renew") {
			t.Errorf("compare and swap %v: it stays %v, and the log has %s", swaps, stays, log)
		}
		if err := f.pushNew(1, fleet.PushOptions{Replace: true}); err == nil {
			t.Errorf("compare and swap %v: a key that was revoked pushes", swaps)
		}
	}
}

// TestPushUnderAListThatHasEnded is told so: all readers would refuse its head.
func TestPushUnderAListThatHasEnded(t *testing.T) {
	t.Parallel()
	f := newFleet(inMemory(t))
	l := list(2, []byte{1}, nil)
	l.Expires = time.Now().Add(-time.Hour)
	_, root := rootPair()
	f.setObject(fleet.KeysName, fleet.EncodeKeys(l, root))
	if err := f.pushNew(1, fleet.PushOptions{}); !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), "remote keys renew") {
		t.Error(err)
	}
	f.change(func(*fleet.KeyList) {})
	must(t, f.pushNew(1, fleet.PushOptions{}))
}

// TestLeakedKey: what a leaked key has pushed is in a head that another key signed since. Readers
// refuse it after the leak is told, and a push has to begin anew.
func TestLeakedKey(t *testing.T) {
	t.Parallel()
	f := newFleet(inMemory(t))
	f.change(add(2))
	must(t, f.pushNew(2, fleet.PushOptions{}))
	f.change(revoke(1))
	must(t, f.pulls(openDir(t)))

	f.change(func(l *fleet.KeyList) { l.Since = l.Epoch + 1 })
	f.change(add(3)) // keeps it
	node := openDir(t)
	for what, err := range map[string]error{
		"pull": f.pulls(node), "push": f.pushNew(2, fleet.PushOptions{}), "refresh": f.pushNew(2, fleet.PushOptions{Refresh: true}),
	} {
		if !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), "a key has leaked") {
			t.Errorf("%s: %v", what, err)
		}
	}
	wantNothing(t, node)
	must(t, f.pushNew(2, fleet.PushOptions{Replace: true}))
	must(t, errors.Join(f.pulls(node), f.pushNew(3, fleet.PushOptions{}), f.pulls(openDir(t))))
}

// TestRevocationDuringAPull: another process of the machine sees the list that revokes the signer of
// a head whose packs are on their way.
func TestRevocationDuringAPull(t *testing.T) {
	t.Parallel()
	f := newFleet(inMemory(t))
	node, revoked := openDir(t), false
	f.store.setAsking(func(request string) {
		if !revoked && strings.Contains(request, "/packs/") {
			revoked = true
			_, err := f.changeFrom(node, revoke(1))
			must(t, err)
		}
	})
	if err := f.pulls(node); !revoked || !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), "was revoked on") {
		t.Errorf("revoked %v: %v", revoked, err)
	}
	wantNothing(t, node)
}

// TestKeysThatChangeDuringAPush: another process of the cache sees a new list after the head was read
// by the one before. What that head lists is not signed for the new one.
func TestKeysThatChangeDuringAPush(t *testing.T) {
	t.Parallel()
	leak := func(l *fleet.KeyList) { l.Since = l.Epoch + 1 }
	for what, change := range map[string]func(*fleet.KeyList){"was revoked on": revoke(1), "a key has leaked": leak} {
		f := newFleet(inMemory(t))
		must(t, f.pushNew(1, fleet.PushOptions{}))
		f.change(add(2))
		changed := false
		f.store.setAsking(func(request string) {
			if changed || !strings.HasPrefix(request, "PUT ") || !strings.Contains(request, "/packs/") {
				return
			}
			changed = true
			head := f.store.objects[mesaHead]
			_, err := f.changeFrom(f.writer, change)
			must(t, err)
			f.store.objects[mesaHead] = head // which the change has not reached
		})
		before := f.store.copyObjects()
		if err := f.pushNew(2, fleet.PushOptions{}); !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), what) {
			t.Errorf("push: %v", err)
		}
		f.store.set(before)
		changed, f.writer = false, openDir(t)
		if _, err := open(t, f.writer, f.signer(2)).Compact(t.Context(), mesaDriver.Digest()); !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), what) {
			t.Errorf("compact: %v", err)
		}
	}
}

// TestTwoListsWithOneNumber: a store shows the objects of before a leak to who renews the list. Machines
// that saw the leak, and those that see both lists in any order, go by the stricter one.
func TestTwoListsWithOneNumber(t *testing.T) {
	t.Parallel()
	f := newFleet(inMemory(t))
	f.change(add(2))
	before := f.store.copyObjects()
	f.change(func(l *fleet.KeyList) { revoke(1)(l); l.Since = l.Epoch + 1 })
	node, late := openDir(t), openDir(t)
	if err := f.pulls(node); !errors.Is(err, fleet.ErrRefused) {
		t.Error(err)
	}
	strict := f.object(mesaHead)
	f.store.set(before)
	f.change(func(*fleet.KeyList) {})
	must(t, f.pulls(late))
	if err := f.pulls(node); !errors.Is(err, fleet.ErrRefused) {
		t.Errorf("a machine that saw the leak: %v", err)
	}
	other := f.object(mesaHead)
	f.setObject(mesaHead, strict)
	if err := f.pulls(late); !errors.Is(err, fleet.ErrRefused) {
		t.Errorf("the stricter list, later: %v", err)
	}
	f.setObject(mesaHead, other)
	if err := f.pulls(late); !errors.Is(err, fleet.ErrRefused) {
		t.Errorf("the other again: %v", err)
	}
}

// TestStricterListDuringAPush: another list of the same number takes the place of that which a push
// writes, on a store without compare and swap.
func TestStricterListDuringAPush(t *testing.T) {
	t.Parallel()
	f := newFleet(inMemory(t))
	f.store.abilities.CompareAndSwap = false
	_, root := rootPair()
	f.store.setAsking(func(request string) {
		if strings.HasPrefix(request, "PUT ") && strings.HasSuffix(request, "/head") {
			f.store.change(fleet.KeysName, func([]byte) []byte { return fleet.EncodeKeys(list(1, nil, []byte{1}), root) })
		}
	})
	if err := f.pushNew(1, fleet.PushOptions{}); !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), "was revoked on") {
		t.Error(err)
	}
}

// TestHeadsWithAnOlderList: on a store that does not list, and after a change of keys that ended
// early, heads have the list of before. The next push brings them the new one, also where nothing is
// new, and takes none over that a revoked key signed; machines read them by the new list meanwhile.
func TestHeadsWithAnOlderList(t *testing.T) {
	t.Parallel()
	f := newFleet(inMemory(t))
	put(t, f.writer, nvidiaDriver, 1)
	push(t, f.writer, f.signer(1))
	u, err := url.Parse(f.url)
	must(t, err)
	memories.Store(u.Host, unlisted{f.store, errors.ErrUnsupported})
	change := func(change func(*fleet.KeyList)) {
		t.Helper()
		if _, err := f.changeFrom(openDir(t), change); !errors.Is(err, errors.ErrUnsupported) {
			t.Fatal(err)
		}
	}
	hasNewest := func(driver binary.Fingerprint) bool {
		line, _ := fleet.CutKeys(f.object("v1/" + driver.Digest().String() + "/head"))
		return bytes.Equal(line, f.object(fleet.KeysName))
	}

	change(add(2))
	if r := push(t, f.writer, f.signer(1)); r.Heads != 2 || r.Packs != 0 || !hasNewest(mesaDriver) || !hasNewest(nvidiaDriver) {
		t.Errorf("a push with nothing new: %+v", r)
	}

	change(add(3))
	put(t, f.writer, mesaDriver, 20)
	o := f.signer(1)
	_, err = open(t, f.writer, o).Push(t.Context(), fleet.PushOptions{Fingerprints: []shader.Digest{mesaDriver.Digest()}})
	must(t, err)
	if !hasNewest(mesaDriver) || hasNewest(nvidiaDriver) {
		t.Error("a push of one driver")
	}
	machine := openDir(t)
	must(t, f.pulls(machine))
	pull(t, machine, rooted(reader(f.url)), nvidiaDriver) // has seen the new list, of the other driver
	put(t, f.writer, nvidiaDriver, 21)
	push(t, f.writer, o)

	change(revoke(1))
	if err := f.pushNew(2, fleet.PushOptions{}); !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), "was revoked on") {
		t.Errorf("a push onto what a revoked key has signed: %v", err)
	}
	if _, err := open(t, openDir(t), f.signer(2)).Compact(t.Context(), mesaDriver.Digest()); !errors.Is(err, fleet.ErrRefused) {
		t.Errorf("compacting what a revoked key has signed: %v", err)
	}
	must(t, f.pushNew(2, fleet.PushOptions{Replace: true}))
	must(t, f.pulls(openDir(t)))
}

// TestFirstListWithoutAListing: the heads of plain keys get the first list with their next push.
func TestFirstListWithoutAListing(t *testing.T) {
	t.Parallel()
	f := &fleetOf{scene: inMemory(t).filled()}
	u, err := url.Parse(f.url)
	must(t, err)
	memories.Store(u.Host, unlisted{f.store, errors.ErrUnsupported})
	if _, err := f.changeFrom(openDir(t), add(1)); !errors.Is(err, errors.ErrUnsupported) {
		t.Fatal(err)
	}
	push(t, f.writer, f.signer(1))
	must(t, f.pulls(openDir(t)))
}

// TestHeadThatIsGoneAfterTheListing: a prune deletes the head of another driver, or the listing lags.
func TestHeadThatIsGoneAfterTheListing(t *testing.T) {
	t.Parallel()
	f := newFleet(inMemory(t))
	gone := fleet.HeadName(nvidiaDriver.Digest())
	f.setObject(gone, f.object(mesaHead))
	u, err := url.Parse(f.url)
	must(t, err)
	memories.Store(u.Host, lagging{f.store, gone})
	r := open(t, openDir(t), rooted(reader(f.url)))
	heads, err := r.Heads(t.Context())
	if err != nil || len(heads) != 1 {
		t.Errorf("%d heads, %v", len(heads), err)
	}
	_, err = r.Pull(t.Context(), fleet.PullOptions{AnyDriver: true})
	must(t, err)
	_, err = r.Prune(t.Context(), fleet.PruneOptions{})
	must(t, err)
	f.change(add(2))
}

// lagging is a store that lists an object which is gone.
type lagging struct {
	*memory
	gone string
}

func (l lagging) Get(ctx context.Context, name string, offset int64) (*fleet.Object, error) {
	if name == l.gone {
		return nil, fleet.ErrNotFound
	}
	return l.memory.Get(ctx, name, offset)
}
