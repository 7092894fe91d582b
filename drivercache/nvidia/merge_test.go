package nvidia

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/internal/osfile"
)

func TestMerge(t *testing.T) {
	full := files{}
	full.slot(0, 7, programs(10, 20, 30, 40, 50)...)
	three := files{}
	three.slot(0, 7, programs(10, 20)...)
	three.slot(1, 7, programs(30, 10, 40)...)
	three.slot(3, 7, programs(40, 50)...)
	gap := files{}
	gap.slot(1, 7, programs(10, 20)...)
	gap.slot(12, 7, programs(30, 40, 50)...)
	known := files{}
	known.slot(0, 7, programs(10, 20, 30, 40, 50)...)
	known.slot(1, 7, programs(50, 10)...)
	for _, test := range []struct {
		name  string
		files files
		want  Report
	}{
		{"three slots that share programs", three, Report{Slots: 2, Records: 9, Bytes: 9*recordBytes + 3*(5+18+17)}},
		{"no slot 0", gap, Report{Slots: 2, Records: 15, Bytes: 15*recordBytes + 5*(5+18+17)}},
		{"nothing new", known, Report{Slots: 1}},
		{"one slot", full, Report{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			driver := test.files.write(t)
			r, err := Merge(driver)
			if err != nil || !reflect.DeepEqual(r, test.want) {
				t.Errorf("got %+v, %v, want %+v", r, err, test.want)
			}
			wantFiles(t, readFiles(t, driver), full)
			if again, err := Merge(driver); err != nil || !reflect.DeepEqual(again, Report{}) {
				t.Errorf("a second merge did %+v, %v", again, err)
			}
			wantFiles(t, readFiles(t, driver), full)
		})
	}
}

// The offsets of a slot have 32 bits: what lies beyond is left to the driver.
func TestMergeFillsUpTo4GiB(t *testing.T) {
	last := entry{offset: math.MaxUint32 - 200, size: 100 - recordBytes}
	m := folderMerge{merged: slot{entries: []entry{last}}}
	m.planCopy(1, &slot{entries: []entry{
		{id: RecordID{1}, offset: headerBytes, size: 101 - recordBytes},
		{id: RecordID{2}, offset: headerBytes, size: 100 - recordBytes},
	}})
	if len(m.pieces) != 1 || m.pieces[0].at.id != (RecordID{2}) || m.merged.end() != math.MaxUint32 {
		t.Errorf("copies %+v, the slot ends at %d", m.pieces, m.merged.end())
	}
}

// farRecords is a .bin whose records are those of entries.
type farRecords struct{ s *slot }

func (f farRecords) ReadAt(p []byte, offset int64) (int, error) {
	clear(p)
	if offset == 0 {
		copy(p, f.s.header[:])
	}
	for _, e := range f.s.entries {
		if offset == int64(e.offset) {
			copy(p[4:], e.id[:])
			binary.LittleEndian.PutUint32(p[28:], e.size)
		}
	}
	return len(p), nil
}

// A record that ends beyond what an offset can name is none: nothing could follow it.
func TestSlotsEndBefore4GiB(t *testing.T) {
	for size, fails := range map[uint32]bool{math.MaxUint32 - headerBytes - recordBytes: false, math.MaxUint32 - headerBytes - recordBytes + 1: true} {
		s := &slot{entries: []entry{{id: RecordID{1}, offset: headerBytes, size: size}}}
		copy(s.header[:], magic)
		binary.LittleEndian.PutUint32(s.header[4:], version)
		if _, err := parseSlot(s.toc(), farRecords{s}); (err != nil) != fails {
			t.Errorf("a record of %d bytes: %v", size, err)
		}
	}
}

// The .toc of a slot is deleted before its .bin: drivers ignore a .bin alone.
func TestSlotsAreRemovedByTheirToc(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	must(t, err)
	defer root.Close()
	must(t, errors.Join(root.WriteFile(stem(1)+".toc", nil, 0o600), root.MkdirAll(stem(1)+".bin/stays", 0o700)))
	if err := removeSlot(root, ".", 1); err == nil {
		t.Error("a folder that is not empty was removed")
	}
	if _, err := root.Lstat(stem(1) + ".toc"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the .toc is there: %v", err)
	}
}

