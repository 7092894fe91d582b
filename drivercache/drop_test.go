//go:build unix && !aix && !solaris

package drivercache

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
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
	if len(Items(dir)) != 1 {
		t.Error("a record was dropped while the directory was in use")
	}
	release(t, lock)
	if _, err := Merge(dir); err != nil {
		t.Fatal(err)
	}
	if left := Items(dir); len(left) != 0 {
		t.Errorf("left %+v", left)
	}
	if _, err := os.Lstat(dir + dropExt); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the list is still there: %v", err)
	}
	if err := Drop(dir, nil); err != nil {
		t.Error(err)
	}
}

// A record that is added after it was dropped stays, though the drop comes later.
func TestKeepWhatIsAddedAfterADrop(t *testing.T) {
	dir := slotWith(t, 1)
	tocs, err := filepath.Glob(filepath.Join(dir, "nvidia", "GLCache", "*", "*", "shadercache0.toc"))
	if err != nil || len(tocs) != 1 {
		t.Fatal(tocs, err)
	}
	toc, err := os.ReadFile(tocs[0])
	if err != nil {
		t.Fatal(err)
	}
	lock, err := Share(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := Drop(dir, []string{Items(dir)[0].Entry}); !errors.Is(err, ErrInUse) {
		t.Errorf("while in use: %v", err)
	}
	if err := keep(dir, toc); err != nil {
		t.Fatal(err)
	}
	copySlot(t, dir, "shadercache1")
	release(t, lock)
	if _, err := Merge(dir); err != nil {
		t.Fatal(err)
	}
	if left := Items(dir); len(left) != 1 {
		t.Errorf("left %+v", left)
	}
	if _, err := os.Lstat(dir + dropExt); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the list is still there: %v", err)
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
