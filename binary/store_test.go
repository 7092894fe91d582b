package binary

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary/internal/index"
)

func TestPutThenGet(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	if files := filesBelow(s.path); len(files) != 0 {
		t.Errorf("opening wrote %q", files)
	}
	if _, err := s.Get(testKey(1)); !errors.Is(err, ErrNotFound) {
		t.Errorf("empty store: got %v, want ErrNotFound", err)
	}
	putBlobs(t, s, testBlob(1), testBlob(2))
	key := testKey(1).String()
	want := s.name + "/blobs/" + key[:2] + "/" + key + ".bin"
	if files := filesBelow(d.path); !slices.Contains(files, want) {
		t.Errorf("no %s in %q", want, files)
	}
	again := openTestStore(t, d, testFingerprint)
	got, err := again.Get(testKey(1))
	must(t, err)
	if !reflect.DeepEqual(got, testBlob(1)) {
		t.Errorf("got %+v", got)
	}
	if _, err := openTestStore(t, d, otherFingerprint).Get(testKey(1)); !errors.Is(err, ErrNotFound) {
		t.Errorf("another driver: got %v, want ErrNotFound", err)
	}
	must(t, s.Close())
	must(t, s.Close())
}

func TestPutReplaces(t *testing.T) {
	s := openTestStore(t, openTestDir(t), testFingerprint)
	b := testBlob(1)
	putBlobs(t, s, b)
	b.Payload = []byte("new")
	putBlobs(t, s, b)
	got, err := s.Get(b.Key)
	must(t, err)
	if string(got.Payload) != "new" {
		t.Errorf("payload %.20q", got.Payload)
	}
}

func TestPutOfAnotherDriversBlobPanics(t *testing.T) {
	s := openTestStore(t, openTestDir(t), otherFingerprint)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	_ = s.Put(testBlob(1))
}

func TestPutRecreatesTheDirectory(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	for _, gone := range []string{d.path, s.path, filepath.Join(s.path, blobsName)} {
		putBlobs(t, s, testBlob(1))
		must(t, os.RemoveAll(gone))
		if _, err := s.Get(testKey(1)); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s removed: got %v, want ErrNotFound", gone, err)
		}
		putBlobs(t, s, testBlob(1))
		if _, err := s.Get(testKey(1)); err != nil {
			t.Errorf("%s removed, then put: %v", gone, err)
		}
		must(t, os.RemoveAll(gone))
		must(t, s.Record(nil, Counters{Compiles: 1}))
	}
	if infos, err := d.Fingerprints(); len(infos) != 1 || infos[0].Fingerprint.Vendor == "" || err != nil {
		t.Errorf("fingerprints %+v, %v", infos, err)
	}
}

func TestGetRejectsDamagedBlobs(t *testing.T) {
	otherKey := encode(t, testBlob(2))
	otherDriver := testBlob(1)
	otherDriver.Fingerprint = otherFingerprint.Digest()
	flipped := encode(t, testBlob(1))
	flipped[len(flipped)-1] ^= 1
	version := encode(t, testBlob(1))
	version[8]++
	for reason, data := range map[string][]byte{
		"not a program blob":               nil,
		"payload checksum does not match":  flipped,
		"other version":                    version,
		"holds program":                    otherKey,
		"was made by driver":               encode(t, otherDriver),
		"payload has":                      encode(t, testBlob(1))[:400],
		"header cut short":                 encode(t, testBlob(1))[:100],
		"header checksum does not match":   append(append([]byte{}, flipped[:50]...), make([]byte, 500)...),
		"header cut short, or its name of": append(append([]byte{}, flipped[:28]...), make([]byte, 196)...)[:224],
	} {
		t.Run(reason, func(t *testing.T) {
			if reason == "header cut short, or its name of" {
				data[28] = 1
			}
			s := openTestStore(t, openTestDir(t), testFingerprint)
			path := s.blobPath(testKey(1))
			writeTestFile(t, path, data, start)
			_, err := s.Get(testKey(1))
			bad, ok := errors.AsType[*damagedError](err)
			if !ok || !errors.Is(err, ErrDamaged) || bad.Path != path || !strings.Contains(bad.Reason, reason) {
				t.Fatalf("got %v, want damage to %s with reason %q", err, path, reason)
			}
			if _, err := s.Get(testKey(1)); !errors.Is(err, ErrNotFound) {
				t.Errorf("second Get: got %v, want ErrNotFound", err)
			}
			rejected := filepath.Join(s.path, rejectedName, testKey(1).String()+".bin")
			if kept, err := os.ReadFile(rejected); err != nil || len(kept) != len(data) {
				t.Errorf("%d bytes in rejected/, %v", len(kept), err)
			}
			if note, _ := os.ReadFile(rejected + ".txt"); !strings.Contains(string(note), "2026-03-14T15:09:26Z "+bad.Reason) {
				t.Errorf("note %q", note)
			}
			putBlobs(t, s, testBlob(1))
			if _, err := s.Get(testKey(1)); err != nil {
				t.Errorf("Get after Put: %v", err)
			}
		})
	}
}

