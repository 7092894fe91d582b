//go:build unix && !aix && !solaris

package drivercache

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shadercache/shadercache/drivercache/mesa"
	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/internal/osfile"
)

// writeFile writes a file and its folders.
func writeFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// mesaEntry returns the path of entry n below a directory of drivers' caches.
func mesaEntry(dir string, n int) string {
	return filepath.Join(dir, mesa.Folder, mesa.ItemsFolder, fmt.Sprintf("%02x", n%256), fmt.Sprintf("%038x", n))
}

// writeEntries writes entries of Mesa's cache, and what else is in its folders.
func writeEntries(t testing.TB, dir string, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		writeFile(t, mesaEntry(dir, n), fmt.Sprintf("entry %d", n))
	}
	writeFile(t, filepath.Join(dir, mesa.Folder, mesa.ItemsFolder, mesa.Index), "index of "+dir)
	writeFile(t, filepath.Join(dir, mesa.Folder, "mesa_shader_cache_db", "part0", "mesa_cache.db"), "database")
}

// manageNew makes a new directory that of this process, and returns it.
func manageNew(t testing.TB) string {
	t.Helper()
	resetProcess(t, nil)
	dir := filepath.Join(t.TempDir(), "driver")
	if state := Manage(dir); !state.Managed {
		t.Fatal(state)
	}
	t.Cleanup(func() { AwaitRecords(time.Hour) })
	return dir
}

// content returns the files below a directory of drivers' caches, without the index.
func content(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for path := range osfile.Files(dir) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		below, _ := filepath.Rel(dir, path)
		files[below] = string(data)
	}
	return files
}

func fill(t testing.TB, from, folder string) FillReport {
	t.Helper()
	r, err := Fill(from, folder)
	AwaitRecords(time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFillMesa(t *testing.T) {
	from, dir := filepath.Join(t.TempDir(), "driver"), manageNew(t)
	writeEntries(t, from, 0, 600)
	writeFile(t, filepath.Join(filepath.Dir(mesaEntry(from, 0)), "unknown"), "no entry")
	own := mesaEntry(dir, 7)
	writeFile(t, own, "of this directory")
	before := content(t, from)

	if r := fill(t, from, mesa.Folder); r.Files != 599 || r.LeftOut != 0 || r.Bytes == 0 {
		t.Errorf("copied %+v", r)
	}
	files := content(t, dir)
	if len(files) != 600 || files[strings.TrimPrefix(own, dir+"/")] != "of this directory" {
		t.Errorf("%d files, own: %q", len(files), files[strings.TrimPrefix(own, dir+"/")])
	}
	for n := range 600 {
		if n != 7 && files[strings.TrimPrefix(mesaEntry(dir, n), dir+"/")] != fmt.Sprintf("entry %d", n) {
			t.Fatalf("entry %d: %q", n, files[strings.TrimPrefix(mesaEntry(dir, n), dir+"/")])
		}
	}
	if fmt.Sprint(content(t, from)) != fmt.Sprint(before) {
		t.Error("the source was changed")
	}
	if exists(dir + fillingExt) {
		t.Error("the staging folder is left")
	}

	// What is done is not done again, though a part was pruned since; a change is seen.
	if err := os.Remove(mesaEntry(dir, 3)); err != nil {
		t.Fatal(err)
	}
	if r := fill(t, from, mesa.Folder); r.Files != 0 || exists(mesaEntry(dir, 3)) {
		t.Errorf("again: %+v", r)
	}
	writeEntries(t, from, 600, 601)
	if r := fill(t, from, mesa.Folder); r.Files != 2 {
		t.Errorf("after a change: %+v", r)
	}
	// What a power cut emptied is not there, where its record is lost too.
	if err := errors.Join(os.Truncate(mesaEntry(dir, 5), 0), os.Remove(dir+filledExt)); err != nil {
		t.Fatal(err)
	}
	if r := fill(t, from, mesa.Folder); r.Files != 1 || content(t, dir)[strings.TrimPrefix(mesaEntry(dir, 5), dir+"/")] != "entry 5" {
		t.Errorf("after a cut: %+v", r)
	}
	// What is deleted before it is recorded is filled again.
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(dir, mesa.Folder)
	must(errors.Join(os.Remove(dir+filledExt), os.RemoveAll(folder), os.Mkdir(folder, 0o700)))
	copied, err := os.Open(folder)
	must(err)
	must(errors.Join(os.Remove(folder), os.Mkdir(folder, 0o700))) // ext4 gives away the lowest number that is free
	recordFilled(dir, mesa.Folder, "id", copied)
	if exists(dir + filledExt) {
		t.Error("a folder that was deleted is recorded")
	}
	fill(t, from, mesa.Folder)
	// A cache that was deleted is filled again, and one that crashed a driver is not.
	must(os.RemoveAll(folder))
	if r := fill(t, from, mesa.Folder); r.Files != 601 {
		t.Errorf("after it was deleted: %+v", r)
	}
	if err := SetAside(dir); err != nil {
		t.Fatal(err)
	}
	if r := fill(t, from, mesa.Folder); r.Files != 0 {
		t.Errorf("after it was set aside: %+v", r)
	}
	if r := fill(t, from, ""); r.Files != 0 {
		t.Errorf("of an unknown driver: %+v", r)
	}
}

// Flush is no wait for the disk, and AwaitRecords is one, at most for its time.
func TestAwaitRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recording.Add(1)
		time.AfterFunc(time.Minute, func() { recording.Add(-1) })
		began := time.Now()
		for _, c := range []struct {
			wait func()
			most time.Duration
		}{{Flush, 0}, {func() { AwaitRecords(time.Second) }, time.Second}, {func() { AwaitRecords(math.MaxInt64) }, time.Minute}} {
			c.wait()
			if took := time.Since(began); took < c.most || took > c.most+lockPoll {
				t.Errorf("it took %v, not %v", took, c.most)
			}
		}
	})
}

