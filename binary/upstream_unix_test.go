//go:build unix

package binary

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary/internal/index"
	"github.com/shadercache/shadercache/shader"
)

// readAll calls everything that reads upstream directories. It returns what Get found.
func readAll(s *Store, key shader.Key, src *shader.Source) *Blob {
	d := s.dir
	b, err := s.Get(key)
	if err != nil {
		b = nil
	}
	s.Has(key)
	_, _ = s.Source(src.Key())
	d.SourceCount()
	for range d.Sources() {
	}
	_, _ = s.Tuning("problem")
	_, _ = s.Missing()
	s.Explain(key)
	s.Explain(src.Key())
	s.StartSet("")
	d.history()
	_, _ = d.Fingerprints()
	_ = s.SourceOnly()
	_ = s.Failure(src)
	_, _ = s.Wrong(key)
	_, _ = s.Note(key)
	up := d.upstream
	if s = s.upstream; s == nil {
		return b
	}
	s.Explain(key)
	_ = s.SourceOnly()
	_ = s.Failure(src)
	_ = s.Checked(testBlob(0))
	_, _ = s.Wrong(key)
	_, _ = s.Note(key)
	s.Quarantined()
	_, _ = s.Recover()
	_ = slices.Collect(s.ByName())
	_, _ = up.Fingerprints()
	_, _ = up.Lifetime()
	up.Starts(time.Time{})
	up.DriverBytes()
	_, _ = up.Verify(false, nil)
	return b
}

// Whatever is in an upstream directory in the place of a file or folder, no reader waits for
// it, and what a Get returns is what was put.
func TestAnythingUpstream(t *testing.T) {
	key, src := testKey(0), shader.MustSource("up", "void main() {}", nil)
	digits, source := key.String(), src.Key().String()
	elsewhere, own, baked := t.TempDir(), openTestDir(t), openTestDir(t)
	below := openTestStore(t, baked, testFingerprint)
	putBlobs(t, below, testBlob(0))
	must(t, baked.PutSource(src))
	must(t, below.PutHistory(start, "app", []Asked{{Key: key}}))
	must(t, below.Record([]Use{{Key: key, Hits: 1}}, Counters{Starts: 1}))
	kinds := map[string]func(path string) error{
		"FIFO":           func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"socket":         func(path string) error { return syscall.Mknod(path, syscall.S_IFSOCK|0o600, 0) },
		"directory":      func(path string) error { return os.Mkdir(path, 0o700) },
		"file":           func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) },
		"hole":           func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40)) },
		"endless device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"link":           func(path string) error { return os.Symlink(elsewhere, path) },
		"link to itself": func(path string) error { return os.Symlink(filepath.Base(path), path) },
	}
	for _, name := range []string{
		"STORE", "STORE/" + blobsName, "STORE/" + blobsName + "/" + digits[:2], "STORE/" + blobsName + "/" + digits[:2] + "/" + digits + blobExt,
		"STORE/" + fingerprintName, "STORE/" + index.Name, "STORE/" + index.SumName, "STORE/" + manifestName, "STORE/" + probeName,
		"STORE/" + refusalsName, "STORE/" + claimsName, "STORE/" + rejectedName, "STORE/" + rejectedName + "/" + digits + blobExt + reasonExt,
		"STORE/" + inFlightName, "STORE/" + inFlightName + "/1-0", "STORE/" + quarantineName, "STORE/" + quarantineName + "/" + digits + notes.ext,
		"STORE/" + failedName, "STORE/" + failedName + "/" + source + failures.ext, "STORE/" + checkedName, "STORE/" + checkedName + "/" + digits,
		"STORE/" + tuningName, "STORE/" + tuningName + "/" + problemKey("problem").String() + ".json", "STORE/" + pendingName, "STORE/" + pendingName + "/" + digits[:32] + pendingExt,
		sourcesName, sourcesName + "/" + source[:2], sourcesName + "/" + source[:2] + "/" + source + sourceExt,
		driverName, driverName + "/mesa", driverName + "/nvidia", driverName + ".lock", driverName + ".filled", driverName + ".drop",
		statsName, starts.name, runs.name, histories.name, compiledName, zeroName, settingsName, lastTrimName,
	} {
		path := filepath.Join(baked.path, strings.Replace(name, "STORE", below.name, 1))
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		away := filepath.Join(elsewhere, "away")
		moved := os.Rename(path, away) == nil
		for kind, put := range kinds {
			must(t, put(path))
			upstream, err := OpenUpstream(baked.path)
			if err == nil {
				done := make(chan *Blob, 1)
				go func() { done <- readAll(openTestStore(t, own.WithUpstream(upstream), testFingerprint), key, src) }()
				select {
				case b := <-done:
					if b != nil && !bytes.Equal(b.Payload, testBlob(0).Payload) {
						t.Errorf("%s in the place of %s: Get returned %q", kind, name, b.Payload)
					}
				case <-time.After(20 * time.Second):
					t.Fatalf("%s in the place of %s: a reader waits", kind, name)
				}
			}
			must(t, os.RemoveAll(path))
		}
		if moved {
			must(t, os.Rename(away, path))
		}
	}
}