// A slot that became shorter after it was read ends the merge before anything is replaced.
func TestMergeOfASlotThatBecomesShorter(t *testing.T) {
	f := files{}
	f.slot(1, 7, programs(10)...)
	root, err := os.OpenRoot(filepath.Join(f.write(t), Folder))
	must(t, err)
	defer root.Close()
	m := folderMerge{root: root, folder: testFolder}
	var copied bytes.Buffer
	whole := int64(len(f[stem(1)+".bin"]))
	if err := m.copyRange(&copied, 1, headerBytes, whole+1); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a byte more than there is: %v", err)
	}
	if err := m.copyRange(&copied, 1, headerBytes, whole); err != nil {
		t.Error(err)
	}
}

// A merge that does not fit is not begun, so that others have the rest of the volume.
func TestMergeWithoutRoom(t *testing.T) {
	slots := files{}
	slots.slot(0, 7, programs(10, 20)...)
	slots.slot(1, 7, programs(30, 40)...)
	driver := slots.write(t)
	before := readFiles(t, driver)
	t.Cleanup(func() { freeBytes = osfile.FreeBytes })
	freeBytes = func(string) (int64, bool) { return 1<<20 + 500, true }
	if r, err := Merge(driver); !osfile.IsNoSpace(err) || r.Slots != 0 || !strings.Contains(err.Error(), "and 1049076 are free") {
		t.Errorf("got %+v, %v", r, err)
	}
	wantFiles(t, readFiles(t, driver), before)
	freeBytes = func(string) (int64, bool) { return 1<<20 + 5000, true }
	if r, err := Merge(driver); err != nil || r.Slots != 1 {
		t.Errorf("with room: %+v, %v", r, err)
	}
}

func TestMergeWithoutSlots(t *testing.T) {
	driver := filepath.Join(t.TempDir(), "driver")
	if r, err := Merge(driver); err != nil || !reflect.DeepEqual(r, Report{}) {
		t.Errorf("no folder: %+v, %v", r, err)
	}
	must(t, os.MkdirAll(filepath.Join(driver, Folder), 0o700))
	if r, err := Merge(driver); err != nil || !reflect.DeepEqual(r, Report{}) {
		t.Errorf("an empty folder: %+v, %v", r, err)
	}
}

func TestMergeSkipsUnknownFormats(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(files)
		reason string
	}{
		{"other driver", func(f files) { f.slot(1, 8, programs(20)...) }, "another driver"},
		{"headers differ", func(f files) { f["shadercache1.toc"][31]++ }, "different drivers"},
		{"other magic", func(f files) { f["shadercache1.toc"][0]++ }, "no CDVN"},
		{"other version", func(f files) { f["shadercache1.toc"][6]++ }, "version 0x40000"},
		{"empty toc", func(f files) { f["shadercache1.toc"] = nil }, "has 0 bytes"},
		{"empty bin", func(f files) { f["shadercache1.bin"] = nil }, "ends before byte 32"},
		{"half an entry", func(f files) { f["shadercache1.toc"] = f["shadercache1.toc"][:70] }, "within an entry"},
		{"cut record", func(f files) { f["shadercache1.bin"] = f["shadercache1.bin"][:130] }, "ends before byte"},
		{"offset", func(f files) { f["shadercache1.toc"][32+16]++ }, "not where"},
		{"overlap", func(f files) { copy(f["shadercache1.toc"][56+16:56+20], []byte{32, 0, 0, 0}) }, "not where"},
		{"size", func(f files) { f["shadercache1.toc"][32+20]++ }, "do not agree"},
		{"huge size", func(f files) { f["shadercache1.toc"][32+23] = 0xFF }, "do not agree"},
		{"hash", func(f files) { f["shadercache1.toc"][32]++ }, "do not agree"},
		{"kind", func(f files) { f["shadercache1.toc"][32+8]++ }, "do not agree"},
		{"an entry twice", func(f files) { f.slot(1, 7, append(programs(20), programs(20)...)...) }, "twice"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := files{}
			f.slot(0, 7, programs(10)...)
			f.slot(1, 7, programs(20)...)
			f.slot(2, 7, programs(30)...)
			test.change(f)
			driver := f.write(t)
			surveyed, surveyErr := Snapshots(driver, func(Snapshot) error { return nil })
			r, err := Merge(driver)
			if surveyErr != nil || !reflect.DeepEqual(surveyed, r.Skipped) {
				t.Errorf("surveyed %+v, %v, skipped %+v", surveyed, surveyErr, r.Skipped)
			}
			if err != nil || r.Slots != 1 || len(r.Skipped) != 1 {
				t.Fatalf("got %+v, %v, want one slot merged and one skipped", r, err)
			}
			if left := r.Skipped[0]; left.Slot != Folder+"/"+testFolder+"/shadercache1" || !strings.Contains(left.Reason, test.reason) {
				t.Errorf("skipped: %+v, want %q", left, test.reason)
			}
			want := files{"shadercache1.toc": f["shadercache1.toc"], "shadercache1.bin": f["shadercache1.bin"]}
			want.slot(0, 7, programs(10, 30)...)
			wantFiles(t, readFiles(t, driver), want)
		})
	}
}

