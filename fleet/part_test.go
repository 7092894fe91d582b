package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/pack"
	"github.com/shadercache/shadercache/shader"
)

// cutBody ends with an error after some bytes.
type cutBody struct {
	io.ReadCloser
	left int
}

func (b *cutBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, fmt.Errorf("%w: %w", fleet.ErrUnreachable, syscall.ECONNRESET)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// cutAfter makes the store's packs end after some bytes of each request.
func cutAfter(m *memory, n int) {
	m.get = func(_ context.Context, name string, o *fleet.Object) (*fleet.Object, error) {
		if strings.Contains(name, "/packs/") {
			o.Body = &cutBody{o.Body, n}
		}
		return o, nil
	}
}

// parts returns the files with the first bytes of packs.
func parts(t *testing.T, d *binary.Dir) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(d.Path(), fleet.Folder, "*", "*", "*.part"))
	must(t, err)
	return found
}

// largeScene is a scene with a pack of some 200 KiB.
func largeScene(t *testing.T) (s *scene, packBytes int64) {
	t.Helper()
	s = inMemory(t)
	fill(t, s.writer, mesaDriver, 48)
	return s, push(t, s.writer, writer(s.url)).Bytes
}

func tryPull(t *testing.T, d *binary.Dir, url string) (fleet.PullReport, error) {
	t.Helper()
	r := open(t, d, reader(url))
	defer r.Close()
	return r.Pull(t.Context(), fleet.PullOptions{Current: &mesaDriver})
}

// Pulls that all end early have the pack in the end, and fetch no byte twice.
func TestPullsContinue(t *testing.T) {
	t.Parallel()
	s, size := largeScene(t)
	const cut = 30_000
	cutAfter(s.store, cut)
	var fetched int64
	tries := 0
	for err := errors.New("none yet"); err != nil; tries++ {
		var report fleet.PullReport
		report, err = tryPull(t, s.victim, s.url)
		if fetched += report.Bytes; err != nil && !errors.Is(err, fleet.ErrUnreachable) || tries > 20 {
			t.Fatal(err)
		}
		if err != nil && len(parts(t, s.victim)) != 1 {
			t.Fatalf("after %d bytes nothing is kept", fetched)
		}
	}
	if want := int((size + cut - 1) / cut); tries != want || fetched != size {
		t.Errorf("%d pulls fetched %d bytes, should be %d with %d", tries, fetched, want, size)
	}
	if kept := parts(t, s.victim); len(kept) != 0 {
		t.Errorf("kept: %q", kept)
	}
	r := open(t, s.victim, reader(s.url))
	if st := r.Status(t.Context(), &mesaDriver); st.Head == nil || st.Counters.Bytes != size {
		t.Errorf("%d bytes are counted, should be %d", st.Counters.Bytes, size)
	}
}

// Kept bytes that are not of the pack cost a fetch, and nothing else.
func TestKeptBytesAreChecked(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, path string, size int64){
		"zeros": func(t *testing.T, path string, size int64) { must(t, os.WriteFile(path, make([]byte, 30_000), 0o600)) },
		"all zeros": func(t *testing.T, path string, size int64) {
			must(t, os.WriteFile(path, make([]byte, size), 0o600))
		},
		"longer": func(t *testing.T, path string, size int64) {
			must(t, os.WriteFile(path, make([]byte, size+1), 0o600))
		},
		"empty": func(t *testing.T, path string, _ int64) { must(t, os.Truncate(path, 0)) },
		"one bit": func(t *testing.T, path string, _ int64) {
			data, err := os.ReadFile(path)
			must(t, err)
			data[len(data)/2] ^= 4
			must(t, os.WriteFile(path, data, 0o600))
		},
		"a folder": func(t *testing.T, path string, _ int64) {
			must(t, errors.Join(os.Remove(path), os.Mkdir(path, 0o700)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, size := largeScene(t)
			cutAfter(s.store, 30_000)
			if _, err := tryPull(t, s.victim, s.url); !errors.Is(err, fleet.ErrUnreachable) {
				t.Fatal(err)
			}
			damage(t, parts(t, s.victim)[0], size)
			s.store.get = nil
			if report, err := tryPull(t, s.victim, s.url); err != nil || report.Programs != 48 {
				t.Errorf("%+v, %v", report, err)
			}
			if kept := parts(t, s.victim); len(kept) != 0 {
				t.Errorf("kept: %q", kept)
			}
		})
	}
}

