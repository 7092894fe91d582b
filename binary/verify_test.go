package binary

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/shadercache/shadercache/binary/internal/index"
	"github.com/shadercache/shadercache/shader"
)

func TestVerify(t *testing.T) {
	d := openTestDir(t)
	s, other := openTestStore(t, d, testFingerprint), openTestStore(t, d, otherFingerprint)
	putBlobs(t, s, testBlob(0), testBlob(1), testBlob(2))
	blob := testBlob(5)
	blob.Fingerprint = otherFingerprint.Digest()
	putBlobs(t, other, blob)
	must(t, s.Record([]Use{{Key: testKey(0), Hits: 3, LastUse: start}}, Counters{DiskHits: 3}))
	must(t, d.PutSource(shader.MustSource("one", "void main() {}", nil)))
	must(t, d.PutSource(shader.MustSource("two", "void main() { }", nil)))
	if r, err := d.Verify(false, nil); err != nil || !r.OK() || r.Good != 4 || r.Sources != 2 || r.Unknown+r.Leftovers != 0 {
		t.Fatalf("a sound directory: %+v, %v", r, err)
	}

	flip(t, s.blobPath(testKey(1)))
	flip(t, sources.path(d.path, shader.MustSource("", "void main() {}", nil).Key()))
	flip(t, filepath.Join(s.path, index.Name))
	writeTestFile(t, filepath.Join(s.path, "blobs", "ab", "stray"), nil, start)
	writeTestFile(t, temporaryOf(s.blobPath(testKey(0))), nil, start.Add(-2*time.Hour))
	must(t, s.Refuse(Quarantined{Key: testKey(9), Name: "nine", Action: ActionCompile}))
	must(t, s.quarantine(Quarantined{Key: testKey(8), Name: "eight", Action: ActionCompile, Suspect: true, Time: start}))
	var calls int
	want := VerifyReport{Good: 3, Sources: 1, Damaged: 3, Unknown: 1, Leftovers: 1, Quarantined: 1, Suspects: 1}
	for _, repair := range []bool{false, true} {
		r, err := d.Verify(repair, func(VerifyReport) { calls++ })
		want.Bytes, want.Problems, want.Fixed = r.Bytes, r.Problems, 0
		if repair {
			want.Fixed = want.Damaged + want.Quarantined
		}
		if err != nil || fmt.Sprint(r) != fmt.Sprint(want) || len(r.Problems) != 5 || r.OK() {
			t.Errorf("repair %v: %+v, %v", repair, r, err)
		}
	}
	if calls != 8 {
		t.Errorf("%d calls of progress, want 8", calls)
	}
	r, err := d.Verify(true, nil)
	if err != nil || !r.OK() || r.Good != 3 || r.Unknown != 1 || r.Leftovers != 0 {
		t.Errorf("after the repair: %+v, %v", r, err)
	}
	if c := lifetime(t, d); c.DiskHits != 3 {
		t.Errorf("lifetime after the repair: %+v", c)
	}
	if n := d.SourceCount(); n != 1 {
		t.Errorf("%d sources are left", n)
	}
}

