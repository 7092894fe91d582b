//go:build unix && !aix && !solaris

package drivercache

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/shadercache/shadercache/drivercache/nvidia"
)

// While a process uses the directory the records to drop are noted, and the first merge
// afterwards drops them.
func TestDropWhileInUse(t *testing.T) {
	dir := slotWith(t, 1)
	copySlot(t, dir, "shadercache1000") // as of a process that has ended
	items := Items(dir)
	if len(items) != 1 || items[0].Paths != nil || len(items[0].Entry) != 32 {
		t.Fatalf("items %+v", items)
	}
	if _, err := os.Lstat(dir + ".lock"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a lock was taken to list slots that are all known: %v", err)
	}
	lock, err := Share(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Drop(dir, []string{items[0].Entry}); !errors.Is(err, ErrInUse) {
			t.Errorf("while in use: %v", err)
		}
	}
	if records := recordsOfSlot0(t, dir); records != 1 || len(Items(dir)) != 0 {
		t.Errorf("%d records are there while the directory is in use, and listed are %+v", records, Items(dir))
	}
	release(t, lock)
	if _, err := Merge(dir); err != nil {
		t.Fatal(err)
	}
	if left := Items(dir); len(left) != 0 {
		t.Errorf("left %+v", left)
	}
	if _, err := os.Lstat(dir + nvidia.DropExt); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the list is still there: %v", err)
	}
	if err := Drop(dir, nil); err != nil {
		t.Error(err)
	}
}

// tocOfSlot0 returns the table of contents of slot 0.
func tocOfSlot0(t *testing.T, dir string) []byte {
	t.Helper()
	tocs, err := filepath.Glob(filepath.Join(dir, "nvidia", "GLCache", "*", "*", "shadercache0.toc"))
	if err != nil || len(tocs) != 1 {
		t.Fatal(tocs, err)
	}
	toc, err := os.ReadFile(tocs[0])
	if err != nil {
		t.Fatal(err)
	}
	return toc
}

// recordsOfSlot0 returns the number of records of slot 0, whether they are to be deleted or not.
func recordsOfSlot0(t *testing.T, dir string) int { return (len(tocOfSlot0(t, dir)) - 32) / 24 }