// Of a store that sends whole objects only, a pack is fetched from its start.
func TestStoreWithoutRanges(t *testing.T) {
	t.Parallel()
	s, size := largeScene(t)
	s.store.wholeOnly = true
	cutAfter(s.store, 30_000)
	for range 2 {
		if report, err := tryPull(t, s.victim, s.url); !errors.Is(err, fleet.ErrUnreachable) || report.Bytes != 30_000 {
			t.Errorf("%+v, %v", report, err)
		}
	}
	s.store.get = nil
	if report, err := tryPull(t, s.victim, s.url); err != nil || report.Bytes != size || report.Programs != 48 {
		t.Errorf("%+v, %v", report, err)
	}
}

// Where a server, or a firewall before it, refuses ranges alone, the whole pack is fetched; what
// is kept stays where that fails too.
func TestRangesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{fleet.ErrDenied, fleet.ErrNotFound, fleet.ErrUnreachable, fleet.ErrProtocol} {
		s, size := largeScene(t)
		cutAfter(s.store, 30_000)
		if _, err := tryPull(t, s.victim, s.url); !errors.Is(err, fleet.ErrUnreachable) {
			t.Fatal(err)
		}
		down, asked := true, 0
		s.store.get = func(_ context.Context, name string, o *fleet.Object) (*fleet.Object, error) {
			if !strings.Contains(name, "/packs/") {
				return o, nil
			}
			if asked++; down || asked == 1 {
				return nil, refusal
			}
			return o, nil
		}
		if _, err := tryPull(t, s.victim, s.url); err == nil || len(parts(t, s.victim)) != 1 {
			t.Errorf("%v, kept: %q", err, parts(t, s.victim))
		}
		down, asked = false, 0
		if report, err := tryPull(t, s.victim, s.url); err != nil || report.Bytes != size || report.Programs != 48 {
			t.Errorf("%v: %+v, %v", refusal, report, err)
		}
	}
}

// Where the rest is that of an object of another size, none of it is read, nor what was kept.
func TestRestOfAnotherObject(t *testing.T) {
	t.Parallel()
	s, size := largeScene(t)
	cutAfter(s.store, 30_000)
	if _, err := tryPull(t, s.victim, s.url); !errors.Is(err, fleet.ErrUnreachable) {
		t.Fatal(err)
	}
	var rests atomic.Int64
	s.store.get = func(_ context.Context, name string, o *fleet.Object) (*fleet.Object, error) {
		if strings.Contains(name, "/packs/") && rests.Add(1) == 1 {
			return &fleet.Object{Body: failingBody{t}, Size: size + 1}, nil
		}
		return o, nil
	}
	if report, err := tryPull(t, s.victim, s.url); err != nil || report.Bytes != size || report.Programs != 48 {
		t.Errorf("%+v, %v", report, err)
	}
}

