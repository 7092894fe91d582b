package binary

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shadercache/shadercache/binary/internal/index"
	"github.com/shadercache/shadercache/shader"
	bolt "go.etcd.io/bbolt"
)

func list(t testing.TB, s *Store) map[shader.Key]Entry {
	t.Helper()
	byKey := map[shader.Key]Entry{}
	for _, e := range slices.Collect(s.ByName()) {
		byKey[e.Key] = e
	}
	return byKey
}

func lifetime(t testing.TB, d *Dir) Counters {
	t.Helper()
	c, err := d.Lifetime()
	must(t, err)
	return c
}

// merge records like a process that put blobs: in the index, at once.
func merge(t testing.TB, s *Store, uses []Use, counters Counters) {
	t.Helper()
	must(t, s.record(pendingRecord{Uses: uses, Counters: counters}, true))
}

func TestRecordAddsUp(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	putBlobs(t, s, testBlob(1), testBlob(2))
	later := start.AddDate(30, 0, 0) // later than the files are written
	must(t, s.Record([]Use{
		{Key: testKey(1), Name: "gemm", LastUse: later, Hits: 3, LoadNanos: 5},
		{Key: testKey(9), Name: "no blob", Hits: 1},
	}, Counters{DiskHits: 3, Compiles: 2}))
	again := openTestStore(t, d, testFingerprint)
	must(t, again.Record([]Use{{Key: testKey(1), LastUse: later.Add(-time.Hour), Hits: 4, CompileNanos: 7}}, Counters{DiskHits: 4}))

	got := list(t, s)
	if len(got) != 2 {
		t.Fatalf("%d entries, want 2", len(got))
	}
	file, err := os.Stat(s.blobPath(testKey(1)))
	must(t, err)
	want := Entry{
		Key: testKey(1), Name: "gemm", Bytes: file.Size(), RawBytes: 4000, Created: start,
		LastUse: later, Hits: 7, CompileNanos: 7, LoadNanos: 5,
	}
	if got[testKey(1)] != want {
		t.Errorf("got  %+v\nwant %+v", got[testKey(1)], want)
	}
	if e := got[testKey(2)]; e.Hits != 0 || e.Name != "conv2d_3x3_256x256" || e.CompileNanos != 38_600_000 || e.LastUse.IsZero() {
		t.Errorf("got %+v", e)
	}
	if c := lifetime(t, d); c != (Counters{DiskHits: 7, Compiles: 2}) {
		t.Errorf("lifetime %+v", c)
	}
}

func TestRecordOfNothingWritesNothing(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	must(t, s.Record(nil, Counters{}))
	if files := filesBelow(s.path); len(files) != 0 {
		t.Errorf("wrote %q", files)
	}
}

func TestSummaries(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	b := testBlob(1)
	b.Payload = []byte("incompressible")
	putBlobs(t, s, b)
	at := start.Add(-time.Hour)
	must(t, os.Chtimes(s.blobPath(b.Key), at, at))
	must(t, s.Record([]Use{{Key: b.Key, LastUse: start.Add(time.Hour), Hits: 2, LoadNanos: 450_000}},
		Counters{DiskHits: 3, Compiles: 1, SavedNanos: 1_500_000}))
	must(t, openTestStore(t, d, otherFingerprint).Record(nil, Counters{ResidentHits: 4}))
	for golden, path := range map[string]string{
		"manifest.json":    filepath.Join(s.path, manifestName),
		"cache_stats.json": filepath.Join(d.path, statsName),
		"fingerprint.json": filepath.Join(s.path, fingerprintName),
	} {
		data, err := os.ReadFile(path)
		must(t, err)
		checkGolden(t, golden, data)
	}
}

func TestManifestIsRewrittenOnlyForPrograms(t *testing.T) {
	s := openTestStore(t, openTestDir(t), testFingerprint)
	putBlobs(t, s, testBlob(1))
	merge(t, s, nil, Counters{Compiles: 1})
	before, err := os.Stat(s.file(manifestName))
	must(t, err)
	merge(t, s, nil, Counters{Compiles: 1})
	after, err := os.Stat(s.file(manifestName))
	must(t, err)
	if !os.SameFile(before, after) {
		t.Error("rewritten for counters alone")
	}
	b := testBlob(1)
	b.Payload = []byte("new")
	putBlobs(t, s, b)
	merge(t, s, nil, Counters{Compiles: 1})
	if c := s.readIndex(); c.programs[b.Key].RawBytes != 3 {
		t.Errorf("the index still has the blob that was replaced: %+v", c.programs[b.Key])
	}
	must(t, os.Remove(s.file(manifestName)))
	merge(t, s, nil, Counters{Compiles: 1})
	if _, err := os.Stat(s.file(manifestName)); err != nil {
		t.Errorf("not written again: %v", err)
	}
}

