package binary

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

const (
	rejectedName = "rejected"
	reasonExt    = ".txt"
	// maxReasonBytes bounds what is read of a note. A log of a driver has less.
	maxReasonBytes = 1 << 20
	// maxRejected is the number of files that a store keeps in rejected/: enough to
	// examine a fault, and small beside the blobs.
	maxRejected = 16
	// rejectedAge is how long a file stays in rejected/.
	rejectedAge = 30 * 24 * time.Hour
)

// Reject moves the blob of key to rejected/ because the driver did not accept it, and
// writes the reason to a file beside it. A blob that cannot be moved is removed. Without
// a blob Reject does nothing.
func (s *Store) Reject(key shader.Key, reason string) error {
	return wrap("reject "+key.Short(), s.rejectFile(s.blobPath(key), reason))
}

// rejectDamaged rejects the blob of key, unless another process has replaced the
// damaged file since it was read.
func (s *Store) rejectDamaged(key shader.Key, bad fs.FileInfo, reason string) error {
	path := s.blobPath(key)
	if now, err := os.Lstat(path); err != nil || !os.SameFile(now, bad) {
		return nil
	}
	return s.rejectFile(path, reason)
}

// rejectFile moves a file of the store to rejected/, or removes it where it cannot be
// moved. It returns nil where there is no file.
func (s *Store) rejectFile(path, reason string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if s.dir.readOnly {
		return ErrReadOnly
	}
	rejected := filepath.Join(s.path, rejectedName)
	target := filepath.Join(rejected, filepath.Base(path))
	err := os.Mkdir(rejected, 0o700)
	if err == nil || errors.Is(err, fs.ErrExist) && !osfile.IsLink(rejected) {
		err = os.Rename(path, target)
	}
	if err != nil {
		return os.RemoveAll(path)
	}
	note := s.dir.now().UTC().Format(time.RFC3339) + " " + strings.TrimSpace(reason) + "\n"
	// The file is no longer in use, which is what the caller needs; the note is only
	// for people.
	_ = osfile.WriteFile(target+reasonExt, []byte(note))
	s.trimRejected()
	return nil
}

// rejectedFile is a file in rejected/ that is not a note.
type rejectedFile struct {
	path string
	at   time.Time // of its note, else of the file
}

// rejectedFiles lists the files in rejected/, the latest first.
func (s *Store) rejectedFiles() []rejectedFile {
	var files []rejectedFile
	rejected := filepath.Join(s.path, rejectedName)
	for _, e := range osfile.List(rejected) {
		path := filepath.Join(rejected, e.Name())
		if strings.HasSuffix(e.Name(), reasonExt) || !storeDirForms[rejectedName](e.Name()) {
			continue
		}
		info, err := os.Lstat(path + reasonExt)
		if err != nil {
			info, err = os.Lstat(path)
		}
		if err == nil {
			files = append(files, rejectedFile{path, info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b rejectedFile) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.path, b.path))
	})
	return files
}

// trimRejected removes all but the latest rejected files.
func (s *Store) trimRejected() {
	for _, path := range s.expiredRejected(maxRejected, time.Time{}) {
		if os.Remove(path) == nil {
			_ = os.Remove(path + reasonExt)
		}
	}
}

// expiredRejected lists the files that were rejected before a time, and all but the
// latest keep files.
func (s *Store) expiredRejected(keep int, before time.Time) (paths []string) {
	for i, file := range s.rejectedFiles() {
		if i >= keep || file.at.Before(before) {
			paths = append(paths, file.path)
		}
	}
	return paths
}