// listed returns the lines of the list.
func listed(t *testing.T, dir string) []string {
	t.Helper()
	lines, err := readDropList(dir)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// lastByte returns that of a slot's records.
func lastByte(t *testing.T, dir, slot string) string {
	t.Helper()
	bin, err := os.ReadFile(filepath.Join(dir, slot+".bin"))
	if err != nil {
		t.Fatal(err)
	}
	return string(bin[len(bin)-1])
}

// A record that is added after it was dropped stays, though the drop comes later, and is the new one, also
// for a process that starts before, whose slot had the other one.
func TestKeepWhatIsAddedAfterADrop(t *testing.T) {
	folder := path.Join("nvidia", "GLCache", strings.Repeat("0", 32), strings.Repeat("0", 16))
	for how, end := range map[string]func(dir string) error{
		"a start":      func(dir string) error { _, err := Merge(dir); return err },
		"a drop":       func(dir string) error { return Drop(dir, nil) },
		"another drop": func(dir string) error { return Drop(dir, []string{strings.Repeat("f", 32)}) },
	} {
		t.Run(how, func(t *testing.T) {
			dir := slotWith(t, 1)
			copySlot(t, dir, "shadercache1000") // as of a process that has ended
			lock := share(t, dir)
			if err := Drop(dir, []string{Items(dir)[0].Entry}); !errors.Is(err, ErrInUse) {
				t.Errorf("while in use: %v", err)
			}
			added := path.Join(folder, "shadercache1")
			if err := keep(dir, listed(t, dir), added); err != nil {
				t.Fatal(err)
			}
			copySlot(t, dir, "shadercache1")
			bin, err := os.ReadFile(filepath.Join(dir, added+".bin"))
			if err != nil {
				t.Fatal(err)
			}
			bin[len(bin)-1] = 'y'
			if err := os.WriteFile(filepath.Join(dir, added+".bin"), bin, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := lock.fillSlot(1); err != nil || lastByte(t, dir, path.Join(folder, "shadercache1000")) != "y" {
				t.Errorf("a process that starts then has the other one, %v", err)
			}
			if files := nvidia.SlotFiles(dir); len(files) != 6 {
				t.Errorf("slots 0, 1 and its own are not all: %q", files)
			}
			sent := ""
			_, err = nvidia.Snapshots(dir, func(s nvidia.Snapshot) error {
				data, err := io.ReadAll(s.Bin)
				sent += s.Path + string(data[len(data)-1])
				return err
			})
			if err != nil || sent != added+"y" {
				t.Errorf("an export has %q, %v", sent, err)
			}
			release(t, lock)
			if err := end(dir); err != nil {
				t.Fatal(err)
			}
			if left := Items(dir); len(left) != 1 || lastByte(t, dir, path.Join(folder, "shadercache0")) != "y" {
				t.Errorf("left %+v", left)
			}
			if _, err := os.Lstat(dir + nvidia.DropExt); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the list is still there: %v", err)
			}
		})
	}
}

// A drop that fails in one folder of two is done again, and what it kept in the other stays.
func TestDropThatFailsInOneFolder(t *testing.T) {
	dir := slotWith(t, 1)
	lock := share(t, dir)
	if err := Drop(dir, []string{Items(dir)[0].Entry}); !errors.Is(err, ErrInUse) {
		t.Errorf("while in use: %v", err)
	}
	copySlot(t, dir, "shadercache1")
	above := path.Join(nvidia.Folder, "GLCache", strings.Repeat("0", 32))
	folders := []string{path.Join(above, strings.Repeat("0", 16)), path.Join(above, strings.Repeat("1", 16))}
	if err := os.CopyFS(filepath.Join(dir, folders[1]), os.DirFS(filepath.Join(dir, folders[0]))); err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders { // as of a pull after the drop
		if err := keep(dir, listed(t, dir), path.Join(folder, "shadercache1")); err != nil {
			t.Fatal(err)
		}
	}
	release(t, lock)
	inTheWay := filepath.Join(dir, folders[1], ".shadercache2.toc")
	writeFile(t, filepath.Join(inTheWay, "file"), "")
	if _, err := Merge(dir); err == nil || len(nvidia.SlotFiles(dir)) != 6 {
		t.Errorf("with a file in the way: %v, %q", err, nvidia.SlotFiles(dir))
	}
	resetProcess(t, nil)
	if alone := shareProcess(dir); alone || process.number != 1 { // what stays is not in slot 0
		t.Errorf("a process that starts then has number %d", process.number)
	}
	release(t, process.lock)
	if err := os.RemoveAll(inTheWay); err != nil {
		t.Fatal(err)
	}
	if _, err := Merge(dir); err != nil || len(Items(dir)) != 2 || len(nvidia.SlotFiles(dir)) != 4 {
		t.Errorf("afterwards: %v, %+v, %q", err, Items(dir), nvidia.SlotFiles(dir))
	}
}

// What is dropped while a slot is made is deleted from it, too.
func TestDropWhileASlotIsMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "driver")
	defer release(t, share(t, dir))
	for _, names := range [][]string{{"b", "a"}, {"c", "b"}} {
		if err := Drop(dir, names); !errors.Is(err, ErrInUse) {
			t.Errorf("while in use: %v", err)
		}
	}
	if err := keep(dir, []string{"b", "a"}, "slot"); err != nil {
		t.Error(err)
	}
	if got := listed(t, dir); !slices.Equal(got, []string{"a", "slot", "c", "b"}) {
		t.Errorf("%q", got)
	}
	if err := Drop(dir, []string{"d"}); !errors.Is(err, ErrInUse) {
		t.Errorf("while in use: %v", err)
	}
	if err := keep(dir, []string{"a", "slot", "c", "b"}, "slot"); err != nil {
		t.Error(err)
	}
	if got := listed(t, dir); !slices.Equal(got, []string{"a", "c", "b", "slot", "d"}) {
		t.Errorf("%q", got)
	}
}