// A pack that is cut, lost or too large keeps nobody from the others of its head.
func TestPacksBesideALostOne(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string]func(s *scene, o *fleet.Options){
		"cut": func(s *scene, _ *fleet.Options) {
			s.store.change(s.head().Packs[0].SHA256.String(), func(data []byte) []byte { return data[:len(data)/2] })
		},
		"empty": func(s *scene, _ *fleet.Options) {
			s.store.change(s.head().Packs[0].SHA256.String(), func([]byte) []byte { return nil })
		},
		"lost": func(s *scene, _ *fleet.Options) {
			s.store.failPacks(fleet.ErrNotFound, s.head().Packs[0])
		},
		"too large": func(s *scene, o *fleet.Options) { o.MaxBytes = s.head().Packs[0].Unpacked - 1 },
	} {
		s := inMemory(t)
		fill(t, s.writer, mesaDriver, 9)
		push(t, s.writer, writer(s.url))
		fill(t, s.writer, mesaDriver, 11)
		push(t, s.writer, writer(s.url))
		o := reader(s.url)
		attack(s, &o)
		report, err := open(t, s.victim, o).Pull(t.Context(), fleet.PullOptions{Current: &mesaDriver})
		if !errors.Is(err, fleet.ErrRefused) || report.Packs != 1 || report.Programs == 0 {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
}

// TestPacksBesideThoseThatDoNotCome has the first packs of a head fail: the others are installed,
// until a fifth has kept the pull waiting.
func TestPacksBesideThoseThatDoNotCome(t *testing.T) {
	t.Parallel()
	const packs = 7
	s := inMemory(t)
	for i := range packs {
		fill(t, s.writer, mesaDriver, 2+i)
		push(t, s.writer, writer(s.url))
	}
	for _, c := range []struct {
		failure    error
		fail, want int
	}{
		{fleet.ErrDenied, 6, 1},
		{fleet.ErrProtocol, 6, 1},
		{&fleet.BusyError{}, 4, packs - 4},
		{fleet.ErrUnreachable, 4, packs - 4},
		{fleet.ErrUnreachable, 5, 0},
	} {
		s.store.failPacks(c.failure, s.head().Packs[:c.fail]...)
		report, err := open(t, openDir(t), reader(s.url)).Pull(t.Context(), fleet.PullOptions{Current: &mesaDriver})
		if !errors.Is(err, c.failure) || report.Packs != c.want {
			t.Errorf("%d packs fail with %v: %+v, %v", c.fail, c.failure, report, err)
		}
	}
}

// TestDriversBesideThoseThatDoNotCome has the first heads of a pull of all drivers fail: the others are
// installed, until a fifth has kept the pull waiting.
func TestDriversBesideThoseThatDoNotCome(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	drivers := make([]shader.Digest, 7)
	for i := range drivers {
		driver := mesaDriver
		driver.Version = fmt.Sprint(driver.Version, i)
		put(t, s.writer, driver, i)
		drivers[i] = driver.Digest()
	}
	slices.SortFunc(drivers, func(a, b shader.Digest) int { return bytes.Compare(a[:], b[:]) })
	push(t, s.writer, writer(s.url))
	for _, c := range []struct {
		failure    error
		fail, want int
	}{
		{fleet.ErrDenied, 6, 1},
		{fleet.ErrProtocol, 6, 1},
		{&fleet.BusyError{}, 4, 3},
		{fleet.ErrUnreachable, 4, 3},
		{fleet.ErrUnreachable, 5, 0},
		{nil, 1, 6},
	} {
		s.store.failHeads(c.failure, drivers[:c.fail]...)
		o := reader(s.url)
		if c.failure == nil {
			o.Patience, c.failure = 4*time.Second, context.DeadlineExceeded
		}
		report, err := open(t, openDir(t), o).Pull(t.Context(), fleet.PullOptions{AnyDriver: true})
		if !errors.Is(err, c.failure) || report.Packs != c.want {
			t.Errorf("%d heads fail with %v: %+v, %v", c.fail, c.failure, report, err)
		}
	}
}

// A pack that is damaged in the store keeps nobody from the others of its head.
func TestPacksBesideADamagedOne(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	fill(t, s.writer, mesaDriver, 3)
	push(t, s.writer, writer(s.url))
	s.store.change("/packs/", func(data []byte) []byte { data[len(data)/2] ^= 1; return data })
	fill(t, s.writer, mesaDriver, 5)
	push(t, s.writer, writer(s.url))
	report, err := tryPull(t, s.victim, s.url)
	if !errors.Is(err, pack.ErrRefused) || !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), "push --replace") || report.Packs != 1 || report.Programs == 0 {
		t.Errorf("%+v, %v", report, err)
	}
	_, err = open(t, s.writer, writer(s.url)).Push(t.Context(), fleet.PushOptions{Replace: true})
	must(t, err)
	if report, err := tryPull(t, s.victim, s.url); err != nil {
		t.Errorf("after push --replace: %+v, %v", report, err)
	}
}

// failingBody is a body that is not to be read.
type failingBody struct{ t *testing.T }

func (b failingBody) Read([]byte) (int, error) {
	b.t.Error("it was read")
	return 0, io.EOF
}

func (failingBody) Close() error { return nil }

// Nothing is kept of a pack that is refused, nor of one that the head does not list.
func TestNoPartsAreLeft(t *testing.T) {
	t.Parallel()
	s, _ := largeScene(t)
	good := s.store.copyObjects()
	s.store.change("/packs/", func(data []byte) []byte { data[len(data)/2] ^= 1; return data })
	if _, err := tryPull(t, s.victim, s.url); !errors.Is(err, pack.ErrRefused) {
		t.Errorf("a damaged pack: %v", err)
	}
	if kept := parts(t, s.victim); len(kept) != 0 {
		t.Errorf("kept of a damaged pack: %q", kept)
	}
	s.store.set(good)
	cutAfter(s.store, 30_000)
	if _, err := tryPull(t, s.victim, s.url); err == nil || len(parts(t, s.victim)) != 1 {
		t.Errorf("%v, kept: %q", err, parts(t, s.victim))
	}
	s.store.get = nil
	put(t, s.writer, mesaDriver, 1000)
	push(t, s.writer, writer(s.url))
	h := s.head()
	h.Packs, h.Sequence = h.Packs[len(h.Packs)-1:], h.Sequence+1
	s.setHead(h)
	if report, err := tryPull(t, s.victim, s.url); err != nil || report.Packs != 1 || report.Programs != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if kept := parts(t, s.victim); len(kept) != 0 {
		t.Errorf("kept of a pack that the head does not list: %q", kept)
	}
}