// Two sources are copied once each, also in turns.
func TestFillFromTwoSources(t *testing.T) {
	manageNew(t)
	first, second := filepath.Join(t.TempDir(), "driver"), filepath.Join(t.TempDir(), "driver")
	writeEntries(t, first, 0, 10)
	writeEntries(t, second, 5, 15)
	for round, want := range []int{10, 5, 0, 0} {
		if r := fill(t, []string{first, second}[round%2], mesa.Folder); r.Files != want {
			t.Errorf("round %d: %+v", round, r)
		}
	}
	if _, err := Fill(filepath.Join(t.TempDir(), "none"), mesa.Folder); err != nil {
		t.Errorf("no source: %v", err)
	}
}

// What another user can write is not given to the driver; the rest is.
func TestFillRefusesUnsafeFiles(t *testing.T) {
	for name, path := range map[string]func(from string) string{
		"file":   func(from string) string { return mesaEntry(from, 1) },
		"folder": func(from string) string { return filepath.Dir(mesaEntry(from, 1)) },
	} {
		from, dir := filepath.Join(t.TempDir(), "driver"), manageNew(t)
		writeEntries(t, from, 0, 3)
		if err := os.Chmod(path(from), 0o777); err != nil {
			t.Fatal(err)
		}
		for range 2 { // it is not recorded as done
			if _, err := Fill(from, mesa.Folder); err == nil || !strings.Contains(err.Error(), "can be written by others") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if exists(mesaEntry(dir, 1)) || !exists(mesaEntry(dir, 2)) {
			t.Errorf("%s: copied what is unsafe, or nothing", name)
		}
	}
}

// A link in a source leads nowhere.
func TestFillFollowsNoLinks(t *testing.T) {
	from, dir := filepath.Join(t.TempDir(), "driver"), manageNew(t)
	secret := filepath.Join(t.TempDir(), "secret")
	writeFile(t, secret, "secret")
	writeEntries(t, from, 0, 1)
	if err := os.Symlink(secret, filepath.Join(filepath.Dir(mesaEntry(from, 0)), strings.Repeat("a", 38))); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(secret), filepath.Join(from, mesa.Folder, mesa.ItemsFolder, "bb")); err != nil {
		t.Fatal(err)
	}
	if r := fill(t, from, mesa.Folder); r.Files != 1 || len(content(t, dir)) != 1 {
		t.Errorf("copied %+v: %v", r, content(t, dir))
	}
}

