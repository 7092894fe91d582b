package binary

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
)

const day = 24 * time.Hour

// pruneFixture has, by age in days:
//
//	1, 5, 9   programs 1, 2, 3 of one driver; program 3 was used 2 days ago
//	6         program 4 of another driver
//	3, 8      NVIDIA pairs of 300 bytes
//	4, 7      Mesa items of 50 bytes
//	99        Mesa's index and marker
//
// The entries of no program are known, so those of the driver age with the programs where
// a size is limited: nv8 with 6, mesa7 with 5, mesa4 with 2, nv3 with 1.
func pruneFixture(t *testing.T) (*Dir, *Store) {
	d := openTestDir(t)
	age := func(days int) time.Time { return start.Add(-time.Duration(days) * day) }
	s := openTestStore(t, d, testFingerprint)
	for n, days := range map[int]int{1: 1, 2: 5, 3: 9} {
		putBlobs(t, s, testBlob(n))
		must(t, os.Chtimes(s.blobPath(testKey(n)), age(days), age(days)))
	}
	must(t, s.Record([]Use{{Key: testKey(3), LastUse: age(2), Hits: 1}}, Counters{DiskHits: 1}))
	other := openTestStore(t, d, otherFingerprint)
	b := testBlob(4)
	b.Fingerprint = otherFingerprint.Digest()
	putBlobs(t, other, b)
	must(t, os.Chtimes(other.blobPath(b.Key), age(6), age(6)))
	for name, days := range map[string]int{"app0": 3, "app1": 8} {
		base := filepath.Join(d.DriverDir(), "nvidia", "GLCache", "0123", "4567", name)
		writeTestFile(t, base+".bin", make([]byte, 200), age(days))
		writeTestFile(t, base+".toc", make([]byte, 100), age(days+20)) // the pair is as young as its younger half
	}
	mesa := filepath.Join(d.DriverDir(), "mesa", "mesa_shader_cache")
	writeTestFile(t, filepath.Join(mesa, "ab", "cdef"), make([]byte, 50), age(4))
	writeTestFile(t, filepath.Join(mesa, "12", "3456"), make([]byte, 50), age(7))
	writeTestFile(t, filepath.Join(mesa, "index"), make([]byte, 1000), age(99))
	writeTestFile(t, filepath.Join(mesa, "marker"), nil, age(99))
	return d, s
}

// left names the files that a prune of the fixture left, the oldest last use first.
func left(d *Dir) string {
	var names []string
	has := func(name, path string) {
		if slices.ContainsFunc(filesBelow(d.path), func(file string) bool { return strings.HasSuffix(file, path) }) {
			names = append(names, name)
		}
	}
	has("nv8", "app1.bin")
	has("nv8", "app1.toc")
	has("mesa7", "12/3456")
	has("other6", testKey(4).String()+".bin")
	has("5", testKey(2).String()+".bin")
	has("mesa4", "ab/cdef")
	has("nv3", "app0.bin")
	has("nv3", "app0.toc")
	has("2", testKey(3).String()+".bin")
	has("1", testKey(1).String()+".bin")
	has("index", "index")
	has("marker", "marker")
	return strings.Join(slices.Compact(names), " ")
}

const everything = "nv8 mesa7 other6 5 mesa4 nv3 2 1 index marker"

