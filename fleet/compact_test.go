package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/pack"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// Many pushes make few packs, a reader of an older head still finds its own, and a machine
// that has all programs fetches nothing again.
func TestManyPushesAreCompacted(t *testing.T) {
	t.Parallel()
	for _, driver := range []binary.Fingerprint{mesaDriver, nvidiaDriver} {
		m, url := newMemory(t)
		from, follower, stopped := openDir(t), openDir(t), openDir(t)
		var old map[string][]byte
		numbers := []int{}
		for n := range 12 {
			numbers = append(numbers, n)
			put(t, from, driver, n)
			push(t, from, writer(url))
			r := pull(t, follower, reader(url), driver)
			if r.Programs != 1 {
				t.Errorf("the follower fetched %+v for one program more", r)
			}
			if n == 7 {
				old = m.copyObjects()
			}
		}
		heads, err := open(t, from, writer(url)).Heads(context.Background())
		if err != nil || len(heads) != 1 || len(heads[0].Packs) > 8 {
			t.Fatalf("heads: %d packs, %v", len(heads[0].Packs), err)
		}
		wantPrograms(t, follower, driver, numbers...)
		kept, err := filepath.Glob(filepath.Join(follower.Path(), fleet.Folder, "*", "*", "*.items"))
		if err != nil || len(kept) == 0 || len(kept) > len(heads[0].Packs) {
			t.Errorf("the follower has the items of %d packs of %d: %v", len(kept), len(heads[0].Packs), err)
		}
		fresh := openDir(t)
		pull(t, fresh, reader(url), driver)
		wantPrograms(t, fresh, driver, numbers...)

		// The head of a reader that stopped after it read it.
		m.change("/head", func([]byte) []byte { return old[fleet.HeadName(driver.Digest())] })
		pull(t, stopped, reader(url), driver)
		wantPrograms(t, stopped, driver, numbers[:8]...)
	}
}

func TestCompact(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	put(t, s.writer, mesaDriver, 3)
	push(t, s.writer, writer(s.url))
	other := openDir(t) // compacts without having any of it
	tight := writer(s.url)
	tight.MaxBytes = s.head().Packs[0].Unpacked
	if r, err := open(t, other, tight).Compact(t.Context(), mesaDriver.Digest()); err != nil || r.Heads != 0 {
		t.Errorf("compacting packs that do not fit together: %+v, %v", r, err)
	}
	r, err := open(t, other, writer(s.url)).Compact(context.Background(), mesaDriver.Digest())
	if err != nil || r.Packs != 1 || r.Heads != 1 {
		t.Fatalf("compact: %+v, %v", r, err)
	}
	wantPrograms(t, other, mesaDriver)
	if h := s.head(); len(h.Packs) != 1 || h.Packs[0].Programs != 3 || len(h.Retired) != 2 || len(h.Packs[0].Replaces) != 2 {
		t.Errorf("head: %+v", h)
	}
	pull(t, s.victim, reader(s.url), mesaDriver)
	wantPrograms(t, s.victim, mesaDriver, 1, 2, 3)
	if r, err := open(t, other, writer(s.url)).Compact(context.Background(), mesaDriver.Digest()); err != nil || r.Heads != 0 {
		t.Errorf("compacting one pack: %+v, %v", r, err)
	}
	if r := push(t, s.writer, writer(s.url)); r.Packs != 0 {
		t.Errorf("a push after the compaction: %+v", r)
	}
	// A machine that has what it replaces knows what it has.
	put(t, other, mesaDriver, 4)
	push(t, other, writer(s.url))
	pull(t, s.victim, reader(s.url), mesaDriver)
	if _, err := open(t, openDir(t), writer(s.url)).Compact(t.Context(), mesaDriver.Digest()); err != nil {
		t.Fatal(err)
	}
	pull(t, s.victim, reader(s.url), mesaDriver)
	s.changePack(func(data []byte) []byte { data[len(data)/2]++; return data })
	if r := push(t, s.victim, writer(s.url)); r.Packs != 0 {
		t.Errorf("a push fetches what is known: %+v", r)
	}
}

