//go:build linux

package mesa

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watched are the events that show what a driver does with its files: it writes a new
// one under a temporary name and renames it, and opens a file to read it.
const watched = unix.IN_MOVED_TO | unix.IN_OPEN | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW

// inotifyHeader is the size of an event without its name: watch, mask, cookie, length.
const inotifyHeader = 16

// Watch reports which files of Mesa's cache are added and read, by any process: inotify
// does not say by which. It is for one goroutine at a time. It holds up to 257 watches
// and one of the 128 inotify instances that a user may have.
type Watch struct {
	fd      int // an os.File would make its reads wait
	path    string
	folders map[int32]string // by watch: two digits; "" for the folder above them
	buffer  []byte
	own     map[string]int // events of this type's own reads that are to come
	writerThreads
}

// NewWatch watches the cache below a cache directory's driver folder. It returns an error
// that matches fs.ErrNotExist where Mesa keeps no file for an entry there.
func NewWatch(driverDir string) (*Watch, error) {
	path := filepath.Join(driverDir, Folder, ItemsFolder)
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("mesa: watch: %w", err)
	}
	w := &Watch{
		fd:      fd,
		path:    path,
		folders: map[int32]string{},
		buffer:  make([]byte, 64<<10),
		own:     map[string]int{},
	}
	if err := w.add("", unix.IN_CREATE); err != nil {
		w.Close()
		return nil, fmt.Errorf("mesa: watch %s: %w", path, err)
	}
	folders, err := os.ReadDir(path)
	for _, f := range folders {
		if entryFolder.MatchString(f.Name()) && f.IsDir() && err == nil {
			err = w.add(f.Name(), 0)
		}
	}
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("mesa: watch %s: %w", path, err)
	}
	return w, nil
}

// Close ends the watch.
func (w *Watch) Close() {
	_ = unix.Close(w.fd)
	w.ForgetWriters()
}

// add watches a folder of entries, or with "" the folder above them.
func (w *Watch) add(folder string, more uint32) error {
	wd, err := unix.InotifyAddWatch(w.fd, filepath.Join(w.path, folder), watched|more)
	if err == nil {
		w.folders[int32(wd)] = folder
	}
	return err
}

// Changes returns the names of the entries with machine code that were added since the
// last call, and of all entries that were read. It does not wait. Results of linking do
// not count: a program that is loaded from a binary needs none.
func (w *Watch) Changes() (added, read []string) {
	for {
		n, err := unix.Read(w.fd, w.buffer[:len(w.buffer)-maxItemHeader])
		if err != nil || n < inotifyHeader {
			return added, read
		}
		for events := w.buffer[:n]; len(events) >= inotifyHeader; {
			wd := int32(binary.NativeEndian.Uint32(events))
			mask := binary.NativeEndian.Uint32(events[4:])
			end := inotifyHeader + int(binary.NativeEndian.Uint32(events[12:]))
			file := strings.TrimRight(string(events[inotifyHeader:end]), "\x00")
			events = events[end:]
			folder, known := w.folders[wd]
			switch {
			case !known:
			case folder == "" && mask&unix.IN_ISDIR != 0 && mask&unix.IN_CREATE != 0:
				added = append(added, w.addNew(file)...)
			case folder == "" || !entryFile.MatchString(file):
			case mask&unix.IN_MOVED_TO != 0:
				if !w.isLinkResult(folder, file) {
					added = append(added, folder+file)
				}
			case w.own[folder+file] > 0:
				w.own[folder+file]--
			case mask&unix.IN_OPEN != 0:
				read = append(read, folder+file)
			}
		}
	}
}

// addNew watches a folder that was made just now, and returns the entries that are in it
// already. Their events may follow.
func (w *Watch) addNew(folder string) (entries []string) {
	if !entryFolder.MatchString(folder) || w.add(folder, 0) != nil {
		return nil
	}
	files, _ := os.ReadDir(filepath.Join(w.path, folder))
	for _, f := range files {
		if entryFile.MatchString(f.Name()) && !w.isLinkResult(folder, f.Name()) {
			entries = append(entries, folder+f.Name())
		}
	}
	return entries
}

// isLinkResult reports whether an entry is the result of linking a program.
func (w *Watch) isLinkResult(folder, file string) bool {
	f, err := os.Open(filepath.Join(w.path, folder, file))
	if err != nil {
		return false
	}
	defer f.Close()
	w.own[folder+file]++
	n, _ := f.ReadAt(w.buffer[len(w.buffer)-maxItemHeader:], 0)
	return linkResult(w.buffer[len(w.buffer)-maxItemHeader:][:n])
}

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
	var w writerThreads
	defer w.ForgetWriters()
	deadline := time.Now().Add(flushTime)
	for asleep := 0; ; time.Sleep(flushPoll) {
		if asleep++; !w.Asleep() {
			asleep = 0
		}
		if len(w.stats) == 0 || asleep == 2 || time.Now().After(deadline) {
			return
		}
		if asleep == 1 {
			w.ForgetWriters()
		}
	}
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
	threads uint64 // of the process, when writers were looked for; 0 = they were not
	stats   []*os.File
	head    [512]byte
}

// Asleep reports whether no writer is running: what was compiled so far is written.
func (w *writerThreads) Asleep() bool {
	threads := uint64(0) // of the process, as the links of a directory count it
	if info, err := os.Stat("/proc/self/task"); err == nil {
		threads = uint64(info.Sys().(*syscall.Stat_t).Nlink)
	}
	if threads == 0 || threads != w.threads {
		w.find()
		w.threads = threads
	}
	for _, stat := range w.stats {
		n, err := stat.ReadAt(w.head[:], 0)
		if err != nil && n == 0 {
			continue // it has ended
		}
		if isWriter, running := parseStat(string(w.head[:n])); isWriter && running {
			return false
		}
	}
	return true
}

func (w *writerThreads) find() {
	w.ForgetWriters()
	files, _ := filepath.Glob("/proc/self/task/*/stat")
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		n, _ := f.ReadAt(w.head[:], 0)
		if isWriter, _ := parseStat(string(w.head[:n])); isWriter {
			w.stats = append(w.stats, f)
		} else {
			_ = f.Close()
		}
	}
}

// ForgetWriters closes their files, so that the next Asleep looks for the threads. Mesa starts more
// while much waits to be written, and one has its name only once it runs, on a busy machine long
// after it was counted.
func (w *writerThreads) ForgetWriters() {
	for _, f := range w.stats {
		_ = f.Close()
	}
	w.threads, w.stats = 0, nil
}
