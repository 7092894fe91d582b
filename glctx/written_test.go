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
	named, done := make(chan error), make(chan struct{})
	var stat string
	go func() {
		runtime.LockOSThread() // never unlocked: the name goes with the thread
		task := fmt.Sprintf("/proc/self/task/%d/", syscall.Gettid())
		stat = task + "stat"
		named <- os.WriteFile(task+"comm", []byte("app:"+writerName+"0"), 0)
		<-done
	}()
	defer close(done)
	if err := <-named; err != nil {
		t.Fatal(err)
	}
	awaitDriverCache()
	text, err := os.ReadFile(stat)
	if writer, atWork := driverWriter(string(text)); !writer || atWork {
		t.Errorf("it is a writer %v, at work %v: %s, %v", writer, atWork, text, err)
	}
	if writers, _ := driverWriters(); writers == 0 {
		t.Error("nobody writes")
	}
}