// Packs that do not fit a pull stay away, alone or together, by what they have or unpack to.
func TestPacksThatFit(t *testing.T) {
	t.Parallel()
	o := fleet.Options{MaxBytes: 1000}
	const most = 1000 + 64<<20
	for want, sizes := range map[string][][2]int64{ // unpacked, and of the object
		"012": {{400, 1}, {400, 1}, {200, 1}},
		"02":  {{400, 1}, {601, 1}, {600, 1}},
		"1":   {{1001, 1}, {1000, 1}, {1, most}},
		"0":   {{1, most}, {1, 1}, {1, most}},
		"01":  {{1, most / 2}, {1, most / 2}, {1, 1}},
		"":    {{1, most + 1}, {1 << 62, 1}, {1 << 62, 1}},
	} {
		var packs []fleet.Pack
		for i, s := range sizes {
			packs = append(packs, fleet.Pack{Unpacked: s[0], Size: s[1], Programs: i})
		}
		fits, total, err := fleet.Fit(o, packs, math.MaxInt64)
		got, sum := "", int64(0)
		for _, p := range fits {
			got, sum = got+fmt.Sprint(p.Programs), sum+p.Size
		}
		if got != want || total != sum || (err != nil) != (len(fits) < len(packs)) {
			t.Errorf("%v: packs %q of %d bytes, want %q: %v", sizes, got, total, want, err)
		}
	}
	// A file takes a page, a program has a source, and what was transferred is there too.
	packs := []fleet.Pack{{Unpacked: 100, Size: 50, Programs: 2, DriverFiles: 1}, {Unpacked: 100, Size: 50, DriverFiles: 1}}
	for free, want := range map[int64]int{2 * (150 + 5*4096 + 150 + 4096): 2, 2 * (150 + 5*4096): 1, 2 * (150 + 4096): 1, 2*(150+4096) - 2: 0} {
		if fits, _, _ := fleet.Fit(o, packs, free); len(fits) != want {
			t.Errorf("%d bytes are free: %d packs fit, want %d", free, len(fits), want)
		}
	}
}

// A pull leaves half of the free space: a pack that needs more is not asked for. That is no fault of the
// remote: its breaker stays closed.
func TestPullLeavesFreeSpace(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	free, known := osfile.FreeBytes(s.victim.Path())
	if most := int64(4 << 40); !known || free/2 >= most {
		t.Skipf("%d bytes are free: a head has not so many", free)
	}
	h := s.headWith(1)
	h.Packs[0].Unpacked = min(free/4*3, 4<<40)
	s.setHead(h)
	s.store.requests()
	o := reader(s.url)
	o.MaxBytes = 1 << 50
	c := &clock{time.Now()}
	if r := begin(t, s.victim, o, c); r.Outcome != fleet.Failed || r.Pull.Packs != 1 || !strings.Contains(r.Err.Error(), "too little free space") {
		t.Errorf("%+v", r)
	}
	if asked := s.store.requests(); slices.Contains(asked, "GET "+fleet.PackName(mesaDriver.Digest(), h.Packs[0].SHA256)) {
		t.Errorf("%q", asked)
	}
	if r := begin(t, s.victim, o, c); r.Outcome == fleet.BreakerOn {
		t.Errorf("the next start: %+v", r)
	}
	// A push sees what it has nevertheless.
	w := writer(s.url)
	w.MaxBytes = o.MaxBytes
	put(t, s.victim, mesaDriver, 1, 20)
	begin(t, s.victim, w, c)
	if after := s.head().Packs; len(after) != len(h.Packs)+1 || after[len(h.Packs)].Programs != 1 {
		t.Errorf("a push: %+v", after)
	}
	h.Sequence = s.head().Sequence
	// What is kept of its transfer is not in the way of the rest.
	h.Sequence++
	h.Packs[0].Unpacked = free / 5 * 3
	s.setHead(h)
	folders, err := filepath.Glob(filepath.Join(s.victim.Path(), fleet.Folder, "*", mesaDriver.Digest().String()))
	if err != nil || len(folders) != 1 {
		t.Fatal(folders, err)
	}
	part := filepath.Join(folders[0], h.Packs[0].SHA256.String()+".part")
	must(t, os.WriteFile(part, nil, 0o600))
	must(t, os.Truncate(part, free/2)) // it takes nothing
	c.advance(time.Hour)
	s.store.requests()
	begin(t, s.victim, o, c)
	if asked := s.store.requests(); !slices.Contains(asked, "GET "+fleet.PackName(mesaDriver.Digest(), h.Packs[0].SHA256)) {
		t.Errorf("with a part: %q", asked)
	}
}