func TestPrune(t *testing.T) {
	_, s := pruneFixture(t)
	var size [5]int64
	for n := 1; n <= 4; n++ {
		path := s.blobPath(testKey(n))
		if n == 4 {
			path = strings.Replace(path, s.name, otherFingerprint.DirName(), 1)
		}
		info, err := os.Stat(path)
		must(t, err)
		size[n] = info.Size()
	}
	blobs := size[1] + size[2] + size[3] + size[4]
	tests := []struct {
		name    string
		options PruneOptions
		report  PruneReport
		left    string
	}{
		{"no limits", PruneOptions{}, PruneReport{}, everything},
		{"age", PruneOptions{MaxAge: 5*day + time.Hour},
			PruneReport{Programs: 1, Bytes: size[4], DriverFiles: 3, DriverBytes: 350}, "5 mesa4 nv3 2 1 index marker"},
		{"age, clock given", PruneOptions{MaxAge: 5 * day, Now: start.Add(4*day - time.Hour)},
			PruneReport{Programs: 3, Bytes: size[4] + size[2] + size[3], DriverFiles: 6, DriverBytes: 700}, "1 index marker"},
		{"bytes, nothing to do", PruneOptions{MaxBytes: blobs + 700}, PruneReport{}, everything},
		{"bytes, one", PruneOptions{MaxBytes: blobs + 699}, PruneReport{DriverFiles: 2, DriverBytes: 300},
			"mesa7 other6 5 mesa4 nv3 2 1 index marker"},
		{"bytes, most", PruneOptions{MaxBytes: size[1] + size[3] + 300},
			PruneReport{Programs: 2, Bytes: size[2] + size[4], DriverFiles: 4, DriverBytes: 400}, "nv3 2 1 index marker"},
		{"files", PruneOptions{MaxFiles: 7}, PruneReport{Programs: 1, Bytes: size[4], DriverFiles: 2, DriverBytes: 300},
			"mesa7 5 mesa4 nv3 2 1 index marker"},
		{"bytes, all", PruneOptions{MaxBytes: 1},
			PruneReport{Programs: 4, Bytes: blobs, DriverFiles: 6, DriverBytes: 700}, "index marker"},
		{"age and bytes", PruneOptions{MaxAge: 7*day + time.Hour, MaxBytes: blobs + 350},
			PruneReport{Programs: 1, Bytes: size[4], DriverFiles: 2, DriverBytes: 300}, "mesa7 5 mesa4 nv3 2 1 index marker"},
		{"other", PruneOptions{OtherThan: []Fingerprint{testFingerprint}},
			PruneReport{Programs: 1, Bytes: size[4], Fingerprints: 1}, "nv8 mesa7 5 mesa4 nv3 2 1 index marker"},
		{"other and age", PruneOptions{OtherThan: []Fingerprint{testFingerprint}, MaxAge: 4*day + time.Hour},
			PruneReport{Programs: 2, Bytes: size[4] + size[2], DriverFiles: 3, DriverBytes: 350, Fingerprints: 1}, "mesa4 nv3 2 1 index marker"},
	}
	for _, test := range tests {
		for _, dry := range []bool{true, false} {
			t.Run(test.name+map[bool]string{true: ", dry"}[dry], func(t *testing.T) {
				d, _ := pruneFixture(t)
				test.options.DryRun = dry
				report, err := d.Prune(test.options)
				must(t, err)
				if report != test.report {
					t.Errorf("report\ngot  %+v\nwant %+v", report, test.report)
				}
				want := test.left
				if dry {
					want = everything
				}
				if got := left(d); got != want {
					t.Errorf("left\ngot  %s\nwant %s", got, want)
				}
				infos, err := d.Fingerprints()
				must(t, err)
				for _, info := range infos {
					indexed := d.storeNamed(info.Dir).readIndex().programs
					if indexed != nil && len(indexed) != info.Programs {
						t.Errorf("%s: %d programs in the index, %d on disk", info.Dir, len(indexed), info.Programs)
					}
				}
				if c := lifetime(t, d); c.DiskHits != 1 {
					t.Errorf("lifetime %+v", c)
				}
			})
		}
	}
}

// What a limit counts is what DriverBytes returns: neither the files that are never
// deleted nor the holes of a file.
func TestPruneCountsWhatDriverBytesReturns(t *testing.T) {
	d := openTestDir(t)
	mesa := filepath.Join(d.DriverDir(), "mesa", "mesa_shader_cache")
	sparse := filepath.Join(mesa, "ab", "sparse")
	for _, path := range []string{filepath.Join(mesa, "index"), sparse} {
		writeTestFile(t, path, make([]byte, 100), start)
		must(t, os.Truncate(path, 64<<20))
	}
	info, err := os.Stat(sparse)
	must(t, err)
	if osfile.DiskBytes(info) == info.Size() {
		t.Log("this file system makes no holes")
	} else if bytes := d.DriverBytes(); bytes > 1<<20 {
		t.Errorf("%d bytes for a block of data", bytes)
	}
	bytes := d.DriverBytes()
	for limit, want := range map[int64]PruneReport{bytes: {}, bytes - 1: {DriverFiles: 1, DriverBytes: bytes}} {
		if r, err := d.Prune(PruneOptions{MaxBytes: limit, DryRun: true}); err != nil || r != want {
			t.Errorf("limit %d of %d: %+v, %v", limit, bytes, r, err)
		}
	}
	if r, err := d.Prune(PruneOptions{MaxBytes: 1}); err != nil || d.DriverBytes() != 0 {
		t.Errorf("%+v, %v: %d bytes are left", r, err, d.DriverBytes())
	}
}

func TestPruneKeepsLifetimeOfDeletedFingerprints(t *testing.T) {
	d := openTestDir(t)
	must(t, openTestStore(t, d, otherFingerprint).Record(nil, Counters{Compiles: 3}))
	report, err := d.Prune(PruneOptions{OtherThan: []Fingerprint{testFingerprint}})
	if report.Fingerprints != 1 || err != nil {
		t.Errorf("%+v, %v", report, err)
	}
	if c := lifetime(t, d); c.Compiles != 3 {
		t.Errorf("lifetime %+v", c)
	}
}