// A directory that another user can replace, and a blob that another user can change, are code
// of that user: neither is read.
func TestBlobsOfOtherUsersAreNotLoaded(t *testing.T) {
	for _, upstream := range []bool{true, false} {
		for name, spoil := range map[string]func(t *testing.T, blob string){
			"writable by all": func(t *testing.T, blob string) { must(t, os.Chmod(blob, 0o666)) },
			"of another user": func(t *testing.T, blob string) {
				if os.Chown(blob, otherUser, -1) != nil {
					t.Skip("only root can give a file away")
				}
			},
		} {
			t.Run(name, func(t *testing.T) {
				baked := openTestDir(t)
				below := openTestStore(t, baked, testFingerprint)
				putBlobs(t, below, testBlob(0))
				s := below
				if upstream {
					up, err := OpenUpstream(baked.path)
					must(t, err)
					s = openTestStore(t, openTestDir(t).WithUpstream(up), testFingerprint)
				}
				if _, err := s.Get(testKey(0)); err != nil {
					t.Fatal(err)
				}
				spoil(t, below.blobPath(testKey(0)))
				if b, err := s.Get(testKey(0)); err == nil {
					t.Errorf("upstream %v: %d bytes are loaded", upstream, len(b.Payload))
				}
			})
		}
	}
	parent := filepath.Join(t.TempDir(), "parent")
	baked, err := OpenDir(filepath.Join(parent, "baked"))
	must(t, err)
	must(t, os.Chmod(parent, 0o777))
	if _, err := OpenUpstream(baked.path); !errors.Is(err, ErrUnsafeDir) || !strings.Contains(err.Error(), "can be replaced by all users") {
		t.Errorf("an upstream directory that all can replace: %v", err)
	}
}

// A blob that grows and shrinks while it is read is what was put, or none.
func TestBlobsThatChangeUpstream(t *testing.T) {
	baked := openTestDir(t)
	below := openTestStore(t, baked, testFingerprint)
	putBlobs(t, below, testBlob(0))
	path := below.blobPath(testKey(0))
	whole, err := os.ReadFile(path)
	must(t, err)
	upstream, err := OpenUpstream(baked.path)
	must(t, err)
	s := openTestStore(t, openTestDir(t).WithUpstream(upstream), testFingerprint)
	stop := make(chan bool)
	var running sync.WaitGroup
	running.Go(func() {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return
		}
		defer f.Close()
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = f.Truncate(int64(n * 97 % (2 * len(whole))))
			_, _ = f.WriteAt(whole[:n*31%len(whole)], 0)
			_, _ = f.WriteAt(whole, 0)
		}
	})
	found := 0
	for range 5000 {
		b, err := s.Get(testKey(0))
		if err == nil && !bytes.Equal(b.Payload, testBlob(0).Payload) {
			t.Fatalf("Get returned %q", b.Payload)
		}
		if err == nil {
			found++
		}
	}
	close(stop)
	running.Wait()
	if found == 0 || found == 5000 {
		t.Logf("%d of 5000 were whole", found)
	}
}

// A blob that becomes a FIFO after it was looked at: one without a writer, and one with a
// writer that writes nothing.
func TestABlobThatBecomesAFIFOIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	path, file, fifo, silent, next := filepath.Join(dir, "blob"), filepath.Join(dir, "file"), filepath.Join(dir, "fifo"), filepath.Join(dir, "silent"), filepath.Join(dir, "next")
	must(t, os.WriteFile(path, []byte("a blob"), 0o600))
	must(t, errors.Join(os.Link(path, file), syscall.Mkfifo(fifo, 0o600), syscall.Mkfifo(silent, 0o600)))
	writer, err := os.OpenFile(silent, os.O_RDWR, 0)
	must(t, err)
	defer writer.Close()
	stop, done, read := make(chan bool), make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_, _ = os.Link([]string{fifo, file, silent, file}[i%4], next), os.Rename(next, path) // of two names of one file it would be none
			}
		}
	}()
	go func() {
		defer close(read)
		for range 20000 {
			if data, _, err := readRegular(path, 100); err == nil && string(data) != "a blob" {
				t.Errorf("%q was read", data)
			}
		}
	}()
	select {
	case <-read:
	case <-time.After(30 * time.Second):
		t.Fatal("a reader waits")
	}
	close(stop)
	<-done
}
