//go:build unix

package remote_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/remote"
)

func init() {
	// A process that manages its driver's cache, as one with a GL context does, before it
	// starts.
	children["managed"] = func(dir, url string) error {
		d, err := binary.OpenDir(dir)
		if err != nil {
			return err
		}
		if s := drivercache.Manage(d.DriverDir()); !s.Managed {
			return fmt.Errorf("not managed: %v", s)
		}
		o := reader(url)
		o.Budget, _ = time.ParseDuration(os.Getenv("REMOTE_TEST_BUDGET"))
		r, err := remote.Open(d, o)
		if err != nil {
			return err
		}
		report := r.Start(context.Background(), nvidiaDriver)
		fmt.Println(report.Outcome, slotsOf(dir))
		if lock, err := drivercache.TryExclusive(d.DriverDir()); err == nil {
			return fmt.Errorf("the directory is not held any more: %v", lock.Release())
		}
		return r.Close()
	}
}

// slotsOf returns the names of NVIDIA's slots in a directory, with the bytes of their lists.
func slotsOf(dir string) (slots []string) {
	list, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(slotFolder), "*.toc"))
	for _, path := range list {
		if info, err := os.Stat(path); err == nil {
			slots = append(slots, fmt.Sprintf("%s:%d", filepath.Base(path), info.Size()))
		}
	}
	slices.Sort(slots)
	return slots
}

// NVIDIA's driver reads one slot, at the first load. A start leaves one, with the machine
// code of all packs and of the directory, although the process itself holds the directory.
func TestSlotsAreMergedBeforeTheFirstLoad(t *testing.T) {
	t.Parallel()
	url, from, to := fileURL(t), openDir(t), openDir(t)
	for n := range 3 {
		put(t, from, nvidiaDriver, n)
		push(t, from, writer(url))
	}
	putSlot(t, to, 7)
	out, err := child(t, "managed", to.Path(), url, "REMOTE_TEST_BUDGET=1m").CombinedOutput()
	want := fmt.Sprintf("pulled [shadercache0.toc:%d]\n", 32+4*24)
	if err != nil || string(out) != want {
		t.Errorf("got %s, %v; want %s", out, err, want)
	}
}

// While another process uses the directory, slots stay as they are until the next start.
func TestSlotsInUseAreMergedLater(t *testing.T) {
	t.Parallel()
	url, from, to := fileURL(t), openDir(t), openDir(t)
	put(t, from, nvidiaDriver, 1)
	push(t, from, writer(url))
	putSlot(t, to, 7)
	lock, err := drivercache.Share(to.DriverDir())
	must(t, err)
	out, err := child(t, "managed", to.Path(), url, "REMOTE_TEST_BUDGET=1m").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "pulled [shadercache0.toc:56 shadercache1.toc:56]") {
		t.Errorf("got %s, %v", out, err)
	}
	must(t, lock.Release())
	if _, err := drivercache.Merge(to.DriverDir()); err != nil || len(slotsOf(to.Path())) != 1 {
		t.Errorf("after a merge: %q, %v", slotsOf(to.Path()), err)
	}
}