// A merge copies slot 0 of NVIDIA's driver and those that wait, those of processes and other folders not.
func TestSpaceOfAMerge(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	dir, r := s.victim, open(t, s.victim, reader(s.url))
	of := func(driver binary.Fingerprint) int64 {
		return fleet.Free(r, &fleet.Head{Driver: driver, Fingerprint: driver.Digest()})
	}
	const size = 1 << 40 // of files that take nothing
	for _, folder := range []string{"0", "1"} {
		for _, number := range []string{"0", "1", fmt.Sprint(nvidia.SlotOf(1))} {
			slot := filepath.Join(dir.DriverDir(), "nvidia", "GLCache", strings.Repeat(folder, 32), strings.Repeat("0", 16), "shadercache"+number)
			must(t, os.MkdirAll(filepath.Dir(slot), 0o700))
			must(t, os.WriteFile(slot+".toc", nil, 0o600))
			must(t, os.WriteFile(slot+".bin", nil, 0o600))
			must(t, os.Truncate(slot+".bin", size))
		}
	}
	const others = 1 << 36 // what other tests write meanwhile
	if mesa, nvidia := of(mesaDriver), of(nvidiaDriver); mesa < 0 || mesa-nvidia < 2*size-others || mesa-nvidia > 2*size+others {
		t.Errorf("%d bytes for Mesa, %d for NVIDIA", mesa, nvidia)
	}
}

// Packs that one manifest cannot list together stay apart.
func TestPacksThatAreMergeable(t *testing.T) {
	t.Parallel()
	var packs []fleet.Pack
	for i, p := range []fleet.Pack{{Size: 900, Programs: 40}, {Size: 50, Programs: 10, DriverFiles: 20}, {Size: 700, Programs: 30}, {Size: 10, Programs: 5}, {Size: 2000, Programs: 1}} {
		p.SHA256[0] = byte(i + 1)
		packs = append(packs, p)
	}
	for files, want := range map[int]string{192: "12345", 191: "1234", 189: "2345", 110: "234", 109: "245", 49: "45", 9: "5", 1: ""} {
		got := ""
		for _, p := range fleet.Mergeable(packs, files, 1<<40) {
			got += fmt.Sprint(p.SHA256[0])
		}
		if got != want {
			t.Errorf("of %d files: packs %s, want %s", files, got, want)
		}
	}
	for room, want := range map[int64]string{3660: "12345", 3659: "1234", 760: "234", 59: "4", 9: ""} {
		got := ""
		for _, p := range fleet.Mergeable(packs, 1000, room) {
			got += fmt.Sprint(p.SHA256[0])
		}
		if got != want {
			t.Errorf("of %d bytes: packs %s, want %s", room, got, want)
		}
	}
}

// TestReplaceIsLater has a head of a writer whose clock is ahead: one that replaces it, by a machine
// that has not read it, is later nevertheless, for those that have seen it.
func TestReplaceIsLater(t *testing.T) {
	t.Parallel()
	for _, listed := range []bool{false, true} {
		s := newScene(t)
		writes, reads := writer(s.url), reader(s.url)
		if listed {
			f := &fleetOf{scene: s}
			f.change(add(1))
			writes, reads = f.signer(1), rooted(reads)
		}
		put(t, s.writer, mesaDriver, 3)
		ahead := open(t, s.writer, writes)
		fleet.SetClock(ahead, func() time.Time { return time.Now().Add(8 * time.Hour) })
		_, err := ahead.Push(t.Context(), fleet.PushOptions{})
		must(t, err)
		pull(t, s.victim, reads, mesaDriver)
		other := openDir(t)
		put(t, other, mesaDriver, 4)
		_, err = open(t, other, writes).Push(t.Context(), fleet.PushOptions{Replace: true})
		must(t, err)
		pull(t, s.victim, reads, mesaDriver)
		wantPrograms(t, s.victim, mesaDriver, 1, 2, 3, 4)
		replace := func(d *binary.Dir, ahead time.Duration) {
			r := open(t, d, writes)
			fleet.SetClock(r, func() time.Time { return time.Now().Add(ahead) })
			_, err := r.Push(t.Context(), fleet.PushOptions{Replace: true})
			must(t, err)
		}
		s.changeHead(func([]byte) []byte { return []byte("nothing of ours") })
		replace(other, 0)

		// Who has no key takes the number as far ahead as a clock may be, and a machine without
		// memory whose clock is behind replaces what replaced it.
		far := fmt.Appendf(nil, `"sequence": %d`, time.Now().Add(24*time.Hour-time.Minute).UnixMilli())
		s.changeHead(func(b []byte) []byte { return regexp.MustCompile(`"sequence": ?[0-9]+`).ReplaceAll(b, far) })
		replace(other, 0)
		pull(t, s.victim, reads, mesaDriver)
		third := openDir(t)
		put(t, third, mesaDriver, 5)
		replace(third, -2*time.Minute)
		pull(t, s.victim, reads, mesaDriver)
		wantPrograms(t, s.victim, mesaDriver, 1, 2, 3, 4, 5)
	}
}