// Whatever a source has in the place of a file or folder, Fill ends, and copies files alone.
func TestFillFromAnything(t *testing.T) {
	entry := mesaEntry("/", 0)
	slots := "/" + nvidia.Folder + "/" + slotsFolder
	elsewhere := t.TempDir()
	for _, name := range []string{"", "/mesa", "/mesa/mesa_shader_cache", filepath.Dir(entry), entry,
		"/" + nvidia.Folder, filepath.Dir(filepath.Dir(slots)), filepath.Dir(slots), slots, slots + "/" + nvidia.App + "0.toc", slots + "/" + nvidia.App + "0.bin"} {
		for kind, put := range map[string]func(path string) error{
			"FIFO":           func(path string) error { return syscall.Mkfifo(path, 0o600) },
			"socket":         func(path string) error { return syscall.Mknod(path, syscall.S_IFSOCK|0o600, 0) },
			"directory":      func(path string) error { return os.Mkdir(path, 0o700) },
			"file":           func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) },
			"hole":           func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<42)) },
			"endless device": func(path string) error { return os.Symlink("/dev/zero", path) },
			"link":           func(path string) error { return os.Symlink(elsewhere, path) },
			"link to itself": func(path string) error { return os.Symlink(filepath.Base(path), path) },
		} {
			from, dir := filepath.Join(t.TempDir(), "driver"), manageNew(t)
			writeEntries(t, from, 0, 2)
			writeSlotOf(t, from, 0, 1)
			if err := errors.Join(os.RemoveAll(from+name), put(from+name)); err != nil {
				t.Fatal(err)
			}
			done := make(chan bool)
			go func() {
				defer close(done)
				for _, folder := range Folders() {
					_, _ = Fill(from, folder)
				}
			}()
			select {
			case <-done:
			case <-time.After(20 * time.Second):
				t.Fatalf("%s in the place of %s: Fill waits", kind, name)
			}
			_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
				if info, infoErr := os.Lstat(path); infoErr != nil || !info.IsDir() && (!info.Mode().IsRegular() || info.Size() > 1<<20) {
					t.Errorf("%s in the place of %s: copied %s, %v", kind, name, path, info)
				}
				return err
			})
			if strings.HasPrefix(name, filepath.Dir(entry)) && !exists(mesaEntry(dir, 1)) {
				t.Errorf("%s in the place of %s: the other entry is not copied", kind, name)
			}
		}
	}
}

// programsOf returns the records of the slots in a directory.
func recordsOf(dir string) map[string]bool {
	records := map[string]bool{}
	list, _ := nvidia.Records(dir)
	for _, r := range list {
		records[r.Entry] = true
	}
	return records
}

// writeSlotOf writes a slot with the records of the test data of which the hash has
// another last byte, so that they are other programs.
func writeSlotOf(t *testing.T, dir string, n int, program byte) {
	t.Helper()
	folder := filepath.Join(dir, nvidia.Folder, filepath.FromSlash(slotsFolder))
	var toc, bin []byte
	for _, extension := range []string{".toc", ".bin"} {
		data, err := os.ReadFile(filepath.Join("nvidia", "testdata", nvidia.App+"0"+extension))
		if err != nil {
			t.Fatal(err)
		}
		if extension == ".toc" {
			toc = data
		} else {
			bin = data
		}
	}
	const header, entry = 32, 24
	for at := header; at < len(toc); at += entry {
		toc[at+7] ^= program
		record := int(toc[at+16]) | int(toc[at+17])<<8 | int(toc[at+18])<<16
		bin[record+11] ^= program
	}
	writeFile(t, filepath.Join(folder, fmt.Sprint(nvidia.App, n, ".toc")), string(toc))
	writeFile(t, filepath.Join(folder, fmt.Sprint(nvidia.App, n, ".bin")), string(bin))
}

