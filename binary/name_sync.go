package binary

import (
	"path/filepath"
	"sync"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
)

// nameSyncDelay is how long the name of a new blob may take to reach the disk.
const nameSyncDelay = 500 * time.Millisecond

// nameSync has the names of new files reach the disk. Put syncs what a blob contains, and
// not its name: with many blobs that would cost a second sync for each. Without nameSync
// the name follows when the file system writes its journal, up to 30 s later.
type nameSync struct {
	mu    sync.Mutex
	dirs  map[string]struct{}
	timer *time.Timer // nil: none is running
}

// add has the name of a file reach the disk in nameSyncDelay.
func (n *nameSync) add(path string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dirs == nil {
		n.dirs = map[string]struct{}{}
	}
	n.dirs[filepath.Dir(path)] = struct{}{}
	if n.timer == nil {
		n.timer = time.AfterFunc(nameSyncDelay, n.flush)
	}
}

// flush syncs at once. A directory that is gone needs no sync, and after another failure
// the names reach the disk later.
func (n *nameSync) flush() {
	n.mu.Lock()
	dirs := n.dirs
	n.dirs = nil
	if n.timer != nil {
		n.timer.Stop()
		n.timer = nil
	}
	n.mu.Unlock()
	for dir := range dirs {
		_ = osfile.SyncDir(dir)
	}
}