func TestRecordReconciles(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	putBlobs(t, s, testBlob(1), testBlob(2))
	merge(t, s, nil, Counters{Compiles: 2})
	must(t, os.Remove(s.blobPath(testKey(1))))
	putBlobs(t, openTestStore(t, d, testFingerprint), testBlob(3))
	writeTestFile(t, s.blobPath(testKey(4)), []byte("damaged"), start)
	merge(t, s, nil, Counters{Compiles: 1})
	var keys []shader.Key
	for key := range s.readIndex().programs {
		keys = append(keys, key)
	}
	if len(keys) != 2 || !slices.Contains(keys, testKey(2)) || !slices.Contains(keys, testKey(3)) {
		t.Errorf("the index has %v", keys)
	}
	var m manifest
	data, err := os.ReadFile(s.file(manifestName))
	must(t, err)
	must(t, json.Unmarshal(data, &m))
	if len(m.Programs) != 2 {
		t.Errorf("the manifest has %d programs, want 2", len(m.Programs))
	}
}

func TestBusyIndex(t *testing.T) {
	synctest.Test(t, testBusyIndex) // does not sleep while the index is busy
}

func testBusyIndex(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	putBlobs(t, s, testBlob(1))
	merge(t, s, []Use{{Key: testKey(1), Hits: 1}}, Counters{DiskHits: 1})
	held, err := bolt.Open(filepath.Join(s.path, index.Name), 0o600, nil)
	must(t, err)

	merge(t, s, []Use{{Key: testKey(1), Hits: 1}}, Counters{DiskHits: 1})
	putBlobs(t, s, testBlob(2))
	if _, err := s.Get(testKey(2)); err != nil {
		t.Errorf("Get: %v", err)
	}
	if got := list(t, s); len(got) != 2 || got[testKey(1)].Hits != 1 {
		t.Errorf("List: %+v", got)
	}
	if c := lifetime(t, d); c.DiskHits != 2 {
		t.Errorf("lifetime %+v, want 1 disk hit from cache_stats.json and 1 that is pending", c)
	}
	if report, err := d.Prune(PruneOptions{MaxBytes: 1}); report.Programs != 0 || !errors.Is(err, index.ErrBusy) {
		t.Errorf("Prune: %+v, %v", report, err)
	}
	if report, err := d.Prune(PruneOptions{OtherThan: []Fingerprint{otherFingerprint}, DryRun: true}); report.Programs != 2 || err != nil {
		t.Errorf("Prune without a limit: %+v, %v", report, err)
	}

	must(t, d.writeStats(s.name, Counters{DiskHits: 2})) // what a merge does before it writes the index
	time.AfterFunc(pruneWait/2, func() { _ = held.Close() })
	if c := lifetime(t, d); c.DiskHits != 2 {
		t.Errorf("lifetime beside a merge: %+v, want 1 disk hit from the index and 1 that is pending", c)
	}
	held, err = bolt.Open(filepath.Join(s.path, index.Name), 0o600, nil)
	must(t, err)

	time.AfterFunc(pruneWait/2, func() { _ = held.Close() })
	if report, err := d.Prune(PruneOptions{MaxBytes: 1}); report.Programs != 2 || err != nil {
		t.Errorf("Prune after the wait: %+v, %v", report, err)
	}
	merge(t, s, nil, Counters{DiskHits: 1})
	if c := s.readIndex(); len(c.programs) != 0 || c.lifetime.DiskHits != 3 {
		t.Errorf("the index has %+v", c)
	}
}

func TestDamagedIndexIsRebuilt(t *testing.T) {
	flip := func(offset int) func(data []byte) []byte {
		return func(data []byte) []byte { data[offset] ^= 0x10; return data }
	}
	damages := map[string]func(data []byte) []byte{
		"no database":    func([]byte) []byte { return []byte(strings.Repeat("not a database\n", 1000)) },
		"short":          func([]byte) []byte { return []byte("short") },
		"zeros":          func(data []byte) []byte { return make([]byte, len(data)) },
		"cut":            func(data []byte) []byte { return data[:len(data)/2] },
		"one page":       func(data []byte) []byte { return data[:4096] },
		"first meta":     flip(30),
		"third page":     flip(2*4096 + 8),
		"fourth page":    flip(3*4096 + 8),
		"data":           flip(3*4096 + 100),
		"longer":         func(data []byte) []byte { return append(data, 0) },
		"noise to start": func(data []byte) []byte { copy(data[100:], bytes.Repeat([]byte{0xa5}, 9000)); return data },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			d := openTestDir(t)
			s := openTestStore(t, d, testFingerprint)
			putBlobs(t, s, testBlob(1), testBlob(2))
			merge(t, s, []Use{{Key: testKey(1), Hits: 5}}, Counters{DiskHits: 5})
			path := filepath.Join(s.path, index.Name)
			data, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(path, damage(data), 0o600))

			if got := list(t, s); len(got) != 2 || got[testKey(1)].Hits != 0 {
				t.Errorf("List: %+v", got)
			}
			if c := lifetime(t, d); c.DiskHits != 5 {
				t.Errorf("lifetime %+v", c)
			}
			merge(t, s, []Use{{Key: testKey(1), Hits: 2}}, Counters{DiskHits: 2})
			if got := list(t, s); len(got) != 2 || got[testKey(1)].Hits != 2 || got[testKey(2)].RawBytes != 4000 {
				t.Errorf("List after Record: %+v", got)
			}
			if c := lifetime(t, d); c.DiskHits != 7 {
				t.Errorf("lifetime %+v, want them to continue from cache_stats.json", c)
			}
			if _, err := os.Stat(filepath.Join(s.path, rejectedName, index.Name)); err != nil {
				t.Errorf("not rejected: %v", err)
			}
		})
	}
}

