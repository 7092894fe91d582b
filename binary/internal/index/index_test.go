package index

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shadercache/shadercache/shader"
	bolt "go.etcd.io/bbolt"
)

func testKey(n int) shader.Key { return shader.MustSource("", fmt.Sprint(n), nil).Key() }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openFile(t *testing.T, dir string, readOnly bool) *File {
	t.Helper()
	x, err := Open(dir, readOnly, Wait)
	must(t, err)
	t.Cleanup(x.Close)
	return x
}

// save replaces the counters and sets the value of each key.
func save(t *testing.T, dir, counters, value string, keys ...shader.Key) {
	t.Helper()
	x := openFile(t, dir, false)
	must(t, x.Save(Changes{
		Lifetime: []byte(counters),
		Changed:  keys,
		Value:    func(shader.Key) ([]byte, error) { return []byte(value), nil },
	}))
	x.Close()
}

// content loads an index and returns its counters and the number of its programs.
func content(t *testing.T, dir string) (counters string, programs int) {
	t.Helper()
	x := openFile(t, dir, true)
	defer x.Close()
	must(t, x.Load(func(value, _ []byte) error { counters = string(value); return nil },
		func(shader.Key, []byte) error { programs++; return nil }))
	return counters, programs
}

func isDamage(err error) bool {
	_, ok := errors.AsType[*DamagedError](err)
	return ok
}

func TestSaveAndLoad(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir, true, Wait); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing index: %v", err)
	}
	x := openFile(t, dir, false)
	if !x.Created {
		t.Error("a new index was not created")
	}
	ignore := func(_, _ []byte) error { return errors.New("called for a new index") }
	must(t, x.Load(ignore, nil))
	must(t, x.Save(Changes{Lifetime: []byte("none")}))
	x.Close()
	keys := []shader.Key{testKey(1), testKey(2), testKey(3)}
	save(t, dir, "first", "a", keys...)
	save(t, dir, "second", "b", keys[:2]...)
	x = openFile(t, dir, false)
	if x.Created {
		t.Error("an index that exists was created")
	}
	must(t, x.Save(Changes{Lifetime: []byte("third"), Gone: keys[:1]}))
	x.Close()
	x = openFile(t, dir, true)
	got := map[shader.Key]string{}
	must(t, x.Load(func(_, _ []byte) error { return nil }, func(key shader.Key, value []byte) error {
		got[key] = string(value)
		return nil
	}))
	if len(got) != 2 || got[keys[1]] != "b" || got[keys[2]] != "a" {
		t.Errorf("programs %v", got)
	}
	x.Close()
	x.Close()
	if counters, _ := content(t, dir); counters != "third" {
		t.Errorf("counters %q", counters)
	}
}

// An index of which little is left, as after a prune, does not keep its size.
func TestSaveGivesSpaceBack(t *testing.T) {
	dir := t.TempDir()
	keys := make([]shader.Key, 5001)
	for i := range keys {
		keys[i] = testKey(i)
	}
	slices.SortFunc(keys, func(a, b shader.Key) int { return bytes.Compare(a[:], b[:]) })
	save(t, dir, "full", strings.Repeat("v", 200), keys...)
	full := fileSize(t, dir)
	x := openFile(t, dir, false)
	must(t, x.Save(Changes{Lifetime: []byte("pruned"), Gone: keys[10:]}))
	x.Close()
	if pruned := fileSize(t, dir); pruned > full/10 {
		t.Errorf("%d bytes with 5,001 programs, %d with 10", full, pruned)
	}
	if counters, programs := content(t, dir); counters != "pruned" || programs != 10 {
		t.Errorf("%d programs, counters %q", programs, counters)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("files were left: %v, %v", files, err)
	}
	save(t, dir, "again", "v", keys[:20]...)
	if counters, programs := content(t, dir); counters != "again" || programs != 20 {
		t.Errorf("%d programs, counters %q", programs, counters)
	}
}

// fileSize returns the bytes of the index in dir.
func fileSize(t *testing.T, dir string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, Name))
	must(t, err)
	return info.Size()
}

// An index that another process holds is busy, for readers too.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		save(t, dir, "counters", "")
		held := openFile(t, dir, false)
		at := time.Now()
		if _, err := Open(dir, false, Wait); !errors.Is(err, ErrBusy) {
			t.Errorf("got %v, want ErrBusy", err)
		}
		if waited := time.Since(at); waited < Wait || waited > Wait+2*openPoll {
			t.Errorf("Open waited %v, want %v", waited, Wait)
		}
		if c := OpenCopy(dir); c != nil {
			t.Error("a busy index was copied")
		}
		time.AfterFunc(Wait/2, held.Close)
		if counters, _ := content(t, dir); counters != "counters" {
			t.Errorf("after the wait: %q", counters)
		}
		synctest.Wait()
	})
}