func TestFillNVIDIA(t *testing.T) {
	from, dir := filepath.Join(t.TempDir(), "driver"), manageNew(t)
	writeSlotOf(t, from, 0, 1)
	writeSlotOf(t, from, 3, 2)
	each := len(recordsOf(from)) / 2
	if r := fill(t, from, nvidia.Folder); r.Files != 4 {
		t.Errorf("into nothing: %+v", r)
	}
	if files := nvidia.SlotFiles(dir); len(files) != 2 || len(recordsOf(dir)) != 2*each || !strings.HasSuffix(files[0], nvidia.App+"0.bin") {
		t.Errorf("into nothing: %v, %d records", files, len(recordsOf(dir)))
	}
	if r := fill(t, from, nvidia.Folder); r.Files != 0 {
		t.Errorf("again: %+v", r)
	}
	// The slots that are there stay, and one with nothing new is left out.
	writeSlotOf(t, dir, 1, 9)
	writeSlotOf(t, from, 5, 3)
	if r := fill(t, from, nvidia.Folder); r.Files != 2 {
		t.Errorf("one more: %+v", r)
	}
	if records := recordsOf(dir); len(nvidia.SlotFiles(dir)) != 2 || len(records) != 4*each {
		t.Errorf("one more: %v, %d records", nvidia.SlotFiles(dir), len(records))
	}
	// Beside another process, and after the first program, a later start merges.
	other := share(t, dir)
	writeSlotOf(t, from, 6, 4)
	missing := recordsOf(from)
	maps.DeleteFunc(missing, func(entry string, _ bool) bool { return recordsOf(dir)[entry] })
	if err := Drop(dir, slices.Collect(maps.Keys(missing))); !errors.Is(err, ErrInUse) {
		t.Errorf("a drop beside another process: %v", err)
	}
	fill(t, from, nvidia.Folder)
	if all := recordsOf(dir); len(all) != 5*each {
		t.Errorf("of what was copied is to be dropped: %d records", len(all))
	}
	release(t, other)
	FirstProgram()
	writeSlotOf(t, from, 7, 5)
	fill(t, from, nvidia.Folder)
	if records := recordsOf(dir); len(nvidia.SlotFiles(dir)) != 6 || len(records) != 6*each {
		t.Errorf("in use: %v, %d records", nvidia.SlotFiles(dir), len(records))
	}
	wantInUse(t, dir)
}

// Damaged slots of the source are left out.
func TestFillLeavesDamagedSlotsOut(t *testing.T) {
	from, dir := filepath.Join(t.TempDir(), "driver"), manageNew(t)
	writeSlotOf(t, from, 0, 1)
	writeSlotOf(t, from, 1, 2)
	if err := os.Truncate(nvidia.SlotFiles(from)[0], 40); err != nil {
		t.Fatal(err)
	}
	if r := fill(t, from, nvidia.Folder); r.Files != 2 || len(recordsOf(dir)) != len(recordsOf(from)) {
		t.Errorf("copied %+v", r)
	}
}

// A process that is killed while it copies leaves only whole files, and the next one copies
// the rest.
func TestFillIsKilled(t *testing.T) {
	const entries = 1500
	from, dir := filepath.Join(t.TempDir(), "driver"), filepath.Join(t.TempDir(), "driver")
	writeEntries(t, from, 0, entries)
	content := strings.Repeat("machine code ", 500)
	for n := range entries {
		writeFile(t, mesaEntry(from, n), content)
	}
	process := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fillEnvironment+"="+from+":"+dir)
		return cmd
	}
	kills := 0
	for n := 0; n < entries-300; n += 300 { // until an entry is there that was not before
		cmd := process()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for running := true; running && len(entryFiles(t, dir, content)) <= n; {
			select {
			case <-ended:
				running = false
			case <-time.After(time.Millisecond):
			}
		}
		if cmd.Process.Kill() == nil {
			kills++
			<-ended
		}
	}
	if err := process().Run(); err != nil {
		t.Fatal(err)
	}
	if got := len(entryFiles(t, dir, content)); got != entries || kills == 0 {
		t.Errorf("%d entries of %d after %d kills", got, entries, kills)
	}
	if exists(dir + fillingExt) {
		t.Error("the staging folder is left")
	}
}

// entryFiles returns the entries of Mesa's in a directory, and fails for one that is not
// whole.
func entryFiles(t *testing.T, dir, content string) (paths []string) {
	t.Helper()
	for path, info := range osfile.Files(filepath.Join(dir, mesa.Folder, mesa.ItemsFolder)) {
		if info.Size() != int64(len(content)) {
			t.Errorf("%s has %d bytes", path, info.Size())
		}
		paths = append(paths, path)
	}
	return paths
}

