//go:build linux

package mesa

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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
	writers writerThreads
	own     map[string]int // events of this type's own reads that are to come
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
	w.writers.forget()
}

// Asleep reports whether the threads of this process that write the cache are asleep.
func (w *Watch) Asleep() bool { return w.writers.asleep() }

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
