package binary

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary/internal/index"
	"github.com/shadercache/shadercache/shader"
)

// setLargeIndex makes every index count as large until the test ends.
func setLargeIndex(t *testing.T, bytes int64) {
	before := largeIndex
	largeIndex = bytes
	t.Cleanup(func() { largeIndex = before })
}

// A Record of a store with a large index changes neither the index nor the manifest, and
// readers find it. After some of them one merges all.
func TestRecordOfALargeStore(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	putBlobs(t, s, testBlob(1), testBlob(2))
	must(t, s.Record([]Use{{Key: testKey(1), Hits: 1}}, Counters{DiskHits: 1}))
	setLargeIndex(t, 1)
	path := filepath.Join(s.path, index.Name)
	before, err := os.ReadFile(path)
	must(t, err)
	putBlobs(t, s, testBlob(3))
	for n := 2; n < maxPending+1; n++ {
		must(t, s.Record([]Use{{Key: testKey(1), Hits: 1, LastUse: start.Add(time.Hour)}}, Counters{DiskHits: 1}))
		if n != 3 {
			continue
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != string(before) {
			t.Errorf("the index was written: %v", err)
		}
		if got := list(t, s); len(got) != 3 || got[testKey(1)].Hits != 3 {
			t.Errorf("List: %+v", got)
		}
		if c := lifetime(t, d); c.DiskHits != 3 {
			t.Errorf("lifetime %+v", c)
		}
	}
	if n := len(s.pendingNames()); n != maxPending-1 {
		t.Errorf("%d records are pending", n)
	}
	must(t, s.Record([]Use{{Key: testKey(2), Hits: 1}, {Key: testKey(9), Hits: 1}}, Counters{DiskHits: 1}))
	c := s.readIndex()
	if len(s.pendingNames()) != 0 || c.lifetime.DiskHits != maxPending+1 || len(c.programs) != 3 ||
		c.programs[testKey(1)].Hits != maxPending || c.programs[testKey(2)].Hits != 1 || c.programs[testKey(3)].RawBytes != 4000 {
		t.Errorf("merged: %+v, %q are pending", c, s.pendingNames())
	}
	if c := lifetime(t, d); c.DiskHits != maxPending+1 {
		t.Errorf("lifetime %+v", c)
	}

	must(t, os.Remove(s.blobPath(testKey(2))))
	_, err = d.Prune(PruneOptions{MaxFiles: 1})
	must(t, err)
	if c := s.readIndex(); len(c.programs) != 1 {
		t.Errorf("after a prune the index has %+v", c.programs)
	}
}

// A process that put no blob leaves index and views as they are, and readers find what it
// used.
func TestRecordOfAWarmStart(t *testing.T) {
	d := openTestDir(t)
	d.now = time.Now
	s := openTestStore(t, d, testFingerprint)
	putBlobs(t, s, testBlob(1), testBlob(2))
	must(t, s.Record(nil, Counters{Compiles: 1}))
	must(t, os.Remove(s.file(manifestName)))
	warm := openTestStore(t, d, testFingerprint)
	for n := range int64(5) {
		must(t, warm.Record([]Use{{Key: testKey(1), Hits: 1, LoadNanos: n + 1}}, Counters{DiskHits: 1}))
	}
	if _, err := os.Stat(s.file(manifestName)); err == nil || s.readIndex().lifetime.DiskHits != 0 || len(s.pendingNames()) != 5 {
		t.Errorf("a start that put nothing wrote the index: %+v, %q are pending", s.readIndex(), s.pendingNames())
	}
	if got, c := list(t, s), lifetime(t, d); got[testKey(1)].Hits != 5 || got[testKey(1)].LoadNanos != 5 || c.DiskHits != 5 {
		t.Errorf("list %+v, lifetime %+v", got, c)
	}
	for range maxPending - 5 {
		must(t, warm.Record([]Use{{Key: testKey(1), Hits: 1}}, Counters{DiskHits: 1}))
	}
	var m manifest
	data, err := os.ReadFile(s.file(manifestName))
	must(t, err)
	must(t, json.Unmarshal(data, &m))
	if len(m.Programs) != 2 || len(s.pendingNames()) != 0 || s.readIndex().programs[testKey(1)].Hits != maxPending {
		t.Errorf("merged: %d programs in the manifest, %q are pending", len(m.Programs), s.pendingNames())
	}
	must(t, os.Remove(filepath.Join(s.path, index.Name))) // one that was lost is made again
	must(t, warm.Record(nil, Counters{DiskHits: 1}))
	if c := s.readIndex(); len(c.programs) != 2 || len(s.pendingNames()) != 0 {
		t.Errorf("the index has %+v, %q are pending", c, s.pendingNames())
	}
}

// What a process has merged counts once, also if it was killed before it deleted the
// files. Damaged files count as nothing.
func TestPendingRecordsCountOnce(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	putBlobs(t, s, testBlob(1))
	merge(t, s, []Use{{Key: testKey(1), Hits: 1}}, Counters{DiskHits: 1})
	must(t, s.putPending(pendingRecord{Uses: []Use{{Key: testKey(1), Hits: 2}}, Counters: Counters{DiskHits: 2}}))
	name := filepath.Join(s.file(pendingName), s.pendingNames()[0])
	merged, err := os.ReadFile(name)
	must(t, err)
	check := func(when string, hits uint64) {
		t.Helper()
		if got, c := list(t, s), lifetime(t, d); got[testKey(1)].Hits != hits || c.DiskHits != hits {
			t.Errorf("%s: %+v, lifetime %+v, want %d hits", when, got[testKey(1)], c, hits)
		}
	}
	check("pending", 3)
	merge(t, s, nil, Counters{DiskHits: 0, Compiles: 1})
	if len(s.pendingNames()) != 0 {
		t.Errorf("%q are pending", s.pendingNames())
	}
	check("merged", 3)
	must(t, os.WriteFile(name, merged, 0o600))
	check("merged, and not deleted", 3)
	damaged := filepath.Join(s.file(pendingName), strings.Repeat("0", 32)+pendingExt)
	must(t, os.WriteFile(damaged, []byte(`{"uses":[`), 0o600))
	check("with a damaged file", 3)
	merge(t, s, nil, Counters{Compiles: 1})
	check("merged again", 3)
	if len(s.pendingNames()) != 0 {
		t.Errorf("%q are pending", s.pendingNames())
	}
}

// manyPrograms is the number of programs in the store of TestRecordOfManyPrograms.
const manyPrograms = 100_000

// TestRecordOfManyPrograms measures the end of a process that used 48 programs of a large
// store.
func TestRecordOfManyPrograms(t *testing.T) {
	if os.Getenv("SHADERCACHE_SOAK") != "1" {
		t.Skip("SHADERCACHE_SOAK=1 makes a store of 100,000 programs")
	}
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	must(t, s.create(s.path))
	b := testBlob(1)
	var uses []Use
	for n := range manyPrograms {
		name := fmt.Sprintf("program %d", n)
		b.Key, b.Name = shader.MustSource(name, name, nil).Key(), name
		data, err := b.Encode()
		must(t, err)
		must(t, os.MkdirAll(filepath.Dir(s.blobPath(b.Key)), 0o700))
		must(t, os.WriteFile(s.blobPath(b.Key), data, 0o600))
		if n < 48 {
			uses = append(uses, Use{Key: b.Key, Name: name, Hits: 1, LastUse: start})
		}
	}
	must(t, s.Record(uses, Counters{Compiles: manyPrograms}))
	began, most := time.Now(), time.Duration(0)
	for range maxPending {
		one := time.Now()
		must(t, s.Record(uses, Counters{DiskHits: 48}))
		most = max(most, time.Since(one))
	}
	took := time.Since(began)
	t.Logf("%v a Record, at most %v", took/maxPending, most)
	if c := lifetime(t, d); c.DiskHits != 48*maxPending || len(s.pendingNames()) != 0 {
		t.Errorf("lifetime %+v, %d pending", c, len(s.pendingNames()))
	}
	if info, err := os.Stat(s.file(manifestName)); err != nil || info.Size() > 1<<20 {
		t.Errorf("manifest: %v, %v", info, err)
	}
}