func TestPruneLeavesUnknownFiles(t *testing.T) {
	d, _ := pruneFixture(t)
	old := start.AddDate(-1, 0, 0)
	unknown := []string{"notes.txt", ".profile", "photos-12345678/a.jpg", "photos/blobs/b.bin", "x/blobs/.c"}
	for _, name := range unknown {
		writeTestFile(t, filepath.Join(d.path, filepath.FromSlash(name)), []byte("mine"), old)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	writeTestFile(t, filepath.Join(outside, "file"), []byte("mine"), old)
	must(t, os.Symlink(outside, filepath.Join(d.DriverDir(), "link")))
	must(t, os.Symlink(outside, filepath.Join(d.path, "link-12345678")))
	if _, err := d.Prune(PruneOptions{MaxAge: 1, MaxBytes: 1, OtherThan: []Fingerprint{{Vendor: "none"}}}); err != nil {
		t.Error(err)
	}
	files := filesBelow(d.path)
	for _, name := range unknown {
		if !slices.Contains(files, name) {
			t.Errorf("%s is gone", name)
		}
	}
	if got := filesBelow(outside); len(got) != 1 {
		t.Errorf("outside has %q", got)
	}
	for _, name := range unknown {
		must(t, os.RemoveAll(filepath.Join(d.path, filepath.FromSlash(name))))
	}
}

func TestPruneSweeps(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	putBlobs(t, s, testBlob(1), testBlob(2), testBlob(3))
	must(t, s.Reject(testKey(2), "old"))
	must(t, s.Reject(testKey(3), "young"))
	old, young := start.Add(-2*time.Hour), start.Add(-time.Minute)
	rejected := filepath.Join(s.path, rejectedName)
	month := start.Add(-rejectedAge - time.Hour)
	must(t, os.Chtimes(filepath.Join(rejected, testKey(2).String()+".bin.txt"), month, month))
	must(t, os.Chtimes(filepath.Join(rejected, testKey(3).String()+".bin.txt"), young, young))
	leftovers := []string{
		filepath.Join(d.path, ".cache_stats.json123"),
		filepath.Join(s.path, ".manifest.json123"),
		filepath.Join(rejected, ".index.db.txt123"),
		temporaryOf(s.blobPath(testKey(1))),
		filepath.Join(d.path, "remote", "0a1b2c3d", ".keys.json123"),
		filepath.Join(d.path, "remote", "0a1b2c3d", strings.Repeat("4e5f", 16), ".state.json123"),
	}
	for _, path := range leftovers {
		writeTestFile(t, path, nil, old)
	}
	fresh := temporaryOf(s.blobPath(testKey(1))) + "4"
	writeTestFile(t, fresh, nil, young)
	digits := strings.Repeat("4e5f", 16)
	parts := filepath.Join(d.path, "remote", "0a1b2c3d", digits)
	part := filepath.Join(parts, digits+".part")
	leftovers = append(leftovers, part)
	others := t.TempDir() // a link there leads to what is not ours
	film := filepath.Join(others, digits, digits+".part")
	writeTestFile(t, film, nil, start.Add(-8*24*time.Hour))
	writeTestFile(t, part, nil, start.Add(-8*24*time.Hour))
	must(t, os.Symlink(others, filepath.Join(d.path, "remote", "ffffffff")))
	writeTestFile(t, filepath.Join(parts, "5"+digits[1:]+".part"), nil, start.Add(-6*24*time.Hour))
	youngState := filepath.Join(parts, ".state.json4")
	writeTestFile(t, youngState, nil, young)
	writeTestFile(t, filepath.Join(parts, "state.json"), nil, start.Add(-8*24*time.Hour))
	writeTestFile(t, filepath.Join(parts, "film.part"), nil, start.Add(-8*24*time.Hour))
	for _, dry := range []bool{true, false} {
		report, err := s.Dir().Prune(PruneOptions{DryRun: dry})
		if report != (PruneReport{Leftovers: 8}) || err != nil {
			t.Errorf("dry %v: %+v, %v", dry, report, err)
		}
		for _, path := range leftovers {
			if _, err := os.Lstat(path); (err == nil) != dry {
				t.Errorf("dry %v: %s: %v", dry, path, err)
			}
		}
	}
	wantFiles(t, []string{fresh, youngState, filepath.Join(parts, "5"+digits[1:]+".part"), filepath.Join(parts, "state.json"), filepath.Join(parts, "film.part"), film})
	must(t, errors.Join(os.Remove(fresh), os.Remove(youngState)))
	if got := filesBelow(rejected); len(got) != 2 || !strings.HasPrefix(got[0], testKey(3).String()) {
		t.Errorf("rejected/ has %q", got)
	}
	if _, err := s.Get(testKey(1)); err != nil {
		t.Errorf("Get: %v", err)
	}
}

// temporaryOf names a temporary file of the file at path.
func temporaryOf(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"123")
}

