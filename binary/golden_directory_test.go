package binary

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary/internal/index"
	"github.com/shadercache/shadercache/shader"
)

// testdata/directories has a small cache directory for each set of schemas that a version
// of this package wrote, numbered from 1, with the set in the file schemas. Newer code
// reads such a directory or ignores what it cannot read.
const (
	goldenDirs    = "testdata/directories"
	goldenSchemas = "schemas"
	goldenCache   = "cache"
)

// currentSchemas names everything that decides how a directory is written.
func currentSchemas(t *testing.T) string {
	t.Helper()
	source := shader.MustSource("golden", "void main() {}", shader.Defines{"A": "1"})
	return fmt.Sprintf("blob %d\nfingerprint %d\nindex %s\nmanifest %d\nprobe %d\nsettings %d\ntuning %d\nkey of a source %s\ndigest of a driver %s\n",
		blobVersion, fingerprintSchema, index.Schema, manifestSchema, probeSchema, settingsSchema, tuningSchema, source.Key(), testFingerprint.Digest())
}

func goldenSource() *shader.Source {
	return shader.MustSource("golden", "// golden\nvoid main() {}", nil)
}
func goldenFailed() *shader.Source {
	return shader.MustSource("failed", "// failed\nvoid main() {}", nil)
}

func goldenQuarantined() Quarantined {
	return Quarantined{Key: testKey(7), Name: "crasher", Action: ActionCompile, Signal: "SIGSEGV", Reason: "the driver crashed", Time: start}
}

// fillGolden writes one of everything.
func fillGolden(t *testing.T, d *Dir) {
	t.Helper()
	s := openTestStore(t, d, testFingerprint)
	putBlobs(t, s, testBlob(1), testBlob(2))
	must(t, s.PutChecked(testBlob(1)))
	must(t, s.PutSource(goldenSource()))
	must(t, s.PutFailure(goldenFailed(), "0:1: error"))
	must(t, s.PutTuning(Tuning{Problem: "golden", Choice: []byte(`{"tile":8}`), Nanos: 5, Created: start}))
	must(t, s.PutProbe([]byte(`{"groups":4}`)))
	must(t, s.writeJSON(notes.path(s.path, testKey(7)), goldenQuarantined()))
	must(t, s.Reject(testKey(2), "golden"))
	must(t, s.Record([]Use{{Key: testKey(1), Name: "used", Hits: 3, LastUse: start.AddDate(30, 0, 0)}}, Counters{Starts: 1, DiskHits: 3}))
	must(t, s.putPending(pendingRecord{Uses: []Use{{Key: testKey(1), Hits: 4}}, Counters: Counters{DiskHits: 4}}))
	must(t, d.PutSettings(Settings{MaxBytes: 1 << 30, MaxFiles: 1000}))
	must(t, s.Close())
}

func checkGoldenContent(t *testing.T, d *Dir) {
	t.Helper()
	s := openTestStore(t, d, testFingerprint)
	if b, err := s.Get(testKey(1)); err != nil || string(b.Payload) != string(testBlob(1).Payload) || !s.Checked(b) {
		t.Errorf("blob: %v", err)
	}
	if src, err := s.Source(goldenSource().Key()); err != nil || src.Text() != goldenSource().Text() {
		t.Errorf("source: %v", err)
	}
	if s.Failure(goldenFailed()) == nil {
		t.Error("the compile error is lost")
	}
	if tuning, err := s.Tuning("golden"); err != nil || tuning.Nanos != 5 {
		t.Errorf("tuning: %+v, %v", tuning, err)
	}
	if p, err := s.Probe(); err != nil || !strings.Contains(string(p), `"groups"`) {
		t.Errorf("probe: %s, %v", p, err)
	}
	if q := s.Quarantined(); len(q) != 1 || q[0] != goldenQuarantined() {
		t.Errorf("quarantine: %+v", q)
	}
	if e := list(t, s)[testKey(1)]; e.Hits != 7 || e.Name != "used" {
		t.Errorf("index: %+v", e)
	}
	if c, err := d.Lifetime(); err != nil || c.DiskHits != 7 {
		t.Errorf("lifetime: %+v, %v", c, err)
	}
	if settings, err := d.Settings(); err != nil || settings != (Settings{MaxBytes: 1 << 30, MaxFiles: 1000}) {
		t.Errorf("settings: %+v, %v", settings, err)
	}
}

func readGoldenSchemas(t *testing.T, number int) (schemas string, found bool) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(goldenDirs, strconv.Itoa(number), goldenSchemas))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data), err == nil
}

// openGolden opens a copy of a golden directory.
func openGolden(t *testing.T, number int) *Dir {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cache")
	must(t, os.CopyFS(path, os.DirFS(filepath.Join(goldenDirs, strconv.Itoa(number), goldenCache))))
	must(t, filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.Chmod(name, 0o700)
		}
		return os.Chmod(name, 0o600)
	}))
	d, err := OpenDir(path)
	must(t, err)
	d.now = openTestDir(t).now
	return d
}

// TestGoldenDirectories opens the directories of all schemas so far.
func TestGoldenDirectories(t *testing.T) {
	number, newest := 1, ""
	for ; ; number++ {
		schemas, found := readGoldenSchemas(t, number)
		if !found {
			break
		}
		newest = schemas
		t.Run(strconv.Itoa(number), func(t *testing.T) {
			d := openGolden(t, number)
			if schemas == currentSchemas(t) {
				checkGoldenContent(t, d)
			}
			checkIsUsable(t, d)
		})
	}
	if newest == currentSchemas(t) {
		return
	}
	if !*update {
		t.Fatalf("how directories are written has changed: go test ./binary -run %s -update keeps one of this version\ngot\n%s\nwant\n%s", t.Name(), newest, currentSchemas(t))
	}
	d := openTestDir(t)
	fillGolden(t, d)
	checkGoldenContent(t, d)
	must(t, os.CopyFS(filepath.Join(goldenDirs, strconv.Itoa(number), goldenCache), os.DirFS(d.path)))
	must(t, os.WriteFile(filepath.Join(goldenDirs, strconv.Itoa(number), goldenSchemas), []byte(currentSchemas(t)), 0o644))
}

// checkIsUsable stores and reads a program, whatever else is there.
func checkIsUsable(t *testing.T, d *Dir) {
	t.Helper()
	if r, err := d.Verify(false, nil); err != nil || r.Damaged != 0 {
		t.Errorf("verify: %+v, %v", r, err)
	}
	s := openTestStore(t, d, testFingerprint)
	if _, err := s.Recover(); err != nil {
		t.Error(err)
	}
	before, err := d.Lifetime()
	must(t, err)
	putBlobs(t, s, testBlob(20))
	must(t, s.Record([]Use{{Key: testKey(20), Hits: 1}}, Counters{DiskHits: 1}))
	if _, err := s.Get(testKey(20)); err != nil {
		t.Error(err)
	}
	if e := list(t, s)[testKey(20)]; e.Hits != 1 {
		t.Errorf("index: %+v", e)
	}
	if after, err := d.Lifetime(); err != nil || after.DiskHits != before.DiskHits+1 {
		t.Errorf("lifetime: %+v, %v", after, err)
	}
	must(t, s.Close())
}