// Half of a slot is of no use.
func TestMergeDeletesHalfASlot(t *testing.T) {
	for _, missing := range []string{".toc", ".bin"} {
		f := files{}
		f.slot(0, 7, programs(10)...)
		f.slot(1, 7, programs(20)...)
		delete(f, "shadercache1"+missing)
		driver := f.write(t)
		r, err := Merge(driver)
		if err != nil || r.Slots != 1 || len(r.Skipped) != 0 {
			t.Errorf("without %s: %+v, %v", missing, r, err)
		}
		want := files{}
		want.slot(0, 7, programs(10)...)
		wantFiles(t, readFiles(t, driver), want)
	}
}

// A slot is not deleted that becomes whole while others are merged.
func TestMergeBesideOneThatAddsASlot(t *testing.T) {
	f := files{}
	f.slot(0, 7, programs(10)...)
	f.slot(1, 7, programs(20)...)
	f.slot(2, 7, programs(30)...)
	toc := f["shadercache2.toc"]
	delete(f, "shadercache2.toc")
	driver := f.write(t)
	t.Cleanup(func() { freeBytes = osfile.FreeBytes })
	freeBytes = func(string) (int64, bool) {
		must(t, os.WriteFile(filepath.Join(driver, Folder, filepath.FromSlash(testFolder), "shadercache2.toc"), toc, 0o600))
		return 0, false
	}
	_, err := Merge(driver)
	must(t, err)
	want := files{"shadercache2.toc": toc, "shadercache2.bin": f["shadercache2.bin"]}
	want.slot(0, 7, programs(10, 20)...)
	wantFiles(t, readFiles(t, driver), want)
}

// Other files in the folder of the slots are not changed.
func TestMergeTouchesOnlySlots(t *testing.T) {
	f := files{"other0.bin": []byte("x"), "other1.bin": []byte("y"), "shadercache01.bin": nil, "shadercache.toc": nil, "notes.txt": nil}
	f.slot(0, 7, programs(10)...)
	driver := f.write(t)
	folder := filepath.Join(driver, Folder, filepath.FromSlash(testFolder))
	outside := filepath.Join(t.TempDir(), "outside.bin")
	toc, bin := testSlot(7, programs(20)...)
	must(t, os.WriteFile(outside, bin, 0o600))
	must(t, os.Symlink(outside, filepath.Join(folder, "shadercache1.bin")))
	must(t, os.WriteFile(filepath.Join(folder, "shadercache1.toc"), toc, 0o600))
	r, err := Merge(driver)
	if err != nil || len(r.Skipped) != 1 || !strings.Contains(r.Skipped[0].Reason, "not a regular file") {
		t.Errorf("got %+v, %v", r, err)
	}
	f["shadercache1.toc"] = toc
	wantFiles(t, readFiles(t, driver), f)
	if got, err := os.ReadFile(outside); err != nil || !bytes.Equal(got, bin) {
		t.Errorf("a file outside was changed: %v", err)
	}
}

func TestMergeStopsAtABadSlotZero(t *testing.T) {
	f := files{}
	f.slot(0, 7, programs(10)...)
	f.slot(1, 7, programs(20)...)
	f["shadercache0.toc"][40]++
	driver := f.write(t)
	r, err := Merge(driver)
	if err != nil || r.Slots != 0 || len(r.Skipped) != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
	wantFiles(t, readFiles(t, driver), f)
}

