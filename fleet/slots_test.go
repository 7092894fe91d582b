//go:build unix

package fleet_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/fleet"
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
		r, err := fleet.Open(d, o)
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
	// One that manages it beside another, and then has its first program.
	children["beside"] = func(dir, url string) error {
		d, err := binary.OpenDir(dir)
		if err != nil {
			return err
		}
		if s := drivercache.Manage(d.DriverDir()); !s.Managed {
			return fmt.Errorf("not managed: %v", s)
		}
		fmt.Println("ready")
		var line string
		if _, err := fmt.Scanln(&line); err != nil {
			return err
		}
		r, err := fleet.Open(d, reader(url))
		if err != nil {
			return err
		}
		report := r.Start(context.Background(), nvidiaDriver)
		drivercache.FirstProgram()
		fmt.Println(report.Outcome, slotsOf(dir))
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

// A process that made its slot before another one of the machine pulled has the machine code
// of the packs in it at its first program.
func TestSlotBesideAPull(t *testing.T) {
	url, from, to := fileURL(t), openDir(t), openDir(t)
	put(t, from, nvidiaDriver, 1)
	push(t, from, writer(url))
	first, firstLines := beside(t, to, url)
	second, secondLines := beside(t, to, url)
	wantLine(t, first, firstLines, "pulled [shadercache0.toc:56]")
	wantLine(t, second, secondLines, "current [shadercache0.toc:56 shadercache1000.toc:56]")
}

// beside starts a child that waits for a line before it uses the remote.
func beside(t *testing.T, dir *binary.Dir, url string) (in io.WriteCloser, lines *bufio.Scanner) {
	t.Helper()
	cmd := child(t, "beside", dir.Path(), url)
	cmd.Stderr = os.Stderr
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	must(t, errors.Join(inErr, outErr, cmd.Start()))
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	lines = bufio.NewScanner(out)
	if lines.Scan(); lines.Text() != "ready" {
		t.Fatalf("printed %q", lines.Text())
	}
	return in, lines
}

// wantLine lets such a child go on.
func wantLine(t *testing.T, in io.Writer, lines *bufio.Scanner, want string) {
	t.Helper()
	_, err := io.WriteString(in, "go\n")
	must(t, err)
	if lines.Scan(); lines.Text() != want {
		t.Errorf("printed %q, want %q", lines.Text(), want)
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
