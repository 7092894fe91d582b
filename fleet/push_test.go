package fleet_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/shader"
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

// TestPushOfADirectoryThatCannotBeWritten remembers nothing, and sends all the same: a file in
// the place of the folder of the state stands for a volume that is mounted read-only.
func TestPushOfADirectoryThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	url, from, to := fileURL(t), openDir(t), openDir(t)
	put(t, from, nvidiaDriver, 1)
	put(t, from, mesaDriver, 2)
	must(t, os.WriteFile(filepath.Join(from.Path(), fleet.Folder), nil, 0o600))
	if r := push(t, from, writer(url)); r.Heads != 2 || r.Programs != 2 {
		t.Errorf("push: %+v", r)
	}
	pull(t, to, reader(url), mesaDriver)
	wantPrograms(t, to, mesaDriver, 2)
}

// TestPacksWithoutMachineCode are installed once, also where there is none yet.
func TestPacksWithoutMachineCode(t *testing.T) {
	t.Parallel()
	url, from, to := fileURL(t), openDir(t), openDir(t)
	put(t, from, mesaDriver, 1)
	must(t, os.RemoveAll(from.DriverDir()))
	push(t, from, writer(url))
	for present := range 2 {
		if r := pull(t, to, reader(url), mesaDriver); r.Present != present || r.DriverFiles != 0 {
			t.Errorf("pull %d: %+v", present, r)
		}
	}
}

