package nvidia

import (
	"encoding/hex"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
)

// Watch reports which records are added to the slots of one process: a driver writes a
// record and then its entry in the .toc. It is for one goroutine at a time, and keeps no
// file open. A driver's reads cannot be seen.
type Watch struct {
	driverDir string
	app       string
	folders   []*watchedFolder
}

// watchedFolder is a folder of slots with the state of its last look.
type watchedFolder struct {
	path    string
	changed time.Time        // of the folder
	slots   map[string]int64 // bytes of each .toc that were seen
}

// NewWatch watches the slots below a cache directory's driver folder whose names begin
// with that of a process, App or AppOf, also those that are made later.
func NewWatch(driverDir, app string) *Watch {
	w := &Watch{driverDir: driverDir, app: app}
	w.Changes()
	return w
}

// Changes returns the names of the entries that were added since the last call. The driver
// makes the folders at its first program; most often it is another one, which makes none.
func (w *Watch) Changes() (added []string) {
	if _, err := os.Lstat(filepath.Join(w.driverDir, Folder, "GLCache")); err == nil && len(w.folders) == 0 {
		w.folders = watchFolders(w.driverDir)
	}
	for _, f := range w.folders {
		added = append(added, f.changes(w.app)...)
	}
	return added
}

func watchFolders(driverDir string) (folders []*watchedFolder) {
	_ = eachFolder(driverDir, func(root *os.Root, folder string) error {
		folders = append(folders, &watchedFolder{
			path:  filepath.Join(root.Name(), filepath.FromSlash(folder)),
			slots: map[string]int64{},
		})
		return nil
	})
	return folders
}

func (f *watchedFolder) changes(app string) (added []string) {
	if info, err := os.Stat(f.path); err == nil && !info.ModTime().Equal(f.changed) {
		f.changed = info.ModTime()
		files, _ := os.ReadDir(f.path)
		for _, file := range files {
			name := file.Name()
			if _, known := f.slots[name]; !known && isOwnToc(name, app) {
				f.slots[name] = headerBytes
			}
		}
	}
	for name, seen := range f.slots {
		info, err := os.Stat(filepath.Join(f.path, name))
		if err != nil || info.Size() <= seen {
			continue
		}
		entries, end := newEntries(filepath.Join(f.path, name), seen, info.Size())
		added = append(added, entries...)
		f.slots[name] = end
	}
	return added
}

// isOwnToc reports whether a file is the table of contents of a slot of app: one digit
// follows, since a driver that has more than ten slots at once is another program's.
func isOwnToc(name, app string) bool {
	digit, own := strings.CutPrefix(strings.TrimSuffix(name, ".toc"), app)
	return own && len(digit) == 1 && digit[0] >= '0' && digit[0] <= '9' && path.Ext(name) == ".toc"
}

// newEntries returns the names of the entries of a .toc from an offset on, and the offset
// after the last of them, for a file of that size.
func newEntries(toc string, from, size int64) (names []string, end int64) {
	f, err := os.Open(toc)
	if err != nil {
		return nil, from
	}
	defer f.Close()
	list := make([]byte, min(size, maxTocBytes)-from)
	n, _ := f.ReadAt(list, from)
	list = list[:n-n%entryBytes]
	for end = from; len(list) > 0; list = list[entryBytes:] {
		names = append(names, RecordID(list).Name())
		end += entryBytes
	}
	return names, end
}

// Name returns the name of an entry: hash and kind, in 32 hexadecimal digits.
func (id RecordID) Name() string { return hex.EncodeToString(id[:]) }

// Record is a record of a slot.
type Record struct {
	Slot    string    // path of the slot's files without extension, below the driver's folder
	Entry   string    // hash and kind, in 32 hexadecimal digits
	Bytes   int64     // in both files
	LastUse time.Time // of the slot: when it was written, or read as far as that is recorded
}

// Records lists the records of every slot below a cache directory's driver folder that
// has the known format, in the order of the slots, each once: processes that run at the
// same time have copies. It also returns the slots that it skipped.
func Records(driverDir string) (list []Record, skipped []SkippedSlot) {
	listed := map[string]bool{}
	skipped, _ = Snapshots(driverDir, func(s Snapshot) error {
		folder := path.Dir(s.Path)
		var used time.Time
		if info, err := os.Lstat(filepath.Join(driverDir, filepath.FromSlash(s.Path)+".bin")); err == nil {
			used = osfile.LastUse(info)
		}
		toc := s.Toc[headerBytes:]
		for ; len(toc) >= entryBytes; toc = toc[entryBytes:] {
			e := parseEntry(toc)
			if name := e.id.Name(); !listed[folder+name] {
				listed[folder+name] = true
				list = append(list, Record{s.Path, name, entryBytes + recordBytes + int64(e.size), used})
			}
		}
		return nil
	})
	return list, skipped
}