// Who has nothing to send replaces what is there by nothing where the driver is named.
func TestReplaceWithNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if len(s.head().Packs) == 0 {
		t.Fatal("there is nothing to replace")
	}
	empty := openDir(t)
	store, err := empty.Store(mesaDriver)
	must(t, err)
	must(t, errors.Join(store.Identify(), store.Close()))
	r := open(t, empty, writer(s.url))
	before := s.head()
	wantRefused := func() {
		t.Helper()
		if _, err := r.Push(t.Context(), fleet.PushOptions{Replace: true}); err == nil || s.head().Sequence != before.Sequence {
			t.Errorf("without its name: %v, and %d packs are left", err, len(s.head().Packs))
		}
	}
	wantRefused()
	file := "driver/mesa/mesa_shader_cache/01/0123"
	writeFile(t, empty, file, []byte("code of another driver"))
	wantRefused()
	of, url := []shader.Digest{mesaDriver.Digest()}, fileURL(t) // of a cache that exec alone filled
	for _, o := range []fleet.PushOptions{{}, {Replace: true}, {Replace: true, Fingerprints: of}} {
		if report, err := open(t, empty, writer(url)).Push(t.Context(), o); err != nil || report.DriverFiles != 1 {
			t.Errorf("machine code alone, %+v: %+v, %v", o, report, err)
		}
	}
	reads := 0 // of which a second one would fail
	s.store.get = func(_ context.Context, name string, _ *fleet.Object) (*fleet.Object, error) {
		if name != mesaHead {
			return nil, nil
		}
		if reads++; reads > 1 {
			return nil, errors.New("a server error")
		}
		return nil, nil
	}
	alone := openDir(t) // with machine code of this driver
	store, err = alone.Store(mesaDriver)
	must(t, errors.Join(err, store.Identify(), store.Close()))
	writeFile(t, alone, file, []byte("code"))
	_, err = open(t, alone, writer(s.url)).Push(t.Context(), fleet.PushOptions{Replace: true})
	if s.store.get = nil; err == nil || s.head().Sequence != before.Sequence {
		t.Errorf("where one reading fails: %v", err)
	}
	other := writer(s.url) // who does not know the key of the present head
	_, other.SignKey = keyPair(2)
	_, err = open(t, alone, other).Push(t.Context(), fleet.PushOptions{Replace: true})
	if object := s.object(mesaHead); err == nil || !bytes.Contains(object, []byte(before.Packs[0].SHA256.String())) {
		t.Errorf("over another key: %v", err)
	}
	must(t, os.Remove(filepath.Join(empty.Path(), file)))
	report, err := r.Push(t.Context(), fleet.PushOptions{Replace: true, Fingerprints: of})
	must(t, err)
	if h := s.head(); report.Heads != 1 || len(h.Packs) != 0 || len(h.Retired) != len(before.Packs) { // a prune leaves them for a day
		t.Errorf("%+v: %+v", report, h)
	}
}