// TestClearBesideAPull forgets what a pull has installed before the pull remembers that: what it
// brought may be deleted, and the next one brings it.
func TestClearBesideAPull(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	asked := false
	s.store.get = func(_ context.Context, name string, _ *fleet.Object) (*fleet.Object, error) {
		if strings.Contains(name, "/packs/") && !asked {
			asked = true
			must(t, fleet.ForgetPacks(s.victim))
		}
		return nil, nil
	}
	pull(t, s.victim, reader(s.url), mesaDriver)
	if r := pull(t, s.victim, reader(s.url), mesaDriver); r.Packs != 1 {
		t.Errorf("after a clear beside a pull: %+v", r)
	}
	if r := pull(t, s.victim, reader(s.url), mesaDriver); r.Present != 1 {
		t.Errorf("the third pull: %+v", r)
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
			_, err := open(t, d, reader(s.url)).Pull(t.Context(), fleet.PullOptions{Current: &mesaDriver})
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

// A store that answers once that there is no head costs none of its packs, also where it has no
// compare-and-swap and the machine that pushes no memory.
func TestAHeadThatIsMissingOnce(t *testing.T) {
	t.Parallel()
	s, other := newScene(t), openDir(t)
	put(t, other, mesaDriver, 3)
	s.store.abilities.CompareAndSwap = false
	missing := true
	s.store.get = func(_ context.Context, name string, _ *fleet.Object) (*fleet.Object, error) {
		if name == mesaHead && missing {
			missing = false
			return nil, fleet.ErrNotFound
		}
		return nil, nil
	}
	push(t, other, writer(s.url))
	pull(t, s.victim, reader(s.url), mesaDriver)
	wantPrograms(t, s.victim, mesaDriver, 1, 2, 3)
}

// Machine code without a program names no driver: Push says so, and sends it once one is named.
func TestPushOfMachineCodeWithoutADriver(t *testing.T) {
	t.Parallel()
	d, to, url := openDir(t), openDir(t), fileURL(t)
	writeFile(t, d, "driver/mesa/mesa_shader_cache/01/0123", []byte("code"))
	_, err := open(t, d, writer(url)).Push(context.Background(), fleet.PushOptions{})
	if err == nil || !strings.Contains(err.Error(), "Identify") {
		t.Errorf("got %v", err)
	}
	s, err := d.Store(mesaDriver)
	must(t, err)
	must(t, s.Identify())
	must(t, s.Close())
	if report := push(t, d, writer(url)); report.DriverFiles != 1 {
		t.Errorf("push: %+v", report)
	}
	if report := pull(t, to, reader(url), mesaDriver); report.DriverFiles != 1 {
		t.Errorf("pull: %+v", report)
	}
}

// Programs of a driver of which only the digest is known are not pushed: readers would refuse
// the head.
func TestPushWithoutAFingerprint(t *testing.T) {
	t.Parallel()
	m, url := newMemory(t)
	d := openDir(t)
	put(t, d, mesaDriver, 1)
	must(t, os.Remove(filepath.Join(d.Path(), mesaDriver.DirName(), "fingerprint.json")))
	_ = os.Remove(filepath.Join(d.Path(), mesaDriver.DirName(), "manifest.json"))
	o, log := writer(url), &bytes.Buffer{}
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	r := open(t, d, o)
	if _, err := r.Push(t.Context(), fleet.PushOptions{}); err == nil || len(m.copyObjects()) != 0 {
		t.Errorf("the only driver: %v, %d objects", err, len(m.copyObjects()))
	}
	put(t, d, nvidiaDriver, 1)
	if report, err := r.Push(t.Context(), fleet.PushOptions{}); err != nil || report.Heads != 1 || !strings.Contains(log.String(), mesaDriver.DirName()) {
		t.Errorf("beside another: %+v, %v, said %s", report, err, log)
	}
	if _, err := r.Push(t.Context(), fleet.PushOptions{Fingerprints: []shader.Digest{mesaDriver.Digest()}}); err == nil || strings.Contains(err.Error(), nvidiaDriver.DirName()) {
		t.Errorf("that is named: %v", err)
	}
}

// A lease is that of one driver: what is pushed of another one does not end it.
func TestLeaseOfAnotherDriver(t *testing.T) {
	t.Parallel()
	m, url := newMemory(t)
	d := openDir(t)
	put(t, d, nvidiaDriver, 1)
	r := open(t, d, writer(url))
	if report := r.Start(context.Background(), mesaDriver); report.Outcome != fleet.Leased {
		t.Fatalf("start: %+v", report)
	}
	held := func(of binary.Fingerprint) bool {
		_, held := m.copyObjects()[fleet.LeaseName(of.Digest())]
		return held
	}
	if _, err := r.Push(context.Background(), fleet.PushOptions{}); err != nil || !held(mesaDriver) {
		t.Errorf("after a push of another driver it is held: %v; %v", held(mesaDriver), err)
	}
	put(t, d, mesaDriver, 1)
	if _, err := r.Push(context.Background(), fleet.PushOptions{}); err != nil || held(mesaDriver) {
		t.Errorf("after its own push it is held: %v; %v", held(mesaDriver), err)
	}
}

// A pack that a head lists and the store has lost, or cut, is pushed again also by the machine
// that pushed it and knows what it has: readers refuse the head until then.
func TestLostPacksArePushedAgain(t *testing.T) {
	t.Parallel()
	lost := func(s *scene) { s.lose(fleet.PackName(mesaDriver.Digest(), s.head().Packs[0].SHA256)) }
	cut := func(s *scene) { s.changePack(func(b []byte) []byte { return b[:len(b)/2] }) }
	inMemory(t).pushesAgain(cut)
	onEachPlace(t, func(t *testing.T, empty func(*testing.T) *scene) { empty(t).pushesAgain(lost) })
	startRegistryOf(t, true)(t).pushesAgain(lost) // as after its garbage collection
}

// A connection that is reset before the first byte of a pack says nothing about the pack, also where
// this machine knows what it has, and need not fetch it.
func TestPushWhereAPackIsReset(t *testing.T) {
	t.Parallel()
	s, ci := newScene(t), openDir(t)
	put(t, ci, mesaDriver, 3)
	push(t, ci, writer(s.url)) // it knows the first pack then
	put(t, ci, mesaDriver, 4)
	before, first := s.object(mesaHead), s.head().Packs[0].SHA256.String()
	s.store.get = func(_ context.Context, name string, o *fleet.Object) (*fleet.Object, error) {
		if strings.Contains(name, first) {
			o.Body = &cutBody{o.Body, 0}
		}
		return o, nil
	}
	_, err := open(t, ci, writer(s.url)).Push(t.Context(), fleet.PushOptions{})
	if !errors.Is(err, fleet.ErrUnreachable) || !bytes.Equal(s.object(mesaHead), before) {
		t.Errorf("%v; the head has %d packs", err, len(s.head().Packs))
	}
}

func (s *scene) pushesAgain(lose func(*scene)) {
	s.Helper()
	s.filled()
	lose(s)
	if report := push(s, s.writer, writer(s.url)); report.Packs != 1 {
		s.Errorf("%+v", report)
	}
	pull(s, s.victim, reader(s.url), mesaDriver)
	wantPrograms(s, s.victim, mesaDriver, 1, 2)
}

// TestPackThatIsNotKept: a store may answer a PUT with a success, and not have it.
func TestPackThatIsNotKept(t *testing.T) {
	t.Parallel()
	m, url := newMemory(t)
	m.did = func(name string) error {
		if strings.Contains(name, "/packs/") {
			delete(m.objects, name)
		}
		return nil
	}
	d := openDir(t)
	put(t, d, mesaDriver, 1)
	report, err := open(t, d, writer(url)).Push(t.Context(), fleet.PushOptions{})
	if !errors.Is(err, fleet.ErrProtocol) || report.Packs != 5 {
		t.Errorf("%+v, %v", report, err)
	}
}

// headWith returns the next head, which is not written, with packs of one file each more.
func (s *scene) headWith(packs int) fleet.Head {
	h := s.head()
	h.Sequence++
	for n := range packs {
		data := handmade(s, fmt.Sprintf("driver/mesa/mesa_shader_cache/aa/%038x", n), fmt.Appendf(nil, "code %d", n))
		p := fleet.Pack{SHA256: sha256.Sum256(data), Size: int64(len(data)), Unpacked: 1 << 10, DriverFiles: 1}
		s.setObject(fleet.PackName(mesaDriver.Digest(), p.SHA256), data)
		h.Packs = append(h.Packs, p)
	}
	return h
}

// A head that has as many packs as readers take is compacted by a push, which adds its own then.
func TestPushToAFullHead(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.setHead(s.headWith(255))
	put(t, s.writer, mesaDriver, 3)
	if report := push(t, s.writer, writer(s.url)); report.Programs != 1 {
		t.Errorf("%+v", report)
	}
	if r := pull(t, s.victim, reader(s.url), mesaDriver); r.Packs > 8 || r.DriverFiles != 3+255 {
		t.Errorf("%+v", r)
	}
	wantPrograms(t, s.victim, mesaDriver, 1, 2, 3)
}

// What a process compiled is pushed within the second of Close, however many packs there are.
func TestPushBesideManyPacks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.setHead(s.headWith(23))
	pull(t, s.victim, reader(s.url), mesaDriver)
	real := time.Now()
	synctest.Test(t, func(t *testing.T) {
		r, err := fleet.Open(s.victim, writer(s.url))
		must(t, err)
		fleet.SetClock(r, func() time.Time { return real }) // that of the bubble is decades behind
		r.Start(t.Context(), mesaDriver)
		put(t, s.victim, mesaDriver, 3)
		s.store.setAsking(func(string) { time.Sleep(40 * time.Millisecond) })
		must(t, r.Close())
	})
	s.store.setAsking(nil)
	s.victim = openDir(t)
	s.wantPushed(1, 2, 3)
}

// A driver whose head is refused holds up no other.
func TestPushBesideARefusedHead(t *testing.T) {
	t.Parallel()
	for _, refused := range []binary.Fingerprint{mesaDriver, nvidiaDriver} { // one of them is the first
		s := newScene(t)
		put(t, s.writer, nvidiaDriver, 3)
		push(t, s.writer, writer(s.url))
		s.setObject(fleet.HeadName(refused.Digest()), []byte("nothing of ours"))
		put(t, s.writer, mesaDriver, 4)
		put(t, s.writer, nvidiaDriver, 4)
		report, err := open(t, s.writer, writer(s.url)).Push(t.Context(), fleet.PushOptions{})
		if !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), refused.Digest().Short()) || report.Heads != 1 || report.Programs != 1 {
			t.Errorf("%s: %+v, %v", refused.Vendor, report, err)
		}
	}
}