// A fingerprint.json that is damaged or missing is named, does not hide the programs, and
// is written again where another file proves the fingerprint.
func TestVerifyFingerprint(t *testing.T) {
	sound, err := json.Marshal(fingerprintFile{fingerprintSchema, shader.Digest{1}, testFingerprint})
	must(t, err)
	for name, damage := range map[string]func(t *testing.T, path string){
		"damaged":     func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("{"), 0o600)) },
		"missing":     func(t *testing.T, path string) { must(t, os.Remove(path)) },
		"a directory": func(t *testing.T, path string) { must(t, os.Remove(path)); must(t, os.Mkdir(path, 0o700)) },
		"fields left": func(t *testing.T, path string) {
			must(t, os.WriteFile(path, sound, 0o600))
			must(t, os.Remove(filepath.Join(filepath.Dir(path), manifestName)))
		},
		"upstream": func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t, os.Remove(filepath.Join(filepath.Dir(path), manifestName)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, up := openTestDir(t), openTestDir(t)
			s := openTestStore(t, d, testFingerprint)
			putBlobs(t, s, testBlob(0), testBlob(1))
			must(t, s.Record(nil, Counters{DiskHits: 1}))
			if name == "upstream" {
				putBlobs(t, openTestStore(t, up, testFingerprint), testBlob(0))
				d = d.WithUpstream(up)
			}
			damage(t, s.file(fingerprintName))
			infos, err := d.Fingerprints()
			if err != nil || len(infos) != 1 || infos[0].Programs != 2 || infos[0].Fingerprint.Digest() != testFingerprint.Digest() {
				t.Errorf("fingerprints %+v, %v", infos, err)
			}
			for _, repair := range []bool{false, true} {
				r, err := d.Verify(repair, nil)
				fixed := repair && r.Fixed == 1 || !repair && r.Fixed == 0
				if err != nil || r.Damaged != 1 || !fixed || r.Good != 2 || r.Problems[0].Path != s.file(fingerprintName) {
					t.Errorf("repair %v: %+v, %v", repair, r, err)
				}
			}
			if r, err := d.Verify(false, nil); err != nil || !r.OK() {
				t.Errorf("after the repair: %+v, %v", r, err)
			}
			if !d.storeNamed(s.name).readFingerprint() {
				t.Error("fingerprint.json was not written")
			}
		})
	}
}

// Without a proof nothing is written, the programs stay, and the damage remains.
func TestVerifyUnprovenFingerprint(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	putBlobs(t, s, testBlob(0))
	must(t, os.WriteFile(s.file(fingerprintName), []byte("{"), 0o600))
	lost := openTestStore(t, d, otherFingerprint)
	must(t, lost.Record(nil, Counters{DiskHits: 1}))
	must(t, os.WriteFile(lost.file(fingerprintName), []byte("{"), 0o600))
	must(t, os.Remove(lost.file(manifestName)))
	before := filesBelow(d.path)
	r, err := d.Verify(true, nil)
	if err != nil || r.Damaged != 2 || r.Fixed != 0 || r.Good != 1 || r.Problems[0].Path != s.file(fingerprintName) || r.Problems[1].Path != lost.path {
		t.Errorf("%+v, %v", r, err)
	}
	if after := filesBelow(d.path); !slices.Equal(after, before) {
		t.Errorf("files %q, before %q", after, before)
	}
}

// An earlier layout had aside/ in place of rejected/. Its files are unknown: they are
// counted, not read and not deleted.
func TestAsideOfAnEarlierLayoutIsUnknown(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	putBlobs(t, s, testBlob(0))
	name := testKey(1).String() + ".bin"
	old := start.Add(-2 * rejectedAge)
	writeTestFile(t, filepath.Join(s.path, "aside", name), encode(t, testBlob(1)), old)
	writeTestFile(t, filepath.Join(s.path, "aside", name+reasonExt), []byte("refused"), old)
	for _, repair := range []bool{false, true} {
		r, err := d.Verify(repair, nil)
		if err != nil || !r.OK() || r.Good != 1 || r.Unknown != 1 || r.Leftovers != 0 || len(r.Problems) != 1 ||
			r.Problems[0] != (Problem{filepath.Join(s.path, "aside"), "is not a file of the cache"}) {
			t.Errorf("repair %v: %+v, %v", repair, r, err)
		}
	}
	if report, err := d.Prune(PruneOptions{}); err != nil || report != (PruneReport{}) {
		t.Errorf("Prune: %+v, %v", report, err)
	}
	if e := s.Explain(testKey(1)); e.Rejected != "" || e.Stored {
		t.Errorf("Why: %+v", e)
	}
	if files := filesBelow(filepath.Join(s.path, "aside")); len(files) != 2 {
		t.Errorf("files %q", files)
	}
}

// flip damages a file in its middle.
func flip(t testing.TB, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	data[len(data)/2] ^= 1
	must(t, os.WriteFile(path, data, 0o600))
}