// A reader that has read a head whose packs are gone reads the new one.
func TestPacksThatAreCompactedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	put(t, s.writer, mesaDriver, 3)
	push(t, s.writer, writer(s.url))
	done := false
	s.store.get = func(ctx context.Context, name string, _ *fleet.Object) (*fleet.Object, error) {
		if !strings.Contains(name, "/packs/") || done {
			return nil, nil
		}
		done = true
		old := s.store.copyObjects()
		_, err := open(t, s.writer, writer(s.url)).Compact(context.Background(), mesaDriver.Digest())
		for name := range old {
			if strings.Contains(name, "/packs/") {
				_ = s.store.Delete(ctx, name)
			}
		}
		return nil, errors.Join(err, fleet.ErrNotFound)
	}
	pull(t, s.victim, reader(s.url), mesaDriver)
	wantPrograms(t, s.victim, mesaDriver, 1, 2, 3)
}

func TestPrune(t *testing.T) {
	t.Parallel()
	s, c := newScene(t), &clock{time.Now()}
	put(t, s.writer, mesaDriver, 3)
	push(t, s.writer, writer(s.url))
	put(t, s.writer, nvidiaDriver, 1)
	push(t, s.writer, writer(s.url))
	_, err := open(t, s.writer, writer(s.url)).Compact(context.Background(), mesaDriver.Digest())
	must(t, err)
	prune := func(o fleet.PruneOptions) fleet.PruneReport {
		t.Helper()
		r := open(t, s.writer, writer(s.url))
		fleet.SetClock(r, c.time)
		report, err := r.Prune(context.Background(), o)
		must(t, err)
		return report
	}
	// The packs were written long ago, and were taken out of the head just now.
	s.store.mu.Lock()
	for name, o := range s.store.objects {
		o.changed = o.changed.Add(-30 * 24 * time.Hour)
		s.store.objects[name] = o
	}
	s.store.mu.Unlock()
	left, ageless := fleet.ProbeFolder+"LEFT", fleet.ProbeFolder+"AGELESS"
	s.store.objects[left] = memoryObject{data: []byte("by a writer that was killed"), changed: c.time()}
	s.store.objects[ageless] = memoryObject{data: []byte("of a store without times")}
	before := s.store.copyObjects()
	if r := prune(fleet.PruneOptions{Age: time.Hour}); len(r.Names) != 0 || len(r.Heads) != 0 {
		t.Errorf("pruned at once: %+v", r)
	}
	c.advance(25 * time.Hour)
	if r := prune(fleet.PruneOptions{DryRun: true}); len(r.Names) != 3 || len(s.store.copyObjects()) != len(before) {
		t.Errorf("dry run: %+v", r)
	}
	if r := prune(fleet.PruneOptions{}); len(r.Names) != 3 || !slices.Contains(r.Names, left) || r.Bytes == 0 {
		t.Errorf("after a day: %+v", r)
	}
	pull(t, s.victim, reader(s.url), mesaDriver)
	wantPrograms(t, s.victim, mesaDriver, 1, 2, 3)
	isMesa := func(h *fleet.Head) bool { return h.Fingerprint == mesaDriver.Digest() }
	if r := prune(fleet.PruneOptions{Age: time.Hour, Keep: isMesa}); len(r.Heads) != 1 || r.Heads[0].Fingerprint != nvidiaDriver.Digest() || len(r.Names) != 2 {
		t.Errorf("old heads: %+v", r)
	}
	// A driver that comes back has a head with a higher number.
	push(t, s.writer, writer(s.url))
	pull(t, s.victim, reader(s.url), nvidiaDriver)

	// One whose head is listed, and not shown, keeps its packs.
	before = s.store.copyObjects()
	s.store.get = func(_ context.Context, name string, o *fleet.Object) (*fleet.Object, error) {
		if strings.HasSuffix(name, "/head") {
			return nil, fleet.ErrNotFound
		}
		return o, nil
	}
	r := open(t, s.writer, writer(s.url))
	c.advance(25 * time.Hour)
	fleet.SetClock(r, c.time)
	if report, err := r.Prune(context.Background(), fleet.PruneOptions{}); err != nil || len(s.store.copyObjects()) != len(before) {
		t.Errorf("without heads: %+v, %v", report, err)
	}
}

// keeping is a store that deletes nothing.
type keeping struct{ *memory }

func (keeping) Delete(context.Context, string) error { return fleet.ErrDenied }

