package pack

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/shader"
)

func TestRoundTrip(t *testing.T) {
	from, to := filledDir(t), openDir(t)
	var b bytes.Buffer
	out, err := Export(&b, from, ExportOptions{})
	must(t, err)
	if out.Programs != 3 || out.Sources != 1 || out.DriverFiles != 6 || len(out.LeftOut) != 0 || len(out.Fingerprints) != 2 {
		t.Errorf("exported %+v", out)
	}
	var calls int
	in, err := Import(&b, to, ImportOptions{Trust: true, AnyDriver: true, Progress: func(done, total int64) { calls++ }})
	must(t, err)
	if in.Programs != 3 || in.Sources != 1 || in.DriverFiles != 6 || in.Present != 0 || in.Bytes != out.Bytes || in.Signed || in.MergePending {
		t.Errorf("imported %+v, exported %+v", in, out)
	}
	if in.Merge.Slots != 1 || in.Merge.Records != 1 || calls != 10 {
		t.Errorf("merged %+v, progress called %d times", in.Merge, calls)
	}
	want, got := tree(t, from.Path()), tree(t, to.Path())
	toc, bin := nvidiaSlot(1, 2, 3)
	delete(want, slotFolder+"/shadercache1.toc")
	delete(want, slotFolder+"/shadercache1.bin")
	want[slotFolder+"/shadercache0.toc"], want[slotFolder+"/shadercache0.bin"] = string(toc), string(bin)
	if !maps.Equal(got, want) {
		t.Errorf("got %q, want %q, or their bytes differ", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	store, err := to.Store(nvidiaFingerprint)
	must(t, err)
	if blob, err := store.Get(testSource(2).Key()); err != nil || blob.CompileNanos != 38_600_000 || blob.Name != "scale_2" {
		t.Errorf("got %+v, %v", blob, err)
	}
}

// Importing the same bundle again changes nothing.
func TestImportTwice(t *testing.T) {
	from := filledDir(t)
	data := exported(t, from, ExportOptions{})
	to := openDir(t)
	for round := range 3 {
		r, err := Import(bytes.NewReader(data), to, ImportOptions{Trust: true, AnyDriver: true})
		must(t, err)
		if round > 0 && (r.Programs != 0 || r.Sources != 0 || r.DriverFiles != 0 || r.Present != 10 || r.Merge.Records != 0) {
			t.Errorf("round %d: %+v", round, r)
		}
	}
	once := openDir(t)
	_, err := Import(bytes.NewReader(data), once, ImportOptions{Trust: true, AnyDriver: true})
	must(t, err)
	if !maps.Equal(tree(t, once.Path()), tree(t, to.Path())) {
		t.Error("importing three times and importing once give different files")
	}
}

func TestExportIsDeterministic(t *testing.T) {
	from := filledDir(t)
	_, key := keys(t)
	first := exported(t, from, ExportOptions{SignKey: key})
	if !bytes.Equal(first, exported(t, from, ExportOptions{SignKey: key})) {
		t.Error("two exports of one directory differ")
	}
	if !bytes.Equal(first, exported(t, filledDir(t), ExportOptions{SignKey: key})) {
		t.Error("equal directories in two places give two bundles")
	}
}

func TestExportLeavesOutDamagedFiles(t *testing.T) {
	from := filledDir(t)
	key := testSource(2).Key().String()
	program := nvidiaFingerprint.DirName() + "/blobs/" + key[:2] + "/" + key + ".bin"
	writeFile(t, from, program, []byte("not a blob"))
	source := testSource(1).Key().String()
	writeFile(t, from, "sources/"+source[:2]+"/"+source+".glsl.zst", []byte("not a source"))
	writeFile(t, from, slotFolder+"/shadercache1.toc", []byte("not a table"))
	writeFile(t, from, path.Dir(mesaFile)+"/"+strings.Repeat("b", 38), make([]byte, 100))
	writeFile(t, from, nvidiaFingerprint.DirName()+"/blobs/"+key[:2]+"/.temporary", []byte("x"))
	before := tree(t, from.Path())
	var b bytes.Buffer
	r, err := Export(&b, from, ExportOptions{})
	must(t, err)
	if r.Programs != 2 || r.Sources != 0 || r.DriverFiles != 4 || len(r.LeftOut) != 4 {
		t.Errorf("exported %+v", r)
	}
	if !maps.Equal(tree(t, from.Path()), before) {
		t.Error("an export changed the directory")
	}
	_, err = Import(&b, openDir(t), ImportOptions{Trust: true, AnyDriver: true})
	must(t, err)
}

// An entry of Mesa's that a power cut left without some of its bytes is replaced.
func TestImportReplacesDamagedEntries(t *testing.T) {
	from, to := filledDir(t), openDir(t)
	data := exported(t, from, ExportOptions{})
	for _, left := range []string{"", "\x00\x00\x00", "machine", "machine\x00\x00\x00\x00\x00", "other machine code"} {
		writeFile(t, to, mesaFile, []byte(left))
		_, err := Import(bytes.NewReader(data), to, ImportOptions{Trust: true, AnyDriver: true})
		must(t, err)
		want := "machine code"
		if left == "other machine code" {
			want = left
		}
		if got := tree(t, to.Path())[mesaFile]; got != want {
			t.Errorf("%q became %q", left, got)
		}
	}
}

// An export without programs from a directory that has some fails.
func TestExportOfNothing(t *testing.T) {
	fingerprints := func(d *binary.Dir) []string {
		paths, err := filepath.Glob(filepath.Join(d.Path(), "*", "fingerprint.json"))
		must(t, err)
		return paths
	}
	lost, damaged, recorded := filledDir(t), filledDir(t), filledDir(t)
	store, err := recorded.Store(nvidiaFingerprint)
	must(t, err)
	must(t, store.Record(nil, binary.Counters{Compiles: 1})) // writes the manifest
	for _, path := range slices.Concat(fingerprints(lost), fingerprints(recorded)) {
		must(t, os.WriteFile(path, []byte("{"), 0o600))
	}
	for name := range tree(t, damaged.Path()) {
		if strings.HasSuffix(name, ".bin") && strings.Contains(name, "/blobs/") {
			writeFile(t, damaged, name, []byte("x"))
		}
	}
	for name, d := range map[string]*binary.Dir{"empty": openDir(t), "no fingerprint": lost, "no blob": damaged} {
		if r, err := Export(&bytes.Buffer{}, d, ExportOptions{}); !errors.Is(err, ErrEmpty) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	// A fingerprint that the manifest proves is not lost.
	if r, err := Export(&bytes.Buffer{}, recorded, ExportOptions{}); err != nil || r.Programs != 2 || len(r.LeftOut) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestExportOptions(t *testing.T) {
	from := filledDir(t)
	for _, test := range []struct {
		name                     string
		options                  ExportOptions
		programs, sources, files int
	}{
		{"no driver cache", ExportOptions{NoDriverCache: true}, 3, 1, 0},
		{"no sources", ExportOptions{NoSources: true}, 3, 0, 6},
		{"one fingerprint", ExportOptions{Fingerprints: []shader.Digest{nvidiaFingerprint.Digest()}}, 2, 1, 4},
		{"the other fingerprint", ExportOptions{Fingerprints: []shader.Digest{mesaFingerprint.Digest()}}, 1, 1, 2},
		{"none", ExportOptions{Fingerprints: []shader.Digest{}}, 0, 1, 0},
	} {
		var b bytes.Buffer
		r, err := Export(&b, from, test.options)
		if err != nil || r.Programs != test.programs || r.Sources != test.sources || r.DriverFiles != test.files {
			t.Errorf("%s: %+v, %v", test.name, r, err)
		}
	}
	_, err := Export(&bytes.Buffer{}, from, ExportOptions{Fingerprints: []shader.Digest{{1}}})
	if err == nil || !strings.Contains(err.Error(), "no programs of fingerprint 01000000") {
		t.Errorf("a missing fingerprint: %v", err)
	}
}

func TestImportSkipsOtherDrivers(t *testing.T) {
	data := exported(t, filledDir(t), ExportOptions{})
	updated := nvidiaFingerprint
	updated.Version = "4.6.0 NVIDIA 590.1"
	for _, test := range []struct {
		name                              string
		current                           binary.Fingerprint
		programs, files, skipped, sources int
	}{
		{"one", nvidiaFingerprint, 2, 4, 1, 1},
		{"other", mesaFingerprint, 1, 2, 1, 1},
		{"newer build", updated, 0, 0, 2, 1},
	} {
		to := openDir(t)
		r, err := Import(bytes.NewReader(data), to, ImportOptions{Trust: true, Drivers: []binary.Fingerprint{test.current}})
		if err != nil || r.Programs != test.programs || r.DriverFiles != test.files || len(r.Skipped) != test.skipped || r.Sources != test.sources {
			t.Errorf("%s: %+v, %v", test.name, r, err)
		}
	}
	if _, err := Import(bytes.NewReader(data), openDir(t), ImportOptions{}); err == nil || !strings.Contains(err.Error(), "not known") {
		t.Errorf("without a driver: %v", err)
	}
}

// Driver files of programs that use only layer two are exported without a fingerprint.
func TestDriverFilesWithoutPrograms(t *testing.T) {
	from := openDir(t)
	toc, bin := nvidiaSlot(1)
	writeFile(t, from, slotFolder+"/shadercache0.toc", toc)
	writeFile(t, from, slotFolder+"/shadercache0.bin", bin)
	data := exported(t, from, ExportOptions{})
	for current, files := range map[*binary.Fingerprint]int{&nvidiaFingerprint: 2, &mesaFingerprint: 0} {
		r, err := Import(bytes.NewReader(data), openDir(t), ImportOptions{Trust: true, Drivers: []binary.Fingerprint{*current}})
		if err != nil || r.DriverFiles != files {
			t.Errorf("%s: %+v, %v", current.Vendor, r, err)
		}
	}
}

func TestImportKeepsPresentFiles(t *testing.T) {
	data := exported(t, filledDir(t), ExportOptions{})
	to := openDir(t)
	put(t, to, mesaFingerprint, 1, 5)
	toc, bin := nvidiaSlot(9)
	writeFile(t, to, slotFolder+"/shadercache0.toc", toc)
	writeFile(t, to, slotFolder+"/shadercache0.bin", bin)
	writeFile(t, to, mesaIndex, []byte("an index of this machine"))
	damaged := testSource(1).Key().String()
	writeFile(t, to, nvidiaFingerprint.DirName()+"/blobs/"+damaged[:2]+"/"+damaged+".bin", []byte("damaged"))
	r, err := Import(bytes.NewReader(data), to, ImportOptions{Trust: true, AnyDriver: true})
	must(t, err)
	if r.Programs != 2 || r.Present != 2 || r.Merge.Slots != 2 || r.Merge.Records != 3 {
		t.Errorf("imported %+v", r)
	}
	got := tree(t, to.Path())
	toc, bin = nvidiaSlot(9, 1, 2, 3)
	if got[slotFolder+"/shadercache0.toc"] != string(toc) || got[slotFolder+"/shadercache0.bin"] != string(bin) {
		t.Error("the slots were not merged after the present one")
	}
	if got[mesaIndex] != "an index of this machine" || got[mesaFile] != "machine code" {
		t.Error("Mesa's index was replaced, or its item not copied")
	}
}

// What an upstream directory has is not there when that goes.
func TestImportBelowAnUpstreamDirectory(t *testing.T) {
	from, to := filledDir(t), openDir(t)
	upstream, err := binary.OpenUpstream(from.Path())
	must(t, err)
	for name := range tree(t, from.Path()) { // folders that are there are not moved as a whole
		must(t, os.MkdirAll(filepath.Join(to.Path(), filepath.Dir(name)), 0o700))
	}
	r, err := Import(bytes.NewReader(exported(t, from, ExportOptions{})), to.WithUpstream(upstream), ImportOptions{Trust: true, AnyDriver: true})
	must(t, err)
	if r.Programs != 3 || r.Sources != 1 || r.Present != 0 {
		t.Errorf("imported %+v", r)
	}
}

// An import beside a process leaves the merge to a later one, and the next import adds no slot again.
func TestImportWhileTheDriverIsInUse(t *testing.T) {
	data := exported(t, filledDir(t), ExportOptions{})
	to := openDir(t)
	user, err := drivercache.Share(to.DriverDir())
	must(t, err)
	r, err := Import(bytes.NewReader(data), to, ImportOptions{Trust: true, AnyDriver: true})
	if err != nil || !r.MergePending || r.Programs != 3 || r.DriverFiles != 6 {
		t.Errorf("got %+v, %v", r, err)
	}
	must(t, user.Release())
	full := func(string) (nvidia.Report, error) { return nvidia.Report{}, syscall.ENOSPC }
	r, err = Import(bytes.NewReader(data), to, ImportOptions{Trust: true, AnyDriver: true, Merge: full})
	if err != nil || !r.MergePending {
		t.Errorf("without room for a merge: %+v, %v", r, err)
	}
	r, err = Import(bytes.NewReader(data), to, ImportOptions{Trust: true, AnyDriver: true})
	if err != nil || r.MergePending || r.DriverFiles != 0 || r.Merge.Slots != 1 {
		t.Errorf("the next: %+v, %v", r, err)
	}
}

// What is cleared beside a running process is deleted at its end. An import between the
// two keeps all that it brings, though the directory had it before.
func TestImportAfterAClearBesideAProcess(t *testing.T) {
	data := exported(t, filledDir(t), ExportOptions{})
	to := openDir(t)
	_, err := Import(bytes.NewReader(data), to, ImportOptions{Trust: true, AnyDriver: true})
	must(t, err)
	toc, bin := nvidiaSlot(9)
	writeFile(t, to, slotFolder+"/shadercache1.toc", toc)
	writeFile(t, to, slotFolder+"/shadercache1.bin", bin)
	user, err := drivercache.Share(to.DriverDir())
	must(t, err)
	cleared, err := to.Clear(binary.PruneOptions{})
	if err != nil || !cleared.DriverInUse {
		t.Errorf("cleared %+v, %v", cleared, err)
	}
	r, err := Import(bytes.NewReader(data), to, ImportOptions{Trust: true, AnyDriver: true})
	if err != nil || !r.MergePending {
		t.Errorf("imported %+v, %v", r, err)
	}
	must(t, user.Release())
	_, err = drivercache.Merge(to.DriverDir())
	must(t, err)
	records, _ := nvidia.Records(to.DriverDir())
	var got []string
	for _, r := range records {
		got = append(got, r.Entry[:2])
	}
	if slices.Sort(got); !slices.Equal(got, []string{"01", "02", "03"}) {
		t.Errorf("records %q, want those of the import", got)
	}
}

func TestOneImportAtATime(t *testing.T) {
	data := exported(t, filledDir(t), ExportOptions{})
	to := openDir(t)
	other, err := drivercache.TryExclusive(filepath.Join(to.Path(), stagingName))
	must(t, err)
	if _, err := Import(bytes.NewReader(data), to, ImportOptions{Trust: true, AnyDriver: true}); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
	staging := filepath.Join(to.Path(), stagingName, "new")
	must(t, os.MkdirAll(staging, 0o700))
	if err := Recover(to); err != nil {
		t.Errorf("beside an import: %v", err)
	}
	if _, err := os.Stat(staging); err != nil {
		t.Errorf("the other import's files: %v", err)
	}
	must(t, other.Release())
	must(t, Recover(to))
	wantEmpty(t, to)
}

func TestExportFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.bundle")
	for range 2 {
		_, err := exportFile(path, filledDir(t), ExportOptions{})
		must(t, err)
	}
	_, err := ImportFile(path, openDir(t), ImportOptions{Trust: true, AnyDriver: true})
	must(t, err)
	if _, err := exportFile(path, filledDir(t), ExportOptions{Fingerprints: []shader.Digest{{1}}}); err == nil {
		t.Error("no error for a missing fingerprint")
	}
	if files, err := os.ReadDir(filepath.Dir(path)); len(files) != 1 || err != nil {
		t.Errorf("files %v, %v", files, err)
	}
	if _, err := ImportFile(path+".missing", openDir(t), ImportOptions{Trust: true, AnyDriver: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// An export that is cancelled leaves no file, neither the bundle nor a temporary one.
func TestExportIsCancelled(t *testing.T) {
	dir := filledDir(t)
	folder := t.TempDir()
	for _, whileWriting := range []bool{false, true} {
		done := make(chan struct{})
		o := ExportOptions{Done: done}
		if whileWriting {
			o.Progress = func(int64, int64) {
				select {
				case <-done:
					t.Error("Progress was called after Done was closed")
				default:
					close(done)
				}
			}
		} else {
			close(done)
		}
		_, err := exportFile(filepath.Join(folder, "warm.scb"), dir, o)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if left, _ := os.ReadDir(folder); len(left) != 0 {
			t.Errorf("files were left: %v", left)
		}
	}
}