func TestAll(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // the system's has files of other processes
	s := openTestStore(t, openTestDir(t), testFingerprint)
	for range s.All() {
		t.Fatal("a program in an empty store")
	}
	for n := range 40 {
		putBlobs(t, s, testBlob(n))
	}
	must(t, s.Record([]Use{{Key: testKey(3), Hits: 7, LastUse: start}}, Counters{}))
	must(t, os.Truncate(s.blobPath(testKey(4)), 100))
	foreign := *testBlob(5)
	foreign.Fingerprint = otherFingerprint.Digest()
	data, err := foreign.Encode()
	must(t, err)
	writeTestFile(t, s.blobPath(testKey(5)), data, start)
	whole, err := os.ReadFile(s.blobPath(testKey(7)))
	must(t, err)
	writeTestFile(t, s.blobPath(testKey(7)), append(whole, 0), start)
	name := testKey(6).String() // as no store writes it
	writeTestFile(t, filepath.Join(s.path, blobsName, strings.ToUpper(name[:2]), strings.ToUpper(name)+blobExt), data, start)
	var keys []string
	for e, err := range s.All() {
		keys = append(keys, e.Key.String())
		if (err != nil) != slices.Contains([]shader.Key{testKey(4), testKey(5), testKey(7)}, e.Key) || (e.Hits == 7) != (e.Key == testKey(3)) {
			t.Errorf("%s: %+v, %v", e.Key.Short(), e, err)
		}
		// The index is free meanwhile.
		if len(keys) == 1 {
			must(t, s.Record(nil, Counters{Compiles: 1}))
		}
	}
	if len(keys) != 40 || !isSorted(keys) {
		t.Errorf("%d keys, sorted: %v", len(keys), isSorted(keys))
	}
	for range s.All() {
		break
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "shadercache-index-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func isSorted(list []string) bool {
	for i := 1; i < len(list); i++ {
		if list[i-1] > list[i] {
			return false
		}
	}
	return true
}

func TestSourceFiles(t *testing.T) {
	d := openTestDir(t)
	src, err := shader.ReadSource(fstest.MapFS{
		"blur.comp": {Data: []byte("#include \"lib.glsl\"\n" + strings.Repeat("// long\n", 1000) + "void main() {}\n")},
		"lib.glsl":  {Data: []byte("// library\n")},
	}, "blur.comp", shader.Defines{"N": "1"})
	must(t, err)
	if _, err := d.Source(src.Key()); !errors.Is(err, ErrNotFound) {
		t.Errorf("before: %v", err)
	}
	for range 2 {
		must(t, d.PutSource(src))
	}
	got, err := d.Source(src.Key())
	must(t, err)
	if got.Text() != src.Text() || got.Name() != "blur" || got.Key() != src.Key() || len(got.Files()) != 2 {
		t.Errorf("got %+v", got)
	}
	path := sources.path(d.path, src.Key())
	data, err := os.ReadFile(path)
	must(t, err)
	if len(data) > 300 {
		t.Errorf("%d bytes for %d", len(data), len(src.Text()))
	}
	// A flip may change the name, which is a label, but never the text.
	for i := range data {
		for bit := range 8 {
			bad := append([]byte(nil), data...)
			bad[i] ^= 1 << bit
			must(t, os.WriteFile(path, bad, 0o600))
			if got, err := d.Source(src.Key()); err == nil && got.Text() != src.Text() || err != nil && !errors.Is(err, ErrDamaged) {
				t.Fatalf("byte %d, bit %d: %v", i, bit, err)
			}
		}
		must(t, os.WriteFile(path, data[:i], 0o600))
		if _, err := d.Source(src.Key()); !errors.Is(err, ErrDamaged) {
			t.Fatalf("%d bytes: %v", i, err)
		}
	}
	// What is damaged is made again, unless the directory is only read.
	for _, want := range []error{ErrDamaged, ErrNotFound} {
		if _, err := openTestStore(t, d, testFingerprint).Source(src.Key()); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	must(t, d.PutSource(src))
	if got, err := d.Source(src.Key()); err != nil || got.Text() != src.Text() {
		t.Errorf("made again: %v", err)
	}
	must(t, os.Truncate(path, 3))
	upstream, err := OpenUpstream(d.path)
	must(t, err)
	for range 2 {
		if _, err := openTestStore(t, upstream, testFingerprint).Source(src.Key()); !errors.Is(err, ErrDamaged) {
			t.Errorf("upstream: %v", err)
		}
	}
}

func FuzzDecodeSource(f *testing.F) {
	f.Add(compress([]byte("{\"name\":\"a\"}\nvoid main() {}")))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := decodeSource(shader.Key{}, data); err != nil && !errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
	})
}