// A head that would be larger than readers take is not written.
func TestHeadThatIsTooLarge(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	h := s.headWith(15)
	n := 0
	for left := 1 << 20; left > 100; left = 191<<10 - len(fleet.EncodeHead(h, nil)) {
		for range min(left/80, 1000) {
			p := &h.Packs[1+n%15]
			p.Replaces = append(p.Replaces, sha256.Sum256([]byte(fmt.Sprint(n))))
			n++
		}
	}
	s.setHead(h)
	before := s.store.copyObjects()[fleet.HeadName(mesaDriver.Digest())]
	put(t, s.writer, mesaDriver, 3)
	_, err := open(t, s.writer, writer(s.url)).Push(t.Context(), fleet.PushOptions{})
	if err == nil || !strings.Contains(err.Error(), "compact the remote") || !bytes.Equal(before, s.store.copyObjects()[fleet.HeadName(mesaDriver.Digest())]) {
		t.Errorf("a head of %d bytes: %v", len(before), err)
	}
}

// After a directory was cleared, and has a program again, all packs are new to it.
func TestPullAfterClear(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	pull(t, s.victim, reader(s.url), mesaDriver)
	_, err := s.victim.Clear(binary.PruneOptions{})
	must(t, err)
	must(t, fleet.ForgetPacks(s.victim))
	put(t, s.victim, mesaDriver, 3)
	if r := pull(t, s.victim, reader(s.url), mesaDriver); r.Packs != 1 {
		t.Errorf("the pull: %+v", r)
	}
	wantPrograms(t, s.victim, mesaDriver, 1, 2, 3)
	if seen := fleet.DirSeen(s.victim); len(seen) != 1 {
		t.Errorf("numbers were forgotten: %+v", seen)
	}
}

