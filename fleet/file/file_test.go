package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/internal/osfile"
)

func newBackend(t *testing.T) (*backend, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store")
	b, err := open(&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}, fleet.BackendOptions{})
	must(t, err)
	return b.(*backend), path
}

// The umask says who may write: users of one group push to one directory.
func TestModes(t *testing.T) {
	b, path := newBackend(t)
	defer syscall.Umask(syscall.Umask(0o002))
	_, err := b.Put(t.Context(), "v1/a/head", strings.NewReader("x"), fleet.PutOptions{Size: 1})
	must(t, err)
	for name, want := range map[string]os.FileMode{"": 0o775, "v1": 0o775, "v1/a": 0o775, "v1/a/head": 0o664, "v1/a/.lock": 0o660} {
		info, err := os.Stat(filepath.Join(path, name))
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has the mode %v, want %v", name, info.Mode(), want)
		}
	}
}

// counted counts what is read.
type counted struct {
	io.ReadSeeker
	n int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadSeeker.Read(p)
	c.n += n
	return n, err
}

// What a Put has read is soon on the disk: a command's patience counts it, and a file system may take it then alone.
func TestSyncsOfALargeObject(t *testing.T) {
	b, path := newBackend(t)
	data := &counted{ReadSeeker: bytes.NewReader(make([]byte, 2*syncBytes+1))}
	var synced []int
	defer func() { syncFile = (*os.File).Sync }()
	syncFile = func(f *os.File) error {
		synced = append(synced, data.n)
		return f.Sync()
	}
	_, err := b.Put(t.Context(), "v1/a/packs/x", data, fleet.PutOptions{Size: 2*syncBytes + 1})
	must(t, err)
	if want := []int{syncBytes, 2 * syncBytes, 2*syncBytes + 1}; !slices.Equal(synced, want) {
		t.Errorf("synced after %d bytes, not %d", synced, want)
	}
	if info, err := os.Stat(filepath.Join(path, "v1/a/packs/x")); err != nil || info.Size() != 2*syncBytes+1 {
		t.Errorf("%v, %v", info, err)
	}
}

// Those who may read and not write cannot lock what writers lock, also where an earlier version
// made the file.
func TestModeOfTheLock(t *testing.T) {
	b, path := newBackend(t)
	lock := filepath.Join(path, "v1", "a", lockName)
	defer syscall.Umask(syscall.Umask(0o022))
	for _, before := range []os.FileMode{0, 0o644, 0o664} {
		if before != 0 {
			must(t, os.Chmod(lock, before))
		}
		_, err := putText(b, "v1/a/head", "x", fleet.PutOptions{})
		must(t, err)
		info, err := os.Stat(lock)
		must(t, err)
		want := 0o600 | before&0o020<<1 | before&0o020
		if info.Mode() != want {
			t.Errorf("the lock has the mode %v, want %v", info.Mode(), want)
		}
	}
}

// TestURLsOfNoDirectory: a user or an option would be ignored.
func TestURLsOfNoDirectory(t *testing.T) {
	for _, text := range []string{"file://host/srv", "file:srv", "file://me@localhost/srv", "file:///srv?region=eu"} {
		u, err := url.Parse(text)
		must(t, err)
		if _, err := open(u, fleet.BackendOptions{}); err == nil {
			t.Errorf("%s is a directory", text)
		}
	}
}

func putText(b fleet.Backend, name, text string, o fleet.PutOptions) (string, error) {
	o.Size = int64(len(text))
	return b.Put(context.Background(), name, strings.NewReader(text), o)
}

func getText(t *testing.T, b fleet.Backend, name string) (text, tag string) {
	t.Helper()
	o, err := b.Get(context.Background(), name, 0)
	must(t, err)
	data, err := io.ReadAll(o.Body)
	must(t, errors.Join(err, o.Body.Close()))
	if o.Size != int64(len(data)) {
		t.Errorf("%s: size %d, and %d bytes", name, o.Size, len(data))
	}
	return string(data), o.Tag
}