func TestMissing(t *testing.T) {
	d := openTestDir(t)
	old, now := openTestStore(t, d, otherFingerprint), openTestStore(t, d, testFingerprint)
	var sources []*shader.Source
	var uses []Use
	for n := range 6 {
		src := shader.MustSource(fmt.Sprintf("p%d", n), fmt.Sprintf("// %d\nvoid main() {}", n), nil)
		sources = append(sources, src)
		must(t, d.PutSource(src))
		blob := testBlob(0)
		blob.Key, blob.Name, blob.Fingerprint = src.Key(), src.Name(), old.digest
		if n < 5 {
			putBlobs(t, old, blob)
			uses = append(uses, Use{Key: src.Key(), Hits: uint64(n), LastUse: start})
		}
		if n == 3 {
			blob.Fingerprint = now.digest
			putBlobs(t, now, blob)
		}
	}
	must(t, old.Record(uses, Counters{}))
	must(t, now.Refuse(Quarantined{Key: sources[2].Key(), Name: "p2", Action: ActionCompile}))
	must(t, now.quarantine(Quarantined{Key: sources[4].Key(), Name: "p4", Action: ActionCompile, Suspect: true, Time: start}))
	must(t, now.PutFailure(sources[1], "no"))
	list, err := now.Missing()
	must(t, err)
	var got []string
	for _, m := range list {
		got = append(got, fmt.Sprint(m.Name, ":", m.Hits))
	}
	if strings.Join(got, " ") != "p4:4 p0:0 :0" {
		t.Errorf("missing: %q", got)
	}
}

func TestWhy(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	after := shader.MustSource("blur", "void main() {\n  b;\n}", nil)
	put := func(s *Store, src *shader.Source) {
		blob := testBlob(0)
		blob.Key, blob.Name, blob.Fingerprint = src.Key(), src.Name(), s.digest
		putBlobs(t, s, blob)
	}
	if e := s.Explain(after.Key()); e.Stored {
		t.Fatalf("got %+v", e)
	}
	put(s, after)
	if e := s.Explain(after.Key()); !e.Stored || e.Name != "blur" || e.Damage != "" {
		t.Errorf("stored: %+v", e)
	}
	flip(t, s.blobPath(after.Key()))
	if e := s.Explain(after.Key()); e.Stored || e.Damage == "" {
		t.Errorf("damaged: %+v", e)
	}
	must(t, s.Reject(after.Key(), "looked wrong"))
	must(t, s.Refuse(Quarantined{Key: after.Key(), Name: "blur", Action: ActionCompile}))
	must(t, s.PutFailure(after, "0:1: no"))
	if e := s.Explain(after.Key()); !strings.Contains(e.Rejected, "looked wrong") || e.Quarantine == nil || e.Failure != "0:1: no" {
		t.Errorf("rejected: %+v", e)
	}
	if e := s.Explain(testKey(99)); e.Stored || e.Name != "" {
		t.Errorf("unknown: %+v", e)
	}
}

func TestDiff(t *testing.T) {
	a := shader.MustSource("", "x\n", nil)
	for text, want := range map[string]*shader.LineDiff{"x\n": nil, "y\n": {Line: 3, Ours: "x", Theirs: "y"}, "x\nz": {Line: 4, Ours: "", Theirs: "z"}, "x": {Line: 3, Ours: "x", Theirs: "x"}} {
		got := a.Diff(shader.MustSource("", text, nil))
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}