func TestValuesThatDoNotDecodeAreDamage(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, "counters", "value", testKey(1))
	ok, bad := func(_, _ []byte) error { return nil }, errors.New("not JSON")
	for _, load := range []func(x *File) error{
		func(x *File) error { return x.Load(func(_, _ []byte) error { return bad }, nil) },
		func(x *File) error { return x.Load(ok, func(shader.Key, []byte) error { return bad }) },
	} {
		if err := load(openFile(t, dir, true)); !isDamage(err) || !strings.Contains(err.Error(), "not JSON") {
			t.Errorf("got %v, want damage", err)
		}
	}
	x := openFile(t, dir, false)
	if err := x.Save(Changes{Changed: []shader.Key{testKey(2)}, Value: func(shader.Key) ([]byte, error) { return nil, bad }}); err == nil {
		t.Error("a value that cannot be encoded was saved")
	}
	if counters, programs := content(t, dir); counters != "counters" || programs != 1 {
		t.Errorf("after a Save that failed: %q and %d programs", counters, programs)
	}
}

// A process that is killed before it renames the changed copy leaves the file as it was, and
// index.sum with the sums of both.
func TestKilledBeforeTheRename(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, "before", "")
	before, err := os.ReadFile(filepath.Join(dir, Name))
	must(t, err)
	save(t, dir, "after", "")
	must(t, os.WriteFile(filepath.Join(dir, Name), before, 0o600))
	if counters, _ := content(t, dir); counters != "before" {
		t.Errorf("counters %q", counters)
	}
	save(t, dir, "again", "")
	if counters, _ := content(t, dir); counters != "again" {
		t.Errorf("counters %q", counters)
	}
}

// More sums than a change writes are no index.sum, whatever they are.
func TestTooManySums(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, "", "")
	path := filepath.Join(dir, SumName)
	sum, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, bytes.Repeat(sum, maxSums+1), 0o600))
	if _, err := Open(dir, true, Wait); !isDamage(err) {
		t.Errorf("got %v, want damage", err)
	}
}

// What was opened before another process replaced it is not changed: the change would be lost.
func TestFileThatIsReplacedWhileItIsOpened(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, "", "")
	x := &File{path: filepath.Join(dir, Name), sumPath: filepath.Join(dir, SumName)}
	must(t, x.open(false, os.OpenFile))
	same, err := os.ReadFile(x.path)
	must(t, err)
	must(t, errors.Join(os.WriteFile(x.path+".new", same, 0o600), os.Rename(x.path+".new", x.path)))
	err = x.verify()
	if !errors.Is(err, errReplaced) || x.abandon(err) != ErrBusy {
		t.Errorf("got %v", err)
	}
}

// A panic inside bbolt must leave neither a lock nor a file behind.
func TestGuardTurnsPanicsIntoDamage(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, "1", "")
	x := openFile(t, dir, false)
	err := x.abandon(x.guard(func() error {
		return x.db.Update(func(*bolt.Tx) error { panic("page 7 already freed") })
	}))
	if !isDamage(err) || !strings.Contains(err.Error(), "page 7") {
		t.Errorf("got %v, want damage", err)
	}
	save(t, dir, "2", "")

	x = openFile(t, dir, true)
	must(t, os.Truncate(x.path, 0))
	if err := x.Load(nil, nil); !isDamage(err) {
		t.Errorf("cut while mapped: got %v, want damage", err)
	}
	save(t, dir, "3", "")
	if counters, _ := content(t, dir); counters != "3" {
		t.Errorf("counters %q", counters)
	}
}

func TestCopyFinds(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, "", "value", testKey(1))
	known := OpenCopy(dir)
	defer known.Close()
	find := func(n int) (values []string) {
		known.Find(testKey(n), func(value []byte) { values = append(values, string(value)) })
		return values
	}
	save(t, dir, "", "later", testKey(1)) // the copy keeps no writer
	if got := find(1); !slices.Equal(got, []string{"value"}) {
		t.Errorf("got %q", got)
	}
	if got := find(2); got != nil {
		t.Errorf("got %q of a program that is not there", got)
	}
}

func TestCopyOfNothing(t *testing.T) {
	dir := t.TempDir()
	for _, data := range []string{"", "not an index"} {
		if data != "" {
			must(t, os.WriteFile(filepath.Join(dir, Name), []byte(data), 0o600))
		}
		known := OpenCopy(dir)
		known.Find(testKey(1), func([]byte) { t.Error("found a program") })
		known.Close()
	}
}
