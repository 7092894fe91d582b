//go:build linux

package glctx

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Mesa writes its own cache on a thread of its own, of low priority, which ends
// with the process whatever it has in hand: where the machine is busy, a process
// that ended right after a compile left the next one to compile again. Nothing
// but eglTerminate waits for that thread, and a display is not ours alone. So
// Close looks at the thread: once there is nothing left to write it sleeps.
// NVIDIA's driver writes at once, and has no such thread.
const (
	writerName = "disk$" // behind a part of the process's name, before a number
	writerTime = 5 * time.Second
	writerPoll = time.Millisecond
)

// awaitDriverCache waits until the driver has written what it has made so far, at
// most for writerTime. A thread that waits for a lock sleeps too, for a moment;
// so it has to be found asleep twice.
func awaitDriverCache() {
	deadline := time.Now().Add(writerTime)
	for asleep := 0; ; time.Sleep(writerPoll) {
		writers, busy := driverWriters()
		if asleep++; busy {
			asleep = 0
		}
		if writers == 0 || asleep == 2 || time.Now().After(deadline) {
			return
		}
	}
}

// driverWriters counts the threads of this process that write a driver's cache,
// and reports whether one of them is at work.
func driverWriters() (writers int, busy bool) {
	files, _ := filepath.Glob("/proc/self/task/*/stat")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		if writer, atWork := driverWriter(string(text)); writer {
			writers++
			busy = busy || atWork
		}
	}
	return writers, busy
}

// driverWriter reads what Linux says of a thread: its number, its name in
// parentheses, which may hold any character, its state, and more.
func driverWriter(stat string) (writer, atWork bool) {
	end := strings.LastIndex(stat, ") ")
	if end < 0 || !strings.Contains(stat[:end], writerName) {
		return false, false
	}
	return true, !strings.HasPrefix(stat[end:], ") S")
}
