package binary

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// snapshotOf returns the times of the files below a directory.
func snapshotOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range filesBelow(dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		must(t, err)
		files[name] = info.ModTime().String()
	}
	return files
}

func TestUpstream(t *testing.T) {
	baked, private := openTestDir(t), openTestDir(t)
	putBlobs(t, openTestStore(t, baked, testFingerprint), testBlob(0), testBlob(1))
	must(t, baked.PutSource(shader.MustSource("up", "void main() {}", nil)))
	must(t, os.Mkdir(filepath.Join(baked.path, testFingerprint.DirName(), inFlightName), 0o700))
	before := snapshotOf(t, baked.path)
	upstream, err := OpenUpstream(baked.path)
	must(t, err)
	s := openTestStore(t, private.WithUpstream(upstream), testFingerprint)
	putBlobs(t, s, testBlob(1), testBlob(2))
	for n := range 3 {
		if b, err := s.Get(testKey(n)); err != nil || b.Key != testKey(n) {
			t.Errorf("program %d: %v", n, err)
		}
	}
	if _, err := s.Get(testKey(3)); !errors.Is(err, ErrNotFound) {
		t.Errorf("program 3: %v", err)
	}
	if _, err := s.dir.Source(shader.MustSource("", "void main() {}", nil).Key()); err != nil {
		t.Errorf("source: %v", err)
	}
	damaged := sources.path(private.path, shader.MustSource("", "void main() {}", nil).Key())
	must(t, os.MkdirAll(filepath.Dir(damaged), 0o700))
	must(t, os.WriteFile(damaged, nil, 0o600))
	if src, err := s.Source(shader.MustSource("", "void main() {}", nil).Key()); err != nil || src.Name() != "up" || isRegular(damaged) {
		t.Errorf("damaged source: %v, the file is there: %v", err, isRegular(damaged))
	}
	flip(t, s.blobPath(testKey(1)))
	if _, err := s.Get(testKey(1)); !errors.Is(err, ErrDamaged) {
		t.Errorf("damaged: %v", err)
	}
	if _, err := s.Get(testKey(1)); err != nil {
		t.Errorf("after the damage: %v", err)
	}
	must(t, s.Reject(testKey(0), "of the upstream directory"))

	up := openTestStore(t, upstream, testFingerprint)
	up.Mark(ActionLoad, testKey(0), "")
	up.Unmark(ActionLoad, testKey(0))
	must(t, up.Record([]Use{{Key: testKey(0), Hits: 1}}, Counters{DiskHits: 1}))
	_, _, trimErr := upstream.Trim(PruneOptions{MaxBytes: 1})
	_, pruneErr := upstream.Prune(PruneOptions{MaxBytes: 1})
	for i, err := range []error{up.Put(testBlob(5)), up.Reject(testKey(0), ""), trimErr, pruneErr,
		up.PutFailure(shader.MustSource("", "x", nil), ""), up.PutChecked(testBlob(0))} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if r, err := upstream.Verify(true, nil); err != nil || !r.OK() {
		t.Errorf("Verify: %+v, %v", r, err)
	}
	after := snapshotOf(t, baked.path)
	if len(before) != len(after) {
		t.Errorf("upstream was written: %v", after)
	}
	for name, at := range before {
		if after[name] != at {
			t.Errorf("%s was written", name)
		}
	}
}

// Missing and Why read the upstream directory too.
func TestMissingAndWhyReadUpstream(t *testing.T) {
	baked, private := openTestDir(t), openTestDir(t)
	here, there := shader.MustSource("here", "void main() { a(); }", nil), shader.MustSource("there", "void main() { b(); }", nil)
	older := shader.MustSource("there", "void main() { c(); }", nil)
	blobOf := func(src *shader.Source, driver Fingerprint) *Blob {
		b := testBlob(0)
		b.Key, b.Name, b.Fingerprint = src.Key(), src.Name(), driver.Digest()
		return b
	}
	before := openTestStore(t, baked, otherFingerprint)
	putBlobs(t, before, blobOf(older, otherFingerprint), blobOf(there, otherFingerprint))
	must(t, before.Record([]Use{{Key: older.Key(), Hits: 7, LastUse: start}}, Counters{DiskHits: 7}))
	putBlobs(t, openTestStore(t, baked, testFingerprint), blobOf(there, testFingerprint))
	for _, src := range []*shader.Source{there, older} {
		must(t, baked.PutSource(src))
	}
	must(t, private.PutSource(here))
	upstream, err := OpenUpstream(baked.path)
	must(t, err)
	s := openTestStore(t, private.WithUpstream(upstream), testFingerprint)
	list, err := s.Missing()
	must(t, err)
	if len(list) != 2 || list[0].Key != older.Key() || list[0].Hits != 7 || list[0].Name != "there" || list[1].Key != here.Key() {
		t.Fatalf("missing: %+v", list)
	}
	for _, m := range list {
		if src, err := s.Source(m.Key); err != nil || src.Key() != m.Key {
			t.Errorf("source of %s: %v", m.Key.Short(), err)
		}
	}

	if e := s.Explain(older.Key()); e.Stored || e.Upstream {
		t.Errorf("other driver's: %+v", e)
	}
	if e := s.Explain(there.Key()); !e.Stored || !e.Upstream || e.Checked || e.Quarantine != nil || e.Name != "there" {
		t.Errorf("upstream's: %+v", e)
	}
	// Notes in the private directory apply to the blob upstream.
	must(t, s.PutChecked(blobOf(there, testFingerprint)))
	must(t, s.quarantine(Quarantined{Key: there.Key(), Action: ActionLoad, Time: start}))
	if e := s.Explain(there.Key()); !e.Stored || !e.Checked || e.Quarantine == nil || !e.Quarantine.IsOfBinary() {
		t.Errorf("checked and in quarantine: %+v", e)
	}
	writeTestFile(t, s.blobPath(there.Key()), []byte("damage"), start)
	if e := s.Explain(there.Key()); !e.Stored || !e.Upstream || e.Damage == "" {
		t.Errorf("damaged here, sound upstream: %+v", e)
	}
}

func TestOpenUpstreamRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenUpstream(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	link := filepath.Join(dir, "link")
	must(t, os.Symlink(dir, link))
	if _, err := OpenUpstream(link); !errors.Is(err, ErrUnsafeDir) {
		t.Errorf("link: %v", err)
	}
	must(t, os.Chmod(dir, 0o777))
	if _, err := OpenUpstream(dir); !errors.Is(err, ErrUnsafeDir) {
		t.Errorf("open to all: %v", err)
	}
}

// A directory that only root can read is refused, with a hint, and does not count as
// empty.
func TestUnreadableUpstream(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything; the command has this test too")
	}
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	putBlobs(t, s, testBlob(0))
	for _, path := range []string{s.path, d.path} {
		must(t, os.Chmod(path, 0o300))
		_, err := OpenUpstream(d.path)
		must(t, os.Chmod(path, 0o700))
		if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "chmod -R a+rX") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestTrimOnceADay(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	now := start
	d.now = func() time.Time { return now }
	for step, c := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {time.Hour, false}, {23 * time.Hour, true}, {-48 * time.Hour, true}, {0, false}} {
		now = now.Add(c.after)
		putBlobs(t, s, testBlob(1))
		r, done, err := s.Trim(PruneOptions{MaxBytes: 1})
		if err != nil || done != c.want || (r.Programs == 1) != c.want {
			t.Errorf("step %d: %+v, %v, %v", step, r, done, err)
		}
	}
}

func TestLastUseIsWrittenHourly(t *testing.T) {
	s := openTestStore(t, openTestDir(t), testFingerprint)
	putBlobs(t, s, testBlob(0))
	must(t, os.Chtimes(s.blobPath(testKey(0)), start, start))
	at := start
	for step, c := range []struct {
		use  Use
		kept time.Duration
	}{
		{Use{}, 0},
		{Use{LastUse: start.Add(59 * time.Minute)}, 0},
		{Use{LastUse: start.Add(60 * time.Minute)}, time.Hour},
		{Use{LastUse: start.Add(61 * time.Minute), Hits: 1}, 61 * time.Minute},
	} {
		c.use.Key = testKey(0)
		merge(t, s, []Use{c.use}, Counters{DiskHits: 1})
		if got := list(t, s)[testKey(0)].LastUse; !got.Equal(at.Add(c.kept)) {
			t.Errorf("step %d: last use %v", step, got)
		}
	}
}

func TestPruneDeletesSources(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	used, unused := shader.MustSource("used", "a", nil), shader.MustSource("unused", "b", nil)
	blob := testBlob(0)
	blob.Key = used.Key()
	putBlobs(t, s, blob)
	for _, src := range []*shader.Source{used, unused} {
		must(t, d.PutSource(src))
		old := start.Add(-100 * time.Hour)
		must(t, os.Chtimes(sources.path(d.path, src.Key()), old, old))
	}
	must(t, os.Chtimes(s.blobPath(used.Key()), start, start))
	if r, err := d.Prune(PruneOptions{MaxAge: 50 * time.Hour}); err != nil || r.Leftovers != 1 || r.Programs != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := d.Source(used.Key()); err != nil {
		t.Errorf("used: %v", err)
	}
	if _, err := d.Source(unused.Key()); !errors.Is(err, ErrNotFound) {
		t.Errorf("unused: %v", err)
	}
	must(t, d.PutSource(unused))
	for _, c := range []struct {
		age  time.Duration
		gone int
	}{{rejectedAge - time.Hour, 0}, {rejectedAge + time.Hour, 1}} { // without a limit of the caller
		old := start.Add(-c.age)
		must(t, os.Chtimes(sources.path(d.path, unused.Key()), old, old))
		if r, err := d.Prune(PruneOptions{MaxFiles: 100}); err != nil || r.Leftovers != c.gone {
			t.Errorf("after %v: %+v, %v", c.age, r, err)
		}
	}
	must(t, os.Chtimes(s.blobPath(used.Key()), start.Add(-60*time.Hour), start.Add(-60*time.Hour)))
	for _, dry := range []bool{true, false} { // the text of a program goes with it
		var deleted []string
		o := PruneOptions{MaxAge: 50 * time.Hour, DryRun: dry, Deleted: func(path string) { deleted = append(deleted, path) }}
		if r, err := d.Prune(o); err != nil || r.Programs != 1 || r.Leftovers != 1 || !slices.Contains(deleted, sources.path(d.path, used.Key())) {
			t.Errorf("dry run %v: %+v, %v, %v", dry, r, err, deleted)
		}
	}
}
