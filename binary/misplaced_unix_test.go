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
	"github.com/shadercache/shadercache/drivercache"
)

// Whatever is in the place of a file or directory of the cache blocks no reader, is named
// by verify, and a repair makes the place usable.
func TestVerifyMisplaced(t *testing.T) {
	key := testKey(0).String()
	source := testKey(1).String()
	const store = "STORE/"
	for _, name := range []string{
		store + index.Name, store + index.SumName, store + manifestName, store + probeName,
		store + checkedName + "/" + key, store + failedName + "/" + key + failures.ext, store + quarantineName + "/" + key + notes.ext,
		statsName, lastTrimName, "driver.lock", ".import.lock",
	} {
		for kind, put := range map[string]func(path string) error{
			"FIFO":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
			"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		} {
			testMisplaced(t, name+" "+kind, name, put)
		}
	}
	for _, name := range []string{
		store + blobsName + "/" + key[:2], store + rejectedName, store + inFlightName, store + quarantineName,
		store + failedName, store + checkedName, store + tuningName, "sources/" + source[:2], "driver/nvidia", "driver/mesa", importName, importName + "/" + importReady,
	} {
		testMisplaced(t, name+" file", name, func(path string) error { return os.WriteFile(path, nil, 0o600) })
	}
}

func testMisplaced(t *testing.T, test, name string, put func(path string) error) {
	t.Run(test, func(t *testing.T) {
		d := openTestDir(t)
		s := openTestStore(t, d, testFingerprint)
		putBlobs(t, s, testBlob(0))
		must(t, s.Record(nil, Counters{DiskHits: 1}))
		path := filepath.Join(d.path, strings.Replace(name, "STORE", s.name, 1))
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.RemoveAll(path))
		must(t, put(path))
		_ = d.DriverBytes()
		if lock, err := drivercache.Share(d.DriverDir()); err == nil {
			must(t, lock.Release())
		} else if name != "driver.lock" {
			t.Error(err)
		}
		_, err := d.Lifetime()
		must(t, err)
		_ = slices.Collect(s.ByName())
		r, err := d.Verify(false, nil)
		if err != nil || r.Damaged == 0 || !names(r.Problems, path) {
			t.Errorf("before the repair: %+v, %v", r, err)
		}
		if r, err := d.Verify(true, nil); err != nil || r.Fixed != r.Damaged || r.Fixed == 0 {
			t.Errorf("repair: %+v, %v", r, err)
		}
		if r, err := d.Verify(false, nil); err != nil || !r.OK() || r.Unknown != 0 {
			t.Errorf("after the repair: %+v, %v", r, err)
		}
		// Now everything can be written.
		s = openTestStore(t, d, testFingerprint)
		putBlobs(t, s, testBlob(0))
		must(t, s.PutChecked(testBlob(0)))
		must(t, s.Record(nil, Counters{DiskHits: 1}))
		must(t, s.Record(nil, Counters{DiskHits: 1}))
		if got := lifetime(t, d).DiskHits; got < 2 {
			t.Errorf("%d disk hits were recorded", got)
		}
		_, _, err = d.Trim(PruneOptions{})
		must(t, err)
		lock, err := drivercache.Share(d.DriverDir())
		must(t, err)
		must(t, lock.Release())
		must(t, os.RemoveAll(filepath.Join(d.path, importName+".lock")))
	})
}

func names(problems []Problem, path string) bool {
	for _, p := range problems {
		if p.Path == path {
			return true
		}
	}
	return false
}

