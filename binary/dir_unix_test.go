//go:build unix

package binary

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary/internal/index"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

func TestOpenDirRefusesDirectoriesThatOthersCanWrite(t *testing.T) {
	for _, mode := range []os.FileMode{0o770, 0o707, 0o720, 0o702, 0o777} {
		path := filepath.Join(t.TempDir(), "dir")
		must(t, os.Mkdir(path, 0o700))
		must(t, os.Chmod(path, mode))
		_, err := OpenDir(path)
		if !errors.Is(err, ErrUnsafeDir) || !strings.Contains(err.Error(), "can be written by others") {
			t.Errorf("mode %o: got %v, want ErrUnsafeDir", mode, err)
		}
		if files := filesBelow(path); len(files) != 0 {
			t.Errorf("mode %o: wrote %q into a directory that was refused", mode, files)
		}
	}
	for _, mode := range []os.FileMode{0o700, 0o750, 0o755} {
		path := filepath.Join(t.TempDir(), "dir")
		must(t, os.Mkdir(path, 0o700))
		must(t, os.Chmod(path, mode))
		if _, err := OpenDir(path); err != nil {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

func TestOpenDirRefusesOtherOwners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dir")
	must(t, os.Mkdir(path, 0o700))
	if os.Chown(path, 12345, -1) != nil { // also as root of a user namespace without that user
		path = "/" // belongs to root, or to a user outside the namespace
	}
	info, err := os.Stat(path)
	must(t, err)
	if info.Sys().(*syscall.Stat_t).Uid == uint32(os.Geteuid()) {
		t.Skip("in a user namespace without users, all files seem to belong to this one")
	}
	_, err = OpenDir(path)
	if !errors.Is(err, ErrUnsafeDir) || !strings.Contains(err.Error(), "belongs to user") {
		t.Errorf("got %v, want ErrUnsafeDir", err)
	}
}

func TestStoreRefusesAnUnsafeDirectory(t *testing.T) {
	d := openTestDir(t)
	path := filepath.Join(d.path, testFingerprint.DirName())
	must(t, os.WriteFile(path, nil, 0o600))
	if _, err := d.Store(testFingerprint); !errors.Is(err, ErrUnsafeDir) {
		t.Errorf("a file in its place: got %v, want ErrUnsafeDir", err)
	}
	must(t, os.Remove(path))
	must(t, os.Symlink(t.TempDir(), path))
	if _, err := d.Store(testFingerprint); !errors.Is(err, ErrUnsafeDir) {
		t.Errorf("a link in its place: got %v, want ErrUnsafeDir", err)
	}
}

// A directory without write permission. Root can write to it, so as root the test puts
// files and directories where the store needs the other.
func TestReadOnlyStore(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	putBlobs(t, s, testBlob(1))
	blocked := filepath.Dir(s.blobPath(testKey(2)))
	if os.Geteuid() == 0 {
		must(t, os.WriteFile(blocked, nil, 0o600))
		must(t, os.WriteFile(filepath.Join(s.path, manifestName), nil, 0o600))
		must(t, os.Remove(filepath.Join(s.path, manifestName)))
		must(t, os.Mkdir(filepath.Join(s.path, manifestName), 0o700))
		must(t, os.Mkdir(filepath.Join(s.path, manifestName, "full"), 0o700))
	} else {
		for _, dir := range []string{s.path, filepath.Join(s.path, blobsName)} {
			must(t, os.Chmod(dir, 0o500))
			t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
		}
	}
	err := s.Put(testBlob(2))
	if err == nil || !strings.Contains(err.Error(), "put "+testKey(2).Short()) || !strings.Contains(err.Error(), s.path) {
		t.Errorf("Put: got %v, want an error that names program and path", err)
	}
	if _, err := s.Get(testKey(1)); err != nil {
		t.Errorf("Get: %v", err)
	}
	if _, err := s.Get(testKey(2)); err == nil {
		t.Error("Get of what could not be put: no error")
	}
	for range 2 {
		if err := s.Record([]Use{{Key: testKey(1), Hits: 1}}, Counters{DiskHits: 1}); err == nil || errors.Is(err, index.ErrBusy) {
			t.Errorf("Record: got %v, want an error", err)
		}
	}
	if c, err := d.Lifetime(); c != (Counters{}) || err != nil {
		t.Errorf("a Record that failed was counted: %+v, %v", c, err)
	}
	if list := slices.Collect(s.ByName()); len(list) != 1 {
		t.Errorf("List: %d entries", len(list))
	}
}

// A link in the place of a directory of the cache is refused, and nothing behind it is
// listed, written or deleted.
func TestLinksInsideAreNotFollowed(t *testing.T) {
	links := append([]string{}, storeDirs...)
	for _, name := range append(links, "blobs/"+testKey(1).String()[:2], "../sources", "../driver", "../remote") {
		t.Run(name, func(t *testing.T) {
			outside := t.TempDir()
			outsiders := []string{filepath.Join(outside, ".profile"), filepath.Join(outside, "ab", ".old"), filepath.Join(outside, "old")}
			for _, path := range outsiders {
				writeTestFile(t, path, []byte("outside"), start.Add(-100*24*time.Hour))
			}
			before := filesBelow(outside)
			d := openTestDir(t)
			s := openTestStore(t, d, testFingerprint)
			putBlobs(t, s, testBlob(2))
			must(t, d.PutSource(shader.MustSource("", "// kept", nil)))
			path := filepath.Join(s.path, name)
			must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			must(t, os.RemoveAll(path))
			must(t, os.Symlink(outside, path))

			shard := strings.HasPrefix(name, "blobs/")
			_, dirErr := OpenDir(d.path)
			_, storeErr := d.Store(testFingerprint)
			if refused := errors.Is(dirErr, ErrUnsafeDir) || errors.Is(storeErr, ErrUnsafeDir); refused == shard {
				t.Errorf("opened: %v, %v", dirErr, storeErr)
			}
			if _, err := OpenUpstream(d.path); errors.Is(err, ErrUnsafeDir) != errors.Is(dirErr, ErrUnsafeDir) {
				t.Errorf("opened to read: %v, to write: %v", err, dirErr)
			}
			// Stores that were opened before the link was made.
			if err := s.Put(testBlob(1)); (shard || name == blobsName) && !errors.Is(err, ErrUnsafeDir) {
				t.Errorf("Put: %v", err)
			}
			s.Mark(ActionLoad, testKey(2), "behind a link")
			s.Unmark(ActionLoad, testKey(2))
			_ = s.Reject(testKey(2), "for a test")
			_ = d.PutSource(shader.MustSource("", "// kept as well", nil))
			if _, err := d.Prune(PruneOptions{MaxAge: time.Hour, MaxBytes: 1}); err != nil {
				t.Errorf("Prune: %v", err)
			}
			r, err := d.Verify(true, nil)
			if err != nil || !strings.HasPrefix(name, "..") && r.Damaged != 1 {
				t.Errorf("Verify: %+v, %v", r, err)
			}
			if after := filesBelow(outside); !slices.Equal(after, before) {
				t.Errorf("outside there are %q, before %q", after, before)
			}
			if !strings.HasPrefix(name, "..") && osfile.IsLink(path) {
				t.Error("the link was not removed")
			}
		})
	}
}