// Names that cannot be listed are an error of their own: ErrInUse says that they were.
func TestDropThatIsNotListed(t *testing.T) {
	dir := slotWith(t, 1)
	defer release(t, share(t, dir))
	other := share(t, dir+nvidia.DropExt)
	defer release(t, other)
	if err := Drop(dir, []string{Items(dir)[0].Entry}); err == nil || errors.Is(err, ErrInUse) {
		t.Errorf("beside one that changes the list: %v", err)
	}
}

// Where the list cannot be read no slot is merged: the new record may be in another than the one to delete.
func TestMergeWithoutTheList(t *testing.T) {
	dir := slotWith(t, 1)
	copySlot(t, dir, "shadercache1")
	if err := os.Mkdir(dir+nvidia.DropExt, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Merge(dir); err == nil || len(nvidia.SlotFiles(dir)) != 4 {
		t.Errorf("merged: %v, %q are left", err, nvidia.SlotFiles(dir))
	}
}

// slotWith makes a driver's folder with a slot of n records.
func slotWith(t *testing.T, n int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "driver")
	folder := filepath.Join(dir, "nvidia", "GLCache", strings.Repeat("0", 32), strings.Repeat("0", 16))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	header := append([]byte("CDVN\x00\x00\x03\x00"), make([]byte, 24)...)
	toc, bin := bytes.Clone(header), bytes.Clone(header)
	for i := range n {
		id := fmt.Sprintf("%016d", i)
		toc = append(append(toc, id...), byte(len(bin)), byte(len(bin)>>8), 0, 0, 1, 0, 0, 0)
		bin = append(append(append(bin, 9, 9, 9, 9), id...), 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 'x')
	}
	for name, data := range map[string][]byte{"shadercache0.toc": toc, "shadercache0.bin": bin} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// copySlot adds a slot with the files of slot 0.
func copySlot(t *testing.T, dir, name string) {
	t.Helper()
	folder := filepath.Join(dir, "nvidia", "GLCache", strings.Repeat("0", 32), strings.Repeat("0", 16))
	for _, extension := range []string{".toc", ".bin"} {
		data, err := os.ReadFile(filepath.Join(folder, "shadercache0"+extension))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+extension), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// While processes drop records others start, which delete what is listed. No record is
// left that was to be dropped.
func TestDropBesideOthers(t *testing.T) {
	t.Parallel()
	const droppers, each = 4, 40
	dir := slotWith(t, droppers*each)
	items := Items(dir)
	if len(items) != droppers*each {
		t.Fatalf("%d items", len(items))
	}
	var group, starts sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		starts.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := Merge(dir); err != nil && !errors.Is(err, ErrInUse) {
					t.Error(err)
				}
				if lock, err := Share(dir); err == nil { // the driver works
					_ = lock.Release()
				}
			}
		})
	}
	for d := range droppers {
		group.Go(func() {
			for _, it := range items[d*each : (d+1)*each] {
				if err := Drop(dir, []string{it.Entry}); err != nil && !errors.Is(err, ErrInUse) {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	close(done)
	starts.Wait()
	if _, err := Merge(dir); err != nil {
		t.Fatal(err)
	}
	if left := Items(dir); len(left) != 0 {
		t.Errorf("%d records are left", len(left))
	}
}

// What is to be deleted is not in what others get, beside what is not.
func TestDroppedRecordsAreNotSent(t *testing.T) {
	dir := slotWith(t, 3)
	lock, err := Share(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer release(t, lock)
	items := Items(dir)
	if err := Drop(dir, []string{items[1].Entry}); !errors.Is(err, ErrInUse) {
		t.Errorf("while in use: %v", err)
	}
	_, err = nvidia.Snapshots(dir, func(s nvidia.Snapshot) error {
		if ids, err := nvidia.RecordIDs(s.Toc); err != nil || len(ids) != 2 || ids[0].Name() != items[0].Entry || ids[1].Name() != items[2].Entry {
			t.Errorf("an export has %v, %v", ids, err)
		}
		return nil
	})
	if err != nil || recordsOfSlot0(t, dir) != 3 {
		t.Error(err)
	}
}
