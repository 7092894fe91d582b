package pack

import (
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/internal/powercut"
)

func init() {
	// Calls are counted for each thread, so the child has one: with one CPU, the reader of a
	// bundle writes the files.
	children["import-in-cut"] = func(dir, file string) error {
		runtime.LockOSThread()
		runtime.GOMAXPROCS(1)
		to, err := binary.OpenDir(dir)
		if err != nil {
			return err
		}
		_, err = ImportFile(file, to, ImportOptions{Trust: true, AnyDriver: true})
		return err
	}
}

// importBefore fills a directory as it is before the import: a program and a slot that the
// bundle has too, and others of its own.
func importBefore(t *testing.T, d *binary.Dir) {
	t.Helper()
	put(t, d, nvidiaFingerprint, 1, 50)
	put(t, d, mesaFingerprint, 51)
	must(t, d.PutSource(testSource(50)))
	toc, bin := nvidiaSlot(1, 40)
	writeFile(t, d, slotFolder+"/shadercache0.toc", toc)
	writeFile(t, d, slotFolder+"/shadercache0.bin", bin)
	writeFile(t, d, path.Dir(mesaFile)+"/0000000000000000000000000000000000000a", []byte("machine code from before"))
}

// TestPowerCutOfAnImport kills an import before each of its writes and cuts the power.
// What was there before is there, and what is there is sound, at once and when the next
// start has recovered the import.
func TestPowerCutOfAnImport(t *testing.T) {
	v := powercut.NewVolume(t)
	from := filledDir(t)
	for n := range 8 {
		put(t, from, mesaFingerprint, n+10)
	}
	putTuning(t, from, nvidiaFingerprint, "p", 1)
	file := filepath.Join(t.TempDir(), "cache.bundle")
	_, err := exportFile(file, from, ExportOptions{})
	must(t, err)
	dir := filepath.Join(v.Dir(), "cache")
	to, err := binary.OpenDir(dir)
	must(t, err)
	importBefore(t, to)
	_, err = ImportFile(file, to, ImportOptions{Trust: true, AnyDriver: true})
	must(t, err)
	after := soundFiles(t, dir)
	must(t, os.RemoveAll(dir))
	to, err = binary.OpenDir(dir)
	must(t, err)
	importBefore(t, to)
	must(t, exec.Command("sync", "-f", dir).Run())
	v.Cut(powercut.Everything)
	saved := v.Save()
	before := soundFiles(t, dir)

	step := 173
	if os.Getenv("SHADERCACHE_SOAK") == "1" {
		step = 1
	}
	for _, loss := range []powercut.Loss{powercut.Everything, powercut.Data} {
		killed, n := true, 1
		for ; killed && !t.Failed(); n += step {
			v.Restore(saved)
			child := exec.Command(os.Args[0])
			child.Env = childEnv("import-in-cut", dir, file)
			killed = powercut.RunUntil(t, n, child)
			v.Cut(loss)
			wantSound(t, dir, before, after)
			to, err := binary.OpenDir(dir)
			must(t, err)
			must(t, Recover(to))
			wantSound(t, dir, before, after)
			_, err = ImportFile(file, to, ImportOptions{Trust: true, AnyDriver: true})
			must(t, err)
			if got := soundFiles(t, dir); len(got) < len(after) {
				t.Errorf("%d files after the next import, should be %d", len(got), len(after))
			}
			if t.Failed() {
				t.Logf("loss %d, before call %d", loss, n)
			}
		}
		t.Logf("loss %d: cuts before each %d of %d calls", loss, step, n)
	}
}

// soundFiles returns the content of the files that a start uses, without staging files and
// those that are rejected. The records of slots take the place of the slots, whose number
// changes: a record is a file of its identity.
func soundFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := tree(t, dir)
	files := maps.Clone(all)
	for name, data := range all {
		base := path.Base(name)
		switch {
		case strings.HasPrefix(name, stagingName+"/"), strings.HasPrefix(base, "."), path.Base(path.Dir(name)) == "rejected",
			base == "index", base == "fingerprint.json":
			delete(files, name)
		case strings.HasPrefix(name, slotFolder):
			delete(files, name)
			if stem, isTOC := strings.CutSuffix(name, ".toc"); isTOC {
				addRecords(files, data, all[stem+".bin"])
			}
		}
	}
	return files
}

// addRecords adds the records of a slot, as the table of nvidia's package comment has them.
// A slot that is not sound is a file of its own.
func addRecords(files map[string]string, toc, bin string) {
	const header, entryBytes, recordHeader = 32, 24, 32
	damaged := len(toc) < header || (len(toc)-header)%entryBytes != 0
	for at := header; !damaged && at < len(toc); at += entryBytes {
		id, offset := toc[at:at+16], int(toc[at+16])|int(toc[at+17])<<8
		end := offset + recordHeader + int(toc[at+20])
		if damaged = end > len(bin) || bin[offset+4:offset+20] != id; !damaged {
			files["record "+id] = bin[offset:end]
		}
	}
	if damaged {
		files["damaged slot"] = toc
	}
}

// wantSound checks that the files are at least those of before and at most those of after,
// with their content.
func wantSound(t *testing.T, dir string, before, after map[string]string) {
	t.Helper()
	got := soundFiles(t, dir)
	for name, data := range before {
		if got[name] != data {
			t.Errorf("%q was lost: %q", name, got[name])
		}
	}
	for name, data := range got {
		if want, known := after[name]; !known || want != data {
			t.Errorf("%q is %q, should be %q", name, data, want)
		}
	}
	d, err := binary.OpenDir(dir)
	must(t, err)
	if r, err := d.Verify(false, nil); err != nil || r.Damaged != 0 {
		t.Errorf("verify: %+v, %v", r, err)
	}
}