func TestGetOfANonFile(t *testing.T) {
	s := openTestStore(t, openTestDir(t), testFingerprint)
	must(t, os.MkdirAll(filepath.Join(s.blobPath(testKey(1)), "full"), 0o700))
	must(t, os.MkdirAll(filepath.Dir(s.blobPath(testKey(2))), 0o700))
	must(t, os.Symlink("/dev/zero", s.blobPath(testKey(2))))
	must(t, os.MkdirAll(filepath.Dir(s.blobPath(testKey(3))), 0o700))
	must(t, os.WriteFile(s.blobPath(testKey(3)), nil, 0o600))
	must(t, os.Truncate(s.blobPath(testKey(3)), maxBlobBytes+1))
	for i := 1; i <= 3; i++ {
		if _, err := s.Get(testKey(i)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d: got %v, want ErrDamaged", i, err)
		}
		putBlobs(t, s, testBlob(i))
		if _, err := s.Get(testKey(i)); err != nil {
			t.Errorf("%d: after Put: %v", i, err)
		}
	}
}

func TestAFileWhereBlobsShouldBe(t *testing.T) {
	s := openTestStore(t, openTestDir(t), testFingerprint)
	writeTestFile(t, filepath.Join(s.path, blobsName), nil, start)
	if _, err := s.Get(testKey(1)); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("Get: got %v, want an error other than ErrNotFound", err)
	}
	if err := s.Put(testBlob(1)); err == nil {
		t.Error("Put: no error")
	}
	if list := slices.Collect(s.ByName()); len(list) != 0 {
		t.Errorf("List: %v", list)
	}
	must(t, s.Record(nil, Counters{Compiles: 1}))
}

func TestReject(t *testing.T) {
	s := openTestStore(t, openTestDir(t), testFingerprint)
	must(t, s.Reject(testKey(1), "nothing there"))
	for i := range maxRejected + 4 {
		putBlobs(t, s, testBlob(i))
		s.dir.now = func() time.Time { return start.Add(time.Duration(i) * time.Minute) }
		must(t, s.Reject(testKey(i), "driver refused it\n"))
		note := filepath.Join(s.path, rejectedName, testKey(i).String()+".bin.txt")
		at := start.Add(time.Duration(i) * time.Minute)
		must(t, os.Chtimes(note, at, at))
		if _, err := s.Get(testKey(i)); !errors.Is(err, ErrNotFound) {
			t.Errorf("got %v, want ErrNotFound", err)
		}
	}
	putBlobs(t, s, testBlob(100))
	must(t, s.Reject(testKey(100), "driver refused it"))
	files := filesBelow(filepath.Join(s.path, rejectedName))
	if len(files) != 2*maxRejected {
		t.Errorf("%d files, want %d", len(files), 2*maxRejected)
	}
	if slices.Contains(files, testKey(0).String()+".bin") || !slices.Contains(files, testKey(100).String()+".bin") {
		t.Error("not the oldest were dropped")
	}
}

func TestRejectRemovesWhatCannotBeMoved(t *testing.T) {
	s := openTestStore(t, openTestDir(t), testFingerprint)
	putBlobs(t, s, testBlob(1))
	writeTestFile(t, filepath.Join(s.path, rejectedName), nil, start)
	must(t, s.Reject(testKey(1), "refused"))
	if _, err := s.Get(testKey(1)); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

func TestStoresShareADirectory(t *testing.T) {
	d := openTestDir(t)
	const programs, rounds = 8, 20
	var group sync.WaitGroup
	recorded := make([]uint64, 4)
	for worker := range recorded {
		s := openTestStore(t, d, testFingerprint)
		group.Go(func() {
			for i := range rounds {
				n := (i + worker) % programs
				if err := s.Put(testBlob(n)); err != nil {
					t.Error(err)
				}
				b, err := s.Get(testKey(n))
				if err != nil && !errors.Is(err, ErrNotFound) {
					t.Error(err)
				}
				if err == nil && !reflect.DeepEqual(b, testBlob(n)) {
					t.Errorf("got %+v", b)
				}
				if i%5 != 0 {
					continue
				}
				err = s.Record([]Use{{Key: testKey(n), Hits: 1, LastUse: start}}, Counters{DiskHits: 1})
				if err == nil {
					recorded[worker]++
				} else if !errors.Is(err, index.ErrBusy) {
					t.Error(err)
				}
				if i == 10 && worker == 0 {
					if err := s.Reject(testKey(n), "refused"); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	group.Wait()
	var want uint64
	for _, n := range recorded {
		want += n
	}
	if c, err := d.Lifetime(); c.DiskHits != want || err != nil {
		t.Errorf("%d hits are recorded, %v; want %d", c.DiskHits, err, want)
	}
}

func BenchmarkStorePut(b *testing.B) {
	s := openTestStore(b, openTestDir(b), testFingerprint)
	blob := testBlob(0)
	blob.Payload = testPayload(1, 18<<10)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Put(blob); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStoreOpenGet(b *testing.B) {
	for _, programs := range []int{100, 10000} {
		b.Run(fmt.Sprintf("programs=%d", programs), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "cache")
			d, err := OpenDir(path)
			must(b, err)
			s := openTestStore(b, d, testFingerprint)
			blob := testBlob(0)
			blob.Payload = testPayload(1, 18<<10)
			putBlobs(b, s, blob)
			for i := range programs {
				blob.Key = testKey(i)
				writeTestFile(b, s.blobPath(blob.Key), encode(b, blob), start)
			}
			must(b, s.Record(nil, Counters{Compiles: uint64(programs)}))
			b.ReportAllocs()
			for b.Loop() {
				d, err := OpenDir(path)
				if err != nil {
					b.Fatal(err)
				}
				s, err := d.Store(testFingerprint)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.Get(blob.Key); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