// What another program keeps in a directory that looks like a store, or in a store, stays,
// and a dry run names every file that goes.
func TestPruneDeletesOwnFilesOnly(t *testing.T) {
	d, s := pruneFixture(t)
	old := start.AddDate(-1, 0, 0)
	key := testKey(1).String()
	other := otherFingerprint.DirName()
	mine := []string{
		"registry-1a2b3c4d/blobs/thesis.txt",
		"registry-1a2b3c4d/blobs/" + key[:2] + "/" + key + ".bin", // no blob of ours
		"registry-1a2b3c4d/index.db",
		"registry-1a2b3c4d/.config123",
		other + "/thesis.txt", other + "/blobs/thesis.txt", other + "/notes/" + key + ".json",
		other + "/blobs/" + key[:2] + "/." + key + ".bin.swp",
		s.name + "/.thesis.txt", s.name + "/.manifest.json.swp", s.name + "/blobs/.thesis", s.name + "/rejected/thesis.txt",
		s.name + "/rejected/thesis", s.name + "/tuning/.old1", s.name + "/failed/thesis.json", s.name + "/checked/thesis",
		"sources/.thesis", "sources/" + key[:2] + "/.thesis12", "sources/mine/." + key + ".glsl.zst12", ".cache_stats.json.swp", ".cache_stats.jsonx1",
	}
	for _, name := range mine {
		writeTestFile(t, filepath.Join(d.path, filepath.FromSlash(name)), []byte("mine"), old)
	}
	temporary := filepath.Join(d.path, "sources", key[:2], "."+key+sourceExt+"77")
	writeTestFile(t, temporary, nil, old)
	before := filesBelow(d.path)
	var reports [2]PruneReport
	var named [2][]string
	for i, dry := range []bool{true, false} {
		var err error
		reports[i], err = d.Prune(PruneOptions{OtherThan: []Fingerprint{testFingerprint}, DryRun: dry, Deleted: func(path string) {
			name, err := filepath.Rel(d.path, path)
			must(t, err)
			named[i] = append(named[i], filepath.ToSlash(name))
		}})
		must(t, err)
		if dry && !slices.Equal(filesBelow(d.path), before) {
			t.Error("the dry run changed the directory")
		}
	}
	if reports[0] != reports[1] || reports[0].Programs != 1 || reports[0].Fingerprints != 0 || reports[0].Leftovers != 1 {
		t.Errorf("reports %+v", reports)
	}
	after := filesBelow(d.path)
	gone := slices.DeleteFunc(before, func(name string) bool { return slices.Contains(after, name) })
	slices.Sort(named[0])
	slices.Sort(named[1])
	if !slices.Equal(named[0], gone) || !slices.Equal(named[1], gone) {
		t.Errorf("gone %q\ndry run named %q\nprune named %q", gone, named[0], named[1])
	}
	for _, name := range mine {
		if !slices.Contains(after, name) {
			t.Errorf("%s is gone", name)
		}
		must(t, os.RemoveAll(filepath.Join(d.path, filepath.FromSlash(name))))
	}
}

func TestPruneOfAMissingDirectory(t *testing.T) {
	d := openTestDir(t)
	must(t, os.RemoveAll(d.path))
	if report, err := d.Prune(PruneOptions{MaxBytes: 1}); report != (PruneReport{}) || err != nil {
		t.Errorf("%+v, %v", report, err)
	}
	if files := filesBelow(d.path); len(files) != 0 {
		t.Errorf("made %q", files)
	}
}

// A prune needs no room for the last uses of programs, which may be far later than the times
// of their files.
func TestPruneWithoutATemporaryDirectory(t *testing.T) {
	d, s := pruneFixture(t)
	must(t, s.Record([]Use{{Key: testKey(2), LastUse: start, Hits: 1}}, Counters{Compiles: 1}))
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	t.Setenv("TMP", os.Getenv("TMPDIR"))
	if report, err := d.Prune(PruneOptions{MaxAge: 4 * day}); report.Programs != 1 || err != nil {
		t.Errorf("%+v, %v; want to delete program 4 alone", report, err)
	}
}

func TestPruneWhileInUse(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 50 {
			if err := s.Put(testBlob(i % 5)); err != nil {
				t.Error(err)
			}
			if _, err := s.Get(testKey(i % 5)); err != nil && err != ErrNotFound {
				t.Error(err)
			}
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if _, err := d.Prune(PruneOptions{MaxBytes: 1}); err != nil {
			t.Error(err)
		}
	}
}