// A FIFO in the place of a folder below remote/ is not opened, which would wait for its writer.
func TestPruneWithAFIFOBelowRemote(t *testing.T) {
	d := openTestDir(t)
	remote := filepath.Join(d.path, "remote", "0a1b2c3d")
	must(t, os.MkdirAll(remote, 0o700))
	digits := strings.Repeat("4e5f", 16)
	must(t, errors.Join(syscall.Mkfifo(filepath.Join(remote, digits), 0o600), syscall.Mkfifo(filepath.Join(filepath.Dir(remote), "0a1b2c3e"), 0o600)))
	part := filepath.Join(remote, digits[1:]+"4", digits+".part")
	writeTestFile(t, part, nil, start.Add(-8*24*time.Hour))
	report, err := d.Prune(PruneOptions{})
	if report.Leftovers != 1 || err != nil {
		t.Errorf("%+v, %v", report, err)
	}
	if r, err := d.Verify(true, nil); err != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// What is in the place of driver/ or sources/ keeps OpenDir from working; a repair moves a
// file and loses no byte of it.
func TestRepairPlace(t *testing.T) {
	d := openTestDir(t)
	file, fifo := filepath.Join(d.path, sourcesName), d.DriverDir()
	writeTestFile(t, file, []byte("mine"), start)
	must(t, syscall.Mkfifo(fifo, 0o600))
	name := filepath.Join(d.path, testFingerprint.DirName())
	writeTestFile(t, name, []byte("mine"), start)
	if _, err := OpenDir(d.path); !errors.Is(err, ErrUnsafeDir) {
		t.Errorf("got %v", err)
	}
	fixed, err := Place{Dir: d.path}.Repair()
	if err != nil || len(fixed) != 2 || fixed[0].Path != fifo || fixed[1].Path != file {
		t.Errorf("fixed %v, %v", fixed, err)
	}
	if data, err := os.ReadFile(file + ".rejected"); err != nil || string(data) != "mine" {
		t.Errorf("%q, %v", data, err)
	}
	if fixed, err := (Place{Dir: d.path}).Repair(); err != nil || len(fixed) != 0 {
		t.Errorf("again: %v, %v", fixed, err)
	}
	d, err = OpenDir(d.path)
	must(t, err)
	r, err := d.Verify(true, nil)
	if err != nil || r.Unknown != 1 || !names(r.Problems, name) || r.Damaged != 0 {
		t.Errorf("verify: %+v, %v", r, err)
	}
	if data, err := os.ReadFile(name); err != nil || string(data) != "mine" {
		t.Errorf("%q, %v", data, err)
	}
	must(t, os.Chmod(d.path, 0o777))
	if _, err := (Place{Dir: d.path}).Repair(); !errors.Is(err, ErrUnsafeDir) {
		t.Errorf("a directory that others can write to: %v", err)
	}
	if fixed, err := (Place{Dir: filepath.Join(d.path, "missing")}).Repair(); err != nil || fixed != nil {
		t.Errorf("a missing directory: %v, %v", fixed, err)
	}
}

// Appending to a FIFO would wait for a reader.
func TestRunsInAFIFO(t *testing.T) {
	d := openTestDir(t)
	path := runs.path(d)
	must(t, syscall.Mkfifo(path, 0o600))
	time.AfterFunc(10*time.Second, func() { // ends a wait
		if f, err := os.OpenFile(path, os.O_RDWR, 0); err == nil {
			_ = f.Close()
		}
	})
	if err := d.AppendRun(Run{Time: start}); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

// Record needs no repair: it makes the index and its sum again.
func TestRecordReplacesMisplacedSum(t *testing.T) {
	for _, put := range []func(path string) error{
		func(path string) error { return syscall.Mkfifo(path, 0o600) },
		func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		s := openTestStore(t, openTestDir(t), testFingerprint)
		putBlobs(t, s, testBlob(0))
		merge(t, s, []Use{{Key: testKey(0), Hits: 1}}, Counters{DiskHits: 1})
		path := filepath.Join(s.path, index.SumName)
		must(t, os.Remove(path))
		must(t, put(path))
		for range 2 {
			merge(t, s, []Use{{Key: testKey(0), Hits: 1}}, Counters{DiskHits: 1})
		}
		if list := slices.Collect(s.ByName()); len(list) != 1 || list[0].Hits != 2 || lifetime(t, s.dir).DiskHits != 3 {
			t.Errorf("%+v, %+v", list, lifetime(t, s.dir))
		}
	}
}

// What a killed import left is seen and removed, unless an import is under way. One that
// only has to be put into place stays.
func TestKilledImportIsSwept(t *testing.T) {
	d := openTestDir(t)
	dir := filepath.Join(d.path, importName)
	unpacked := filepath.Join(dir, importNew, "driver", "mesa", "file")
	writeTestFile(t, unpacked, make([]byte, 1000), time.Now())
	lock, err := drivercache.TryExclusive(dir)
	must(t, err)
	if r, err := d.Prune(PruneOptions{}); err != nil || r.Leftovers != 0 {
		t.Errorf("during the import: %+v, %v", r, err)
	}
	must(t, lock.Release())
	if r, err := d.Verify(false, nil); err != nil || r.Leftovers != 1 {
		t.Errorf("verify: %+v, %v", r, err)
	}
	var named []string
	if r, err := d.Prune(PruneOptions{DryRun: true, Deleted: func(path string) { named = append(named, path) }}); err != nil || r.Leftovers != 1 || len(named) != 1 || named[0] != unpacked {
		t.Errorf("dry run: %+v, %v, %q", r, err, named)
	}
	if r, err := d.Prune(PruneOptions{}); err != nil || r.Leftovers != 1 {
		t.Errorf("prune: %+v, %v", r, err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("the directory is still there")
	}
	ready := filepath.Join(dir, importReady, manifestName)
	writeTestFile(t, ready, []byte("{}"), time.Now())
	if r, err := d.Verify(true, nil); err != nil || r.Leftovers != 1 {
		t.Errorf("a complete import: %+v, %v", r, err)
	}
	if _, err := os.Lstat(ready); err != nil {
		t.Error("a complete import is gone")
	}
	if r, err := d.Clear(PruneOptions{}); err != nil || r.Leftovers != 1 {
		t.Errorf("clear: %+v, %v", r, err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("clear leaves a complete import")
	}
	must(t, os.RemoveAll(dir+".lock"))
}