func TestObjects(t *testing.T) {
	t.Parallel()
	b, path := newBackend(t)
	if _, err := b.Get(context.Background(), "v1/a/head", 0); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("a store that does not exist: %v", err)
	}
	tag, err := putText(b, "v1/a/head", "one", fleet.PutOptions{})
	must(t, err)
	if text, got := getText(t, b, "v1/a/head"); text != "one" || got != tag || tag == "" {
		t.Errorf("got %q, %q; want tag %q", text, got, tag)
	}
	if _, err := b.Get(context.Background(), "v1/a", 0); !errors.Is(err, fleet.ErrProtocol) {
		t.Errorf("a folder: %v", err)
	}
	large := strings.Repeat("0123456789", 300_000)
	_, err = putText(b, "v1/a/packs/5e", large, fleet.PutOptions{})
	must(t, err)
	if text, _ := getText(t, b, "v1/a/packs/5e"); text != large {
		t.Error("a large object has another content")
	}
	must(t, os.WriteFile(filepath.Join(path, "v1", "a", ".hidden"), nil, 0o600))
	infos, err := b.List(context.Background(), "v1/")
	must(t, err)
	var names []string
	for _, i := range infos {
		names = append(names, fmt.Sprint(i.Name, " ", i.Size))
		if time.Since(i.Changed) > time.Hour {
			t.Errorf("%s was changed at %v", i.Name, i.Changed)
		}
	}
	slices.Sort(names)
	if want := []string{"v1/a/head 3", "v1/a/packs/5e 3000000"}; !slices.Equal(names, want) {
		t.Errorf("list: %q, want %q", names, want)
	}
	for range 2 {
		must(t, b.Delete(context.Background(), "v1/a/head"))
	}
	if _, err := b.Get(context.Background(), "v1/a/head", 0); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("a deleted object: %v", err)
	}
	if infos, err := b.List(context.Background(), "v2/"); err != nil || len(infos) != 0 {
		t.Errorf("a missing folder: %v, %v", infos, err)
	}
}