// TestPruneOfAStoreThatKeepsAll: what the store refused to delete is not reported as deleted.
func TestPruneOfAStoreThatKeepsAll(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	u, err := url.Parse(s.url)
	must(t, err)
	memories.Store(u.Host, keeping{s.store})
	r := open(t, s.writer, writer(s.url))
	fleet.SetClock(r, func() time.Time { return time.Now().Add(2 * time.Hour) })
	for _, dry := range []bool{true, false} {
		report, err := r.Prune(t.Context(), fleet.PruneOptions{Age: time.Hour, DryRun: dry})
		if dry != (err == nil) || dry != (len(report.Heads) == 1) || dry != (len(report.Names) == 2) {
			t.Errorf("dry %t: %+v, %v", dry, report, err)
		}
	}
}

// A push that ends anywhere leaves the old head or the new one, and the next push
// completes it.
func TestInterruptedPush(t *testing.T) {
	t.Parallel()
	for step := range 3 {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d %v", step, after), func(t *testing.T) {
				s := newScene(t)
				put(t, s.writer, mesaDriver, 3)
				n := 0
				fail := func(string) error {
					if n++; n == step+1 {
						return fleet.ErrUnreachable
					}
					return nil
				}
				if after {
					s.store.did = fail
				} else {
					s.store.put = fail
				}
				_, err := open(t, s.writer, writer(s.url)).Push(context.Background(), fleet.PushOptions{})
				if (err != nil) != (step < 2) {
					t.Errorf("push: %v", err)
				}
				pull(t, s.victim, reader(s.url), mesaDriver)
				s.store.did, s.store.put = nil, nil
				push(t, s.writer, writer(s.url))
				pull(t, s.victim, reader(s.url), mesaDriver)
				wantPrograms(t, s.victim, mesaDriver, 1, 2, 3)
			})
		}
	}
}

// Writers that push at once lose nothing, also where the store cannot compare and swap.
func TestWritersAtOnce(t *testing.T) {
	t.Parallel()
	for _, swap := range []bool{true, false} {
		m, url := newMemory(t)
		m.abilities.CompareAndSwap = swap
		errs := make(chan error)
		const writers = 8
		var dirs []*binary.Dir
		for n := range writers {
			d := openDir(t)
			dirs = append(dirs, d)
			put(t, d, mesaDriver, n)
			r := open(t, d, writer(url))
			go func() {
				_, err := r.Push(context.Background(), fleet.PushOptions{})
				errs <- err
			}()
		}
		for range writers {
			must(t, <-errs)
		}
		for _, d := range dirs {
			// Without compare-and-swap a writer may have replaced a head that another had
			// checked: its next push adds what was lost.
			if r := push(t, d, writer(url)); swap && r.Packs != 0 {
				t.Errorf("a push lost its pack: %+v", r)
			}
		}
		d := openDir(t)
		pull(t, d, reader(url), mesaDriver)
		wantPrograms(t, d, mesaDriver, 0, 1, 2, 3, 4, 5, 6, 7)
	}
}

// A pack that the store lost is pushed again.
func TestLostPack(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	must(t, s.store.Delete(context.Background(), fleet.PackName(mesaDriver.Digest(), s.head().Packs[0].SHA256)))
	other := openDir(t)
	put(t, other, mesaDriver, 1, 2, 3)
	if r := push(t, other, writer(s.url)); r.Programs != 3 {
		t.Errorf("push: %+v", r)
	}
	pull(t, s.victim, reader(s.url), mesaDriver)
	wantPrograms(t, s.victim, mesaDriver, 1, 2, 3)
}

// A push does not sign what another key has signed, unless it replaces it.
func TestPushOverAnotherKey(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	o := writer(s.url)
	_, o.SignKey = keyPair(2)
	d := openDir(t)
	put(t, d, mesaDriver, 3)
	before := s.store.copyObjects()
	_, err := open(t, d, o).Push(context.Background(), fleet.PushOptions{})
	if !errors.Is(err, fleet.ErrRefused) {
		t.Errorf("got %v", err)
	}
	if after := s.store.copyObjects(); len(after) != len(before) {
		t.Error("the push changed the remote")
	}
	r, err := open(t, d, o).Push(context.Background(), fleet.PushOptions{Replace: true})
	if err != nil || r.Programs != 1 {
		t.Errorf("replace: %+v, %v", r, err)
	}
	// Rotation: readers have both keys, and the new writer has the old one's.
	public1, _ := keyPair(1)
	public2, _ := keyPair(2)
	both := reader(s.url)
	both.Keys = append(both.Keys, public2)
	pull(t, s.victim, both, mesaDriver)
	wantPrograms(t, s.victim, mesaDriver, 3)
	o.Keys = append(o.Keys, public1)
	_, err = open(t, s.writer, o).Push(context.Background(), fleet.PushOptions{})
	must(t, err)
	pull(t, s.victim, both, mesaDriver)
	wantPrograms(t, s.victim, mesaDriver, 1, 2, 3)
}