func TestIndexThatIsNoFile(t *testing.T) {
	s := openTestStore(t, openTestDir(t), testFingerprint)
	putBlobs(t, s, testBlob(1))
	must(t, os.Mkdir(filepath.Join(s.path, index.Name), 0o700))
	must(t, s.Record([]Use{{Key: testKey(1), Hits: 1}}, Counters{DiskHits: 1}))
	if got := list(t, s); got[testKey(1)].Hits != 1 {
		t.Errorf("List: %+v", got)
	}
}

func TestIndexOfAnotherSchemaIsRebuilt(t *testing.T) {
	s := openTestStore(t, openTestDir(t), testFingerprint)
	putBlobs(t, s, testBlob(1))
	merge(t, s, nil, Counters{DiskHits: 1})
	for _, change := range []func(tx *bolt.Tx) error{
		func(tx *bolt.Tx) error { return tx.Bucket([]byte("about")).Put([]byte("schema"), []byte("2")) },
		func(tx *bolt.Tx) error { return tx.Bucket([]byte("programs")).Put([]byte("short key"), []byte("{}")) },
		func(tx *bolt.Tx) error { return tx.Bucket([]byte("programs")).Put(make([]byte, 32), []byte("{")) },
		func(tx *bolt.Tx) error { return tx.Bucket([]byte("lifetime")).Put([]byte("counters"), []byte("x")) },
		func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte("lifetime")) },
		func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte("programs")) },
	} {
		changeIndex(t, s.path, change)
		if _, err := s.loadIndex(); !errors.Is(err, ErrDamaged) {
			t.Errorf("got %v, want ErrDamaged", err)
		}
		merge(t, s, nil, Counters{DiskHits: 1})
		if c, err := s.loadIndex(); err != nil || len(c.programs) != 1 {
			t.Errorf("after Record: %+v, %v", c, err)
		}
	}
	if c := lifetime(t, s.dir); c.DiskHits != 7 {
		t.Errorf("lifetime %+v", c)
	}
}

// changeIndex changes an index and writes a sum that matches.
func changeIndex(t *testing.T, dir string, change func(tx *bolt.Tx) error) {
	t.Helper()
	path := filepath.Join(dir, index.Name)
	db, err := bolt.Open(path, 0o600, nil)
	must(t, err)
	must(t, errors.Join(db.Update(change), db.Close()))
	data, err := os.ReadFile(path)
	must(t, err)
	sum := shader.Digest(sha256.Sum256(data))
	must(t, os.WriteFile(filepath.Join(dir, index.SumName), []byte(sum.String()), 0o600))
}

func TestEverythingLostStartsFromZero(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	putBlobs(t, s, testBlob(1))
	must(t, s.Record(nil, Counters{DiskHits: 5}))
	must(t, os.Remove(filepath.Join(s.path, index.Name)))
	must(t, os.WriteFile(filepath.Join(d.path, statsName), []byte("]"), 0o600))
	if c := lifetime(t, d); c != (Counters{}) {
		t.Errorf("lifetime %+v", c)
	}
	must(t, s.Record(nil, Counters{DiskHits: 1}))
	if c := lifetime(t, d); c.DiskHits != 1 {
		t.Errorf("lifetime %+v", c)
	}
	must(t, os.Remove(filepath.Join(d.path, statsName)))
	if c := lifetime(t, d); c.DiskHits != 1 {
		t.Errorf("lifetime %+v without cache_stats.json", c)
	}
}

func BenchmarkRecord(b *testing.B) {
	s := openTestStore(b, openTestDir(b), testFingerprint)
	uses := make([]Use, 48)
	for i := range uses {
		putBlobs(b, s, testBlob(i))
		uses[i] = Use{Key: testKey(i), Hits: 1}
	}
	for b.Loop() {
		if err := s.Record(uses, Counters{DiskHits: 48}); err != nil {
			b.Fatal(err)
		}
	}
}

// readIndex returns the content of the index, and nothing where it cannot be read now.
func (s *Store) readIndex() *contents {
	if c, err := s.loadIndex(); err == nil {
		return c
	}
	return &contents{}
}

// loadIndex returns the content of the index.
func (s *Store) loadIndex() (*contents, error) {
	x, err := index.Open(s.path, true, index.Wait)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	c := &contents{}
	return c, c.load(x, true)
}