func TestCompareAndSwap(t *testing.T) {
	t.Parallel()
	b, path := newBackend(t)
	first, err := putText(b, "v1/a/head", "one", fleet.PutOptions{IfAbsent: true})
	must(t, err)
	if _, err := putText(b, "v1/a/head", "two", fleet.PutOptions{IfAbsent: true}); !errors.Is(err, fleet.ErrChanged) {
		t.Errorf("IfAbsent: %v", err)
	}
	_, err = putText(b, "v1/a/head", "two", fleet.PutOptions{IfTag: first})
	must(t, err)
	if _, err := putText(b, "v1/a/head", "three", fleet.PutOptions{IfTag: first}); !errors.Is(err, fleet.ErrChanged) {
		t.Errorf("IfTag: %v", err)
	}
	if _, err := putText(b, "v1/b/head", "three", fleet.PutOptions{IfTag: first}); !errors.Is(err, fleet.ErrChanged) {
		t.Errorf("IfTag of nothing: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(path, "v1", "*", tempStart+"*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	// Each writer adds one line, and none is lost.
	var all sync.WaitGroup
	for n := range 10 {
		all.Go(func() {
			for {
				text, tag := getText(t, b, "v1/a/head")
				_, err := putText(b, "v1/a/head", text+fmt.Sprintf("\nline %d", n), fleet.PutOptions{IfTag: tag})
				if !errors.Is(err, fleet.ErrChanged) {
					must(t, err)
					return
				}
			}
		})
	}
	all.Wait()
	if text, _ := getText(t, b, "v1/a/head"); strings.Count(text, "line") != 10 {
		t.Errorf("got %q", text)
	}
}

func TestNamesStayInTheDirectory(t *testing.T) {
	t.Parallel()
	b, path := newBackend(t)
	must(t, os.MkdirAll(path, 0o700))
	outside := filepath.Join(filepath.Dir(path), "outside")
	must(t, os.WriteFile(outside, []byte("secret"), 0o600))
	must(t, os.Symlink(outside, filepath.Join(path, "link")))
	for _, name := range []string{"../outside", "/etc/passwd", "v1/../../outside", "", ".", ".lock", "v1/.put-x", "a\\b"} {
		if _, err := b.Get(context.Background(), name, 0); !errors.Is(err, fleet.ErrProtocol) {
			t.Errorf("get %q: %v", name, err)
		}
		if _, err := putText(b, name, "x", fleet.PutOptions{}); !errors.Is(err, fleet.ErrProtocol) {
			t.Errorf("put %q: %v", name, err)
		}
		if err := b.Delete(context.Background(), name); !errors.Is(err, fleet.ErrProtocol) {
			t.Errorf("delete %q: %v", name, err)
		}
	}
	if _, err := b.Get(context.Background(), "link", 0); err == nil {
		t.Error("a link led out of the directory")
	}
}

// A read or write that a file server does not answer ends with its context.
func TestHangingServer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	release := make(chan struct{})
	late := make(chan int)
	_, err := wait(ctx, func() (int, error) { <-release; return 7, nil }, func(n int) { late <- n })
	if !errors.Is(err, fleet.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	close(release)
	if n := <-late; n != 7 {
		t.Errorf("what came late was not ended: %d", n)
	}

	b, _ := newBackend(t)
	_, err = putText(b, "v1/a/packs/5e", strings.Repeat("x", 3<<20), fleet.PutOptions{})
	must(t, err)
	ctx, cancel = context.WithCancel(context.Background())
	o, err := b.Get(ctx, "v1/a/packs/5e", 0)
	must(t, err)
	_, err = io.ReadFull(o.Body, make([]byte, 1<<20))
	must(t, err)
	cancel()
	if _, err := io.Copy(io.Discard, o.Body); !errors.Is(err, fleet.ErrUnreachable) {
		t.Errorf("a body after its context ended: %v", err)
	}
	must(t, o.Body.Close())
}

// The files of writers are as old as the clock of the file system says, not that of this machine.
func TestSweepByTheClockOfTheServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	server := time.Now().Add(-25 * time.Hour)
	for name, age := range map[string]time.Duration{"MINE": 0, "OTHER": time.Hour, "OLD": 25 * time.Hour} {
		path := filepath.Join(dir, tempStart+name)
		must(t, os.WriteFile(path, []byte("half"), 0o600))
		must(t, os.Chtimes(path, time.Time{}, server.Add(-age)))
	}
	sweep(root, tempStart+"MINE")
	left, err := filepath.Glob(filepath.Join(dir, tempStart+"*"))
	must(t, err)
	if len(left) != 2 || strings.HasSuffix(left[0], "OLD") {
		t.Errorf("left: %v", left)
	}
}

// What an interrupted writer left is deleted after a day, and is no object.
func TestInterruptedPut(t *testing.T) {
	t.Parallel()
	b, path := newBackend(t)
	_, err := putText(b, "v1/a/head", "one", fleet.PutOptions{})
	must(t, err)
	old, fresh := filepath.Join(path, "v1", "a", tempStart+"OLD"), filepath.Join(path, "v1", "a", tempStart+"NEW")
	for _, name := range []string{old, fresh} {
		must(t, os.WriteFile(name, []byte("half"), 0o600))
	}
	must(t, os.Chtimes(old, time.Time{}, time.Now().Add(-25*time.Hour)))
	if infos, err := b.List(context.Background(), "v1/"); err != nil || len(infos) != 1 {
		t.Errorf("list: %v, %v", infos, err)
	}
	_, err = putText(b, "v1/a/head", "two", fleet.PutOptions{})
	must(t, err)
	if _, err := os.Lstat(old); err == nil {
		t.Error("the old file is still there")
	}
	if _, err := os.Lstat(fresh); err != nil {
		t.Error("the file of a running writer is gone")
	}
	failing := io.MultiReader(bytes.NewReader([]byte("half")), failingReader{})
	if _, err := b.Put(context.Background(), "v1/a/head", struct {
		io.Reader
		io.Seeker
	}{failing, bytes.NewReader(nil)}, fleet.PutOptions{Size: 8}); err == nil {
		t.Error("half an object was written")
	}
	if text, _ := getText(t, b, "v1/a/head"); text != "two" {
		t.Errorf("got %q", text)
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("no more") }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A directory of others may have any number of files: a listing ends, and with its context.
func TestListingsEnd(t *testing.T) {
	t.Parallel()
	b, path := newBackend(t)
	folder := filepath.Join(path, "v1", "a")
	must(t, os.MkdirAll(folder, 0o700))
	for n := range 5 {
		must(t, os.WriteFile(filepath.Join(folder, fmt.Sprint(n)), nil, 0o600))
	}
	for most, fails := range map[int]bool{4: true, 5: false} {
		if list, err := b.list(t.Context(), "v1", most); errors.Is(err, fleet.ErrProtocol) != fails || !fails && len(list) != 5 {
			t.Errorf("at most %d: %d objects, %v", most, len(list), err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if list, err := b.list(ctx, "v1", 5); !errors.Is(err, context.Canceled) {
		t.Errorf("%d objects, %v", len(list), err)
	}
}

// TestLinksAreNotLeftOut: a reader follows a link within the directory, so who revokes a key has
// to know of the head behind it.
func TestLinksAreNotLeftOut(t *testing.T) {
	t.Parallel()
	for _, link := range []string{"v1/a", "v1/a/head"} {
		b, path := newBackend(t)
		_, err := putText(b, "v1/a/head", "one", fleet.PutOptions{})
		must(t, err)
		at := filepath.Join(path, filepath.FromSlash(link))
		must(t, os.Rename(at, filepath.Join(path, "moved")))
		to, err := filepath.Rel(filepath.Dir(at), filepath.Join(path, "moved"))
		must(t, err)
		must(t, os.Symlink(to, at))
		getText(t, b, "v1/a/head")
		if list, err := b.List(t.Context(), "v1/"); !errors.Is(err, fleet.ErrProtocol) {
			t.Errorf("%s is a link: %d objects, %v", link, len(list), err)
		}
	}
}

// A link in a directory that others can write leads no writer out of it.
func TestNoFolderIsMadeOutside(t *testing.T) {
	t.Parallel()
	b, path := newBackend(t)
	outside := t.TempDir()
	must(t, os.MkdirAll(path, 0o700))
	must(t, os.Symlink(outside, filepath.Join(path, "v1")))
	_, err := b.Put(t.Context(), "v1/a/packs/b", strings.NewReader("x"), fleet.PutOptions{Size: 1})
	if list, readErr := os.ReadDir(outside); err == nil || readErr != nil || len(list) != 0 {
		t.Errorf("%v; outside: %v, %v", err, list, readErr)
	}
}

// TestLockThatIsHeld: a stopped process, or one of another machine, may have it for ever.
func TestLockThatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, path := newBackend(t)
		_, err := putText(b, "v1/a/head", "one", fleet.PutOptions{})
		must(t, err)
		name := filepath.Join(path, "v1", "a", lockName)
		held, err := os.OpenFile(name, os.O_RDWR, 0)
		must(t, err)
		defer held.Close()
		must(t, osfile.TryLock(held, true))
		ctx, end := context.WithTimeout(t.Context(), 30*time.Second) // the patience of a command
		defer end()
		_, err = b.Put(ctx, "v1/a/head", strings.NewReader("two"), fleet.PutOptions{Size: 3})
		if !errors.Is(err, fleet.ErrBusy) || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v", err)
		}
	})
}