// A pull into a directory without the driver's programs, which ends after one pack, leaves no
// other that counts as installed.
func TestPullThatEndsAfterADirectoryWasDeleted(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	put(t, s.writer, mesaDriver, 3)
	push(t, s.writer, writer(s.url))
	pull(t, s.victim, reader(s.url), mesaDriver)
	must(t, os.RemoveAll(filepath.Join(s.victim.Path(), mesaDriver.DirName())))
	last := s.head().Packs[1].SHA256.String()
	s.store.get = func(_ context.Context, name string, _ *fleet.Object) (*fleet.Object, error) {
		if strings.HasSuffix(name, last) {
			return nil, fleet.ErrUnreachable
		}
		return nil, nil
	}
	if _, err := open(t, s.victim, reader(s.url)).Pull(t.Context(), fleet.PullOptions{Current: &mesaDriver}); !errors.Is(err, fleet.ErrUnreachable) {
		t.Fatal(err)
	}
	wantPrograms(t, s.victim, mesaDriver, 1, 2)
	s.store.get = nil
	s.wantPushed(1, 2, 3)
}

// What a machine knows of the packs is damaged, as after a power cut: its push makes a pack that the
// head lists, and has it right then.
func TestPushWithDamagedItems(t *testing.T) {
	t.Parallel()
	d, o := openDir(t), writer(fileURL(t))
	put(t, d, mesaDriver, 1, 2)
	push(t, d, o)
	items, err := filepath.Glob(filepath.Join(d.Path(), "remote", "*", "*", "*.items"))
	must(t, err)
	for _, path := range items {
		info, err := os.Stat(path)
		must(t, err)
		must(t, os.WriteFile(path, make([]byte, info.Size()), 0o600))
	}
	if r := push(t, d, o); len(items) != 1 || r.Heads != 0 {
		t.Errorf("%q: %+v", items, r)
	}
	put(t, d, mesaDriver, 3)
	if r := push(t, d, o); r.Programs != 1 {
		t.Errorf("after it: %+v", r)
	}
}
