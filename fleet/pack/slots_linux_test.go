package pack

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/drivercache/nvidia"
)

// An import adds its slots when a process that rewrites those which are there is done.
func TestImportBesideADrop(t *testing.T) {
	data := exported(t, filledDir(t), ExportOptions{})
	to := openDir(t)
	toc, bin := nvidiaSlot(9)
	writeFile(t, to, slotFolder+"/shadercache0.toc", toc)
	writeFile(t, to, slotFolder+"/shadercache0.bin", bin)
	drop, err := drivercache.TryExclusive(to.DriverDir())
	must(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := Import(bytes.NewReader(data), to, ImportOptions{Trust: true, AnyDriver: true})
		done <- err
	}()
	for opened(t, to.DriverDir()+".lock") < 2 && len(done) == 0 { // until the import waits
		time.Sleep(time.Millisecond)
	}
	if slots := nvidia.SlotFiles(to.DriverDir()); len(slots) != 2 {
		t.Errorf("beside a drop there are %q", slots)
	}
	must(t, drop.Release())
	must(t, <-done)
	if records, _ := nvidia.Records(to.DriverDir()); len(records) != 4 {
		t.Errorf("%d records", len(records))
	}
}

// opened returns how often this process has a file open.
func opened(t *testing.T, file string) (n int) {
	t.Helper()
	open, err := filepath.Glob("/proc/self/fd/*")
	must(t, err)
	lock, err := os.Stat(file)
	must(t, err)
	for _, fd := range open {
		if to, err := os.Stat(fd); err == nil && os.SameFile(to, lock) {
			n++
		}
	}
	return n
}
