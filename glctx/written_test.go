//go:build linux

package glctx

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
)

func TestDriverWriters(t *testing.T) {
	for stat, want := range map[string][2]bool{
		"7 (app:disk$0) S 1 2 3":   {true, false},
		"7 (disk$12) R 1 2 3":      {true, true},
		"7 (a) S b:disk$0) D 1 2":  {true, true},
		"7 (llvmpipe-0) R 1 disk$": {false, false},
		"":                         {false, false},
	} {
		if writer, atWork := driverWriter(stat); [2]bool{writer, atWork} != want {
			t.Errorf("%q: writer %v, at work %v", stat, writer, atWork)
		}
	}
}

// TestSleepingWriterIsNotWaitedFor gives a thread the name of Mesa's.
func TestSleepingWriterIsNotWaitedFor(t *testing.T) {
	before, _ := driverWriters()
	named, done := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // never unlocked: the name goes with the thread
		named <- os.WriteFile(fmt.Sprintf("/proc/self/task/%d/comm", syscall.Gettid()), []byte("app:"+writerName+"0"), 0)
		<-done
	}()
	defer close(done)
	if err := <-named; err != nil {
		t.Fatal(err)
	}
	awaitDriverCache()
	if writers, _ := driverWriters(); writers != before+1 {
		t.Errorf("%d writers, %d before", writers, before)
	}
}
