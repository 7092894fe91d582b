package drivercache

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/drivercache/mesa"
)

// TestSettleAwaitsAWriterWithALateName: Mesa starts a thread that writes, which the system
// counts before it runs, and so before it has its name.
func TestSettleAwaitsAWriterWithALateName(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, mesa.Folder, mesa.ItemsFolder, "ab")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	file := strings.Repeat("cd", 19)
	started, run, named, done := make(chan bool), make(chan bool), make(chan error), make(chan bool)
	defer close(done)
	go func() {
		runtime.LockOSThread() // never unlocked: the name goes with the thread
		started <- true
		<-run
		named <- os.WriteFile(fmt.Sprintf("/proc/self/task/%d/comm", syscall.Gettid()), []byte("app:disk$1"), 0)
		for began := time.Now(); time.Since(began) < 200*time.Millisecond; { // busy
		}
		_ = os.WriteFile(filepath.Join(dir, file), []byte("machine code"), 0o600)
		_ = os.Rename(filepath.Join(dir, file), filepath.Join(folder, file))
		<-done
	}()
	<-started
	a := &attribution
	a.Lock()
	program := &Work{arrived: a.arrived}
	startWatches(dir)
	a.unsettled = []*Work{program}
	settled() // finds the threads that have names
	a.Unlock()
	close(run)
	if err := <-named; err != nil {
		t.Fatal(err)
	}
	Settle()
	if entries, _ := program.Entries(); !slices.Equal(entries, []string{"ab" + file}) {
		t.Errorf("the program's machine code is %q", entries)
	}
}
