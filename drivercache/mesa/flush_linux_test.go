//go:build linux

package mesa

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
)

func TestParseStat(t *testing.T) {
	for stat, want := range map[string][2]bool{
		"7 (app:disk$0) S 1 2 3":   {true, false},
		"7 (disk$12) R 1 2 3":      {true, true},
		"7 (a) S b:disk$0) D 1 2":  {true, true},
		"7 (llvmpipe-0) R 1 disk$": {false, false},
		"":                         {false, false},
	} {
		if writer, atWork := parseStat(stat); [2]bool{writer, atWork} != want {
			t.Errorf("%q: writer %v, running %v", stat, writer, atWork)
		}
	}
}

// TestFlushIgnoresSleepingWriters runs a sleeping thread with the name of Mesa's.
func TestFlushIgnoresSleepingWriters(t *testing.T) {
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
	Flush()
	text, err := os.ReadFile(stat)
	if writer, atWork := parseStat(string(text)); !writer || atWork {
		t.Errorf("it is a writer %v, running %v: %s, %v", writer, atWork, text, err)
	}
	var w writerThreads
	defer w.ForgetWriters()
	if !w.Asleep() || len(w.stats) == 0 {
		t.Errorf("%d writer threads are asleep", len(w.stats))
	}
}