// A killed process may leave one file of a slot, which no driver reads.
func TestMergeReplacesAnIncompleteSlotZero(t *testing.T) {
	for _, ext := range []string{".toc", ".bin"} {
		f := files{}
		f.slot(0, 7, programs(10)...)
		f.slot(1, 7, programs(20)...)
		delete(f, "shadercache0"+ext)
		driver := f.write(t)
		r, err := Merge(driver)
		if err != nil || r.Slots != 1 || len(r.Skipped) != 0 {
			t.Errorf("without %s: got %+v, %v", ext, r, err)
		}
		want := files{}
		want.slot(0, 7, programs(20)...)
		wantFiles(t, readFiles(t, driver), want)
	}
}

// TestMergeAfterKill puts the folder into every state that a killed merge can leave, and
// merges again: no record may be lost, and slot 0 must be readable in every state.
// Half of a slot, of a process that was killed as it copied, is deleted. Without any slot
// there is no header for slot 0, and none is made.
func TestMergeOfHalfASlotAlone(t *testing.T) {
	f := files{}
	f.slot(SlotOf(1), 1, programs(1)...)
	delete(f, stem(SlotOf(1))+".toc")
	driver := f.write(t)
	if r, err := Merge(driver); err != nil || r.Slots != 1 || len(r.Skipped) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if left := readFiles(t, driver); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestMergeAfterKill(t *testing.T) {
	before, after := files{}, files{}
	before.slot(0, 7, programs(10, 20)...)
	before.slot(1, 7, programs(30)...)
	before.slot(2, 7, programs(40)...)
	after.slot(0, 7, programs(10, 20, 30, 40)...)
	states := []func(files){
		func(f files) { f[".shadercache0.toc"] = after["shadercache0.toc"][:50] },
		func(f files) { f[".shadercache0.toc"] = after["shadercache0.toc"] },
		func(f files) { f[".shadercache0.bin"] = after["shadercache0.bin"][:99] },
		func(f files) { f[".shadercache0.bin"] = after["shadercache0.bin"] },
		func(f files) { f["shadercache0.bin"] = after["shadercache0.bin"]; delete(f, ".shadercache0.bin") },
		func(f files) { f["shadercache0.toc"] = after["shadercache0.toc"]; delete(f, ".shadercache0.toc") },
		func(f files) { delete(f, "shadercache1.toc") },
		func(f files) { delete(f, "shadercache1.bin") },
		func(f files) { delete(f, "shadercache2.toc") },
	}
	f := maps.Clone(before)
	for i, next := range states {
		next(f)
		if !f.valid(0) {
			t.Errorf("state %d: slot 0 cannot be read", i)
		}
		driver := f.write(t)
		_, err := Merge(driver)
		must(t, err)
		got := readFiles(t, driver)
		if !maps.Equal(got.records(), after.records()) {
			t.Errorf("state %d: records %d, want %d", i, len(got.records()), len(after.records()))
		}
		if !bytes.Equal(got["shadercache0.toc"], after["shadercache0.toc"]) {
			t.Errorf("state %d: slot 0 is not complete", i)
		}
	}
}

// TestEveryFlippedByte merges with each byte of each file inverted. No record of
// another slot may be lost or changed, and skipped slots must not change.
func TestEveryFlippedByte(t *testing.T) {
	f := files{}
	f.slot(0, 7, programs(10)...)
	f.slot(1, 7, programs(20, 10)...)
	f.slot(2, 7, programs(30)...)
	driver := f.write(t)
	for _, name := range slices.Sorted(slices.Values(f.names())) {
		for i := range f[name] {
			f[name][i] ^= 0xFF
			f.writeTo(t, driver)
			want := f.records()
			r, err := Merge(driver)
			if err != nil {
				t.Fatalf("%s byte %d: %v", name, i, err)
			}
			got := readFiles(t, driver)
			if !maps.Equal(got.records(), want) {
				t.Errorf("%s byte %d: records differ", name, i)
			}
			for _, left := range r.Skipped {
				stem := filepath.Base(left.Slot)
				if !bytes.Equal(got[stem+".bin"], f[stem+".bin"]) || !bytes.Equal(got[stem+".toc"], f[stem+".toc"]) {
					t.Errorf("%s byte %d: %s was changed", name, i, stem)
				}
			}
			f[name][i] ^= 0xFF
		}
	}
}

// TestEveryLength merges with each file truncated to each length.
func TestEveryLength(t *testing.T) {
	f := files{}
	f.slot(0, 7, programs(10)...)
	f.slot(1, 7, programs(20, 10)...)
	driver := f.write(t)
	for _, name := range f.names() {
		whole := f[name]
		for n := range whole {
			f[name] = whole[:n]
			f.writeTo(t, driver)
			want := f.records()
			if _, err := Merge(driver); err != nil {
				t.Fatalf("%s cut to %d: %v", name, n, err)
			}
			if !maps.Equal(readFiles(t, driver).records(), want) {
				t.Errorf("%s cut to %d: records differ", name, n)
			}
		}
		f[name] = whole
	}
}

// A driver that is killed between the two files of its first slot leaves an empty .toc. The
// next process has that slot, and finds there what the others have.
func TestMergeIntoAnEmptySlot(t *testing.T) {
	f := files{}
	f.slot(0, 7)
	f.slot(1, 7, programs(20, 10)...)
	f["shadercache0.toc"] = []byte{}
	driver := f.write(t)
	want := f.records()
	r, err := Merge(driver)
	got := readFiles(t, driver)
	if err != nil || len(r.Skipped) != 0 || len(want) == 0 || !maps.Equal(got.records(), want) || !got.valid(0) {
		t.Errorf("%+v, %v, %d of %d records", r, err, len(got.records()), len(want))
	}
}

func TestGoldenSlot(t *testing.T) {
	f := files{}
	f.slot(0, 7, programs(10)...)
	f.slot(1, 7, programs(20, 10)...)
	driver := f.write(t)
	_, err := Merge(driver)
	must(t, err)
	for name, got := range readFiles(t, driver) {
		path := filepath.Join("testdata", name)
		if *update {
			must(t, os.MkdirAll("testdata", 0o755))
			must(t, os.WriteFile(path, got, 0o644))
		}
		want, err := os.ReadFile(path)
		must(t, err)
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs (run with -update after checking)", path)
		}
	}
}