// Of a slot whose copy was interrupted no file is left, and the slot is copied again.
func TestFillOfASlotIsKilled(t *testing.T) {
	from, dir := filepath.Join(t.TempDir(), "driver"), manageNew(t)
	writeSlotOf(t, from, 0, 1)
	writeSlotOf(t, dir, 0, 2)
	slot := filepath.Join(nvidia.Folder, filepath.FromSlash(slotsFolder), nvidia.App)
	for _, files := range [][]string{{".bin"}, {".bin", ".toc"}} { // in place when it was killed
		staged := filepath.Join(dir+fillingExt, slot+"0")
		for _, extension := range []string{".bin", ".toc"} {
			data, err := os.ReadFile(filepath.Join(from, slot+"0"+extension))
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, staged+extension, string(data))
		}
		for _, extension := range files {
			if err := os.Link(staged+extension, filepath.Join(dir, slot+"1"+extension)); err != nil {
				t.Fatal(err)
			}
		}
		fill(t, from, nvidia.Folder)
		if skipped, err := nvidia.Snapshots(dir, func(nvidia.Snapshot) error { return nil }); len(skipped) > 0 || err != nil {
			t.Errorf("left: %v, %v", skipped, err)
		}
		if got := len(recordsOf(dir)); got != 2*len(recordsOf(from)) {
			t.Errorf("%d records", got)
		}
		if err := os.Remove(dir + filledExt); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(dir, nvidia.Folder)); err != nil {
			t.Fatal(err)
		}
		writeSlotOf(t, dir, 0, 2)
	}
}

// Slot 0 is not taken beside other slots: a process that starts may write it from those. Of a staged
// slot whose files are being deleted nothing is missing.
func TestAddSlot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "driver")
	writeSlotOf(t, dir, 1000, 1)
	writeSlotOf(t, dir+fillingExt, 0, 2)
	folder := path.Join(nvidia.Folder, slotsFolder)
	for _, gone := range []string{"", ".toc", ".bin"} {
		staged := path.Join("driver"+fillingExt, folder, nvidia.App+"0")
		if err := os.Remove(filepath.Join(filepath.Dir(dir), staged+gone)); err != nil && gone != "" {
			t.Fatal(err)
		}
		if added, err := AddSlot(dir, staged, path.Join("driver", folder)); !added || err != nil {
			t.Errorf("without %q: %v, %v", gone, added, err)
		}
		if files := nvidia.SlotFiles(dir); len(files) != 4 || !strings.HasSuffix(files[0], "/shadercache1.bin") {
			t.Errorf("without %q: %q", gone, files)
		}
	}
}

func TestFolderOf(t *testing.T) {
	for vendor, want := range map[string]string{
		"NVIDIA Corporation|4.6.0 NVIDIA 580.159.04":         nvidia.Folder,
		"Mesa/X.org|4.5 (Core Profile) Mesa 22.3.6":          mesa.Folder,
		"Another|4.6 of another driver":                      "",
		"Intel|4.6 (Core Profile) Mesa 25.0.7-2":             mesa.Folder,
		"nouveau|4.3 (Core Profile) Mesa 21.0.0 (git-12345)": mesa.Folder,
	} {
		vendor, version, _ := strings.Cut(vendor, "|")
		if got := FolderOf(vendor, version); got != want {
			t.Errorf("%s %s: %q, not %q", vendor, version, got, want)
		}
	}
}

func BenchmarkFillMesa(b *testing.B) {
	from := filepath.Join(b.TempDir(), "driver")
	writeEntries(b, from, 0, 5000)
	big := strings.Repeat("machine code ", 400)
	for n := range 5000 {
		writeFile(b, mesaEntry(from, n), big)
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			manageNew(b)
			b.StartTimer()
			fill(b, from, mesa.Folder)
		}
	})
	b.Run("done", func(b *testing.B) {
		manageNew(b)
		fill(b, from, mesa.Folder)
		for b.Loop() {
			fill(b, from, mesa.Folder)
		}
	})
}
