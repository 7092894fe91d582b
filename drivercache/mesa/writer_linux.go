//go:build linux

package mesa

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Mesa writes its cache on a separate thread of low priority, which ends with the
// process even when writes are queued: on a busy machine, the next process compiled
// again what a process compiled right before its end. Only eglTerminate waits for that
// thread, and other code of the process may use the display. So Flush polls the
// thread's state: it sleeps when nothing is left to write.
const (
	writerName = "disk$" // after a part of the process's name, before a number
	flushTime  = 5 * time.Second
	flushPoll  = time.Millisecond
)

// Flush waits until Mesa has written what it has compiled so far, at most 5 s. It
// returns at once where another driver is loaded. It has to find the thread asleep
// twice, since the thread also sleeps while it waits for a lock.
func Flush() {
	deadline := time.Now().Add(flushTime)
	for asleep := 0; ; time.Sleep(flushPoll) {
		threads, busy := writers()
		if asleep++; busy {
			asleep = 0
		}
		if threads == 0 || asleep == 2 || time.Now().After(deadline) {
			return
		}
	}
}

// writers counts the threads of this process that write Mesa's cache, and reports
// whether one of them is running.
func writers() (threads int, busy bool) {
	files, _ := filepath.Glob("/proc/self/task/*/stat")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		if isWriter, running := parseStat(string(text)); isWriter {
			threads++
			busy = busy || running
		}
	}
	return threads, busy
}

// parseStat reads /proc/<pid>/task/<tid>/stat: the thread's number, its name in
// parentheses, which may hold any character, its state, and more.
func parseStat(stat string) (isWriter, running bool) {
	end := strings.LastIndex(stat, ") ")
	if end < 0 || !strings.Contains(stat[:end], writerName) {
		return false, false
	}
	return true, !strings.HasPrefix(stat[end:], ") S")
}

// writerThreads are the threads of this process that write Mesa's cache. It keeps their
// files open: to look for the threads costs ten times as much as to read their states.
type writerThreads struct {
	known   bool
	threads uint64 // of the process, when writers were looked for
	stats   []*os.File
	buffer  [512]byte
}

// asleep reports whether no writer is running: what was compiled so far is written.
func (w *writerThreads) asleep() bool {
	if n, ok := processThreads(); !w.known || !ok || n != w.threads {
		w.find(n)
	}
	for _, stat := range w.stats {
		n, err := stat.ReadAt(w.buffer[:], 0)
		if err != nil && n == 0 {
			continue // it has ended
		}
		if isWriter, running := parseStat(string(w.buffer[:n])); isWriter && running {
			return false
		}
	}
	return true
}

func (w *writerThreads) find(threads uint64) {
	w.forget()
	files, _ := filepath.Glob("/proc/self/task/*/stat")
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		n, _ := f.ReadAt(w.buffer[:], 0)
		if isWriter, _ := parseStat(string(w.buffer[:n])); isWriter {
			w.stats = append(w.stats, f)
		} else {
			_ = f.Close()
		}
	}
	w.known, w.threads = true, threads
}

func (w *writerThreads) forget() {
	for _, f := range w.stats {
		_ = f.Close()
	}
	w.known, w.stats = false, nil
}

// processThreads returns the number of threads of this process, as the links of a
// directory count it.
func processThreads() (uint64, bool) {
	info, err := os.Stat("/proc/self/task")
	if err != nil {
		return 0, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(stat.Nlink), true
}