func TestSnapshotsOfASlotThatGrows(t *testing.T) {
	f := files{}
	f.slot(0, 7, programs(10)...)
	f.slot(1, 7, programs(20)...)
	f.slot(3, 8, programs(30)...)
	whole := bytes.Clone(f["shadercache0.bin"])
	f["shadercache0.bin"] = append(f["shadercache0.bin"], "a record whose entry is not written yet"...)
	f["shadercache2.bin"] = []byte("alone")
	driver := f.write(t)
	var paths []string
	left, err := Snapshots(driver, func(s Snapshot) error {
		paths = append(paths, s.Path)
		bin, err := io.ReadAll(s.Bin)
		if s.Path == Folder+"/"+testFolder+"/shadercache0" && !bytes.Equal(bin, whole) {
			t.Errorf("%s: .bin has %d bytes, want %d", s.Path, len(bin), len(whole))
		}
		return err
	})
	if err != nil || len(paths) != 2 || len(left) != 2 {
		t.Errorf("visited %q, left %+v, %v", paths, left, err)
	}
	stop := errors.New("stop")
	if _, err := Snapshots(driver, func(Snapshot) error { return stop }); err != stop {
		t.Errorf("got %v, want the error of visit", err)
	}
	if left, err := Snapshots(t.TempDir(), nil); left != nil || err != nil {
		t.Errorf("no folder: %v, %v", left, err)
	}
}

// FuzzParseSlot checks that a parsed slot is written with the same bytes, and that its
// records lie within the file.
func FuzzParseSlot(f *testing.F) {
	toc, bin := testSlot(7, programs(10, 20)...)
	f.Add(toc, bin)
	f.Add(toc[:32], bin[:32])
	f.Add(toc[:56], bin)
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, toc, bin []byte) {
		s, err := parseSlot(toc, bytes.NewReader(bin))
		if err != nil {
			if _, ok := skipReason(err); !ok {
				t.Fatalf("an error that would end a merge: %v", err)
			}
			return
		}
		if !bytes.Equal(s.toc(), toc) {
			t.Error("the table of contents is written differently")
		}
		if s.end() > int64(len(bin)) {
			t.Errorf("records end at %d of %d bytes", s.end(), len(bin))
		}
	})
}

func wantFiles(t *testing.T, got, want files) {
	t.Helper()
	if !maps.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("files %v, want %v, or their bytes differ", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}
