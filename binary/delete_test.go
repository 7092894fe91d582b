package binary

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// fillForDeletion returns a directory with programs 1 and 2 of two drivers, machine code
// that one or both use, notes and a source, and files of others.
func fillForDeletion(t *testing.T) (d *Dir, src *shader.Source, foreign []string) {
	t.Helper()
	d = openTestDir(t)
	src = shader.MustSource("kept", "void main() {}", nil)
	must(t, d.PutSource(src))
	own, both := "mesa/aa/0001", "mesa/bb/0002"
	for _, entry := range []string{own, both} {
		writeTestFile(t, filepath.Join(d.DriverDir(), entry), []byte("code"), start)
	}
	other := testFingerprint
	other.Version = "another"
	for _, f := range []Fingerprint{testFingerprint, other} {
		s := openTestStore(t, d, f)
		for n := range 2 {
			b := testBlob(n + 1)
			b.Fingerprint = f.Digest()
			must(t, s.Put(b))
		}
		must(t, s.PutFailure(src, "no"))
		must(t, s.Record([]Use{{Key: testKey(1), Name: "one"}, {Key: testKey(2), Name: "two"}}, Counters{Starts: 1}))
	}
	must(t, d.PutSettings(Settings{MaxBytes: 5 << 30}))
	foreign = []string{filepath.Join(d.Path(), "thesis.txt"), filepath.Join(openTestStore(t, d, other).Path(), "blobs", "notes")}
	for _, path := range foreign {
		writeTestFile(t, path, []byte("mine"), start)
	}
	return d, src, foreign
}

func TestDeletePrograms(t *testing.T) {
	d, src, foreign := fillForDeletion(t)
	before := filesBelow(d.Path())
	keys := []shader.Key{testKey(1), src.Key()}
	var listed []string
	dry, err := d.DeletePrograms(keys, PruneOptions{DryRun: true, Deleted: func(path string) { listed = append(listed, path) }})
	must(t, err)
	if after := filesBelow(d.Path()); !slices.Equal(before, after) {
		t.Fatalf("a dry run changed %v to %v", before, after)
	}
	report, err := d.DeletePrograms(keys, PruneOptions{})
	must(t, err)
	if report != dry || report.Programs != 2 || report.Leftovers != 3 || len(listed) != 5 {
		t.Errorf("%+v after a dry run of %+v, %q", report, dry, listed)
	}
	for _, path := range listed {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
	if got := list(t, openTestStore(t, d, testFingerprint)); len(got) != 1 || got[testKey(2)].Name != "two" {
		t.Errorf("left are %+v", got)
	}
	if again, err := d.DeletePrograms(keys, PruneOptions{}); err != nil || again != (PruneReport{}) {
		t.Errorf("%+v, %v", again, err)
	}
	wantFiles(t, foreign)
}

func TestClear(t *testing.T) {
	d, _, foreign := fillForDeletion(t)
	writeTestFile(t, filepath.Join(d.Path(), "remote", "0a1b2c3d", strings.Repeat("4e5f", 16), strings.Repeat("6789", 16)+".part"), nil, start.Add(time.Hour))
	writeTestFile(t, d.DriverDir()+".filled", []byte("line\n"), start) // else nothing fills the driver's folder again
	dry, err := d.Clear(PruneOptions{DryRun: true})
	must(t, err)
	report, err := d.Clear(PruneOptions{})
	must(t, err)
	dry.Fingerprints = report.Fingerprints // what is in a directory is counted when it is gone
	if report != dry || report.Programs != 4 || report.DriverFiles != 2 {
		t.Errorf("%+v, a dry run %+v", report, dry)
	}
	left := filesBelow(d.Path())
	want := []string{"CACHEDIR.TAG", "README.md", settingsName, "thesis.txt"}
	if len(left) != len(want)+1 {
		t.Errorf("left are %q", left)
	}
	wantFiles(t, foreign)
	if s, err := d.Settings(); err != nil || s.MaxBytes != 5<<30 {
		t.Errorf("%+v, %v", s, err)
	}
	if c := lifetime(t, d); c != (Counters{}) || len(d.Starts(time.Time{})) > 0 {
		t.Errorf("%+v", c)
	}
}

func wantFiles(t *testing.T, paths []string) {
	t.Helper()
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// Stored limits apply where the caller sets none.
func TestSettings(t *testing.T) {
	d := openTestDir(t)
	want := Settings{MaxBytes: 1, MaxFiles: 7, MaxAge: 720 * time.Hour}
	must(t, d.PutSettings(want))
	if got, err := d.Settings(); got != want || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	s := openTestStore(t, d, testFingerprint)
	putBlobs(t, s, testBlob(1))
	if _, trimmed, err := d.Trim(PruneOptions{MaxBytes: -1, MaxFiles: -1, MaxAge: -1}); trimmed || err != nil {
		t.Errorf("a trim without a limit: %v, %v", trimmed, err)
	}
	report, trimmed, err := s.Trim(PruneOptions{Now: time.Now()})
	if report.Programs != 1 || !trimmed || err != nil {
		t.Errorf("%+v, %v, %v", report, trimmed, err)
	}
	for _, text := range []string{"", "[]", `{"schema":2,"max_bytes":1}`, `{"schema":1,"max_bytes":-1}`, `{"schema":1,"max_files":-1}`, `{"schema":1,"max_age":"old"}`} {
		must(t, os.WriteFile(d.SettingsPath(), []byte(text), 0o600))
		if got, err := d.Settings(); err == nil || got != (Settings{}) {
			t.Errorf("%q: %+v", text, got)
		}
		if report, _, err := d.Trim(PruneOptions{}); report != (PruneReport{}) || err != nil {
			t.Errorf("%q: %+v, %v", text, report, err)
		}
	}
	must(t, d.PutSettings(Settings{}))
	must(t, d.PutSettings(Settings{}))
	if got, err := d.Settings(); got != (Settings{}) || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}