// No unsigned head takes the place of one that somebody signed, and no signed one vouches for packs
// that nobody did, whatever the writer accepts for itself.
func TestPushOverAHeadOfTheOtherKind(t *testing.T) {
	t.Parallel()
	anybody, signer, both := writer(""), writer(""), writer("")
	anybody.SignKey, anybody.Unsigned, both.Unsigned = nil, true, true
	otherKey := both
	_, otherKey.SignKey = keyPair(2)
	for name, c := range map[string]struct {
		first, then fleet.Options
		says        string
	}{
		"signed, no key":             {signer, anybody, "is signed by key"},
		"unsigned, a key":            {anybody, signer, "push --replace"},
		"unsigned, a key and trust":  {anybody, both, "push --replace"},
		"signed, another, and trust": {signer, otherKey, "is signed by key"},
	} {
		s := inMemory(t)
		c.first.URL, c.then.URL = s.url, s.url
		for n := range 2 { // two packs
			put(t, s.writer, mesaDriver, n)
			push(t, s.writer, c.first)
		}
		before := s.store.copyObjects()
		var log bytes.Buffer
		started := c.then
		started.Logger = slog.New(slog.NewTextHandler(&log, nil))
		r := open(t, s.victim, started)
		r.Start(t.Context(), mesaDriver)
		put(t, s.victim, mesaDriver, 3)
		must(t, r.Close())
		if c.then.Unsigned && !strings.Contains(log.String(), c.says) {
			t.Errorf("%s: a start logs %s", name, &log)
		}
		r = open(t, s.victim, c.then)
		_, err := r.Push(t.Context(), fleet.PushOptions{})
		_, compactErr := r.Compact(t.Context(), mesaDriver.Digest())
		for _, err := range []error{err, compactErr} {
			if !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if !maps.EqualFunc(before, s.store.copyObjects(), bytes.Equal) {
			t.Errorf("%s: the remote was changed", name)
		}
		if r, err := r.Push(t.Context(), fleet.PushOptions{Replace: true}); err != nil || r.Packs != 1 {
			t.Errorf("%s: replace: %+v, %v", name, r, err)
		}
	}
}

// Packs have no sources, and no program in quarantine.
func TestWhatIsNotPushed(t *testing.T) {
	t.Parallel()
	m, url := newMemory(t)
	d := openDir(t)
	put(t, d, mesaDriver, 1, 2)
	must(t, d.PutSource(testSource(1)))
	store, err := d.Store(mesaDriver)
	must(t, err)
	must(t, store.Refuse(binary.Quarantined{Key: testSource(2).Key(), Name: "scale_2", Reason: "crashed", Time: time.Now()}))
	writeFile(t, d, mesaDriver.DirName()+"/blobs/5e/"+strings.Repeat("5e", 32)+".bin", []byte("damaged"))
	if r := push(t, d, writer(url)); r.Programs != 1 {
		t.Errorf("push: %+v", r)
	}
	for name, data := range m.copyObjects() {
		if strings.Contains(name, "/packs/") {
			to := openDir(t)
			r, err := pack.Import(bytes.NewReader(data), to, pack.ImportOptions{AnyDriver: true, Trust: true})
			if err != nil || r.Sources != 0 || r.Programs != 1 {
				t.Errorf("pack: %+v, %v", r, err)
			}
		}
	}
	o := fleet.PushOptions{Sources: true}
	if r, err := open(t, d, writer(url)).Push(context.Background(), o); err != nil || r.Packs != 1 {
		t.Errorf("push with sources: %+v, %v", r, err)
	}
	to := openDir(t)
	pull(t, to, reader(url), mesaDriver)
	wantPrograms(t, to, mesaDriver, 1)
	if _, err := to.Source(testSource(1).Key()); err != nil {
		t.Error(err)
	}
}
