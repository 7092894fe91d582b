package osfile

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
)

// WriteUnsynced replaces the file at path with what write writes. Readers see the old
// file or the new one, whole. After a power cut the file may be empty: use it for files
// that can be made again. The temporary file is beside path and its name starts with a
// dot. A file that is replaced keeps its permissions.
func WriteUnsynced(path string, write func(w *bufio.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path))
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 64<<10)
	err = write(w)
	if info, statErr := os.Lstat(path); statErr == nil && info.Mode().IsRegular() {
		err = errors.Join(err, f.Chmod(info.Mode().Perm()))
	}
	if err = errors.Join(err, w.Flush(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
