package binary

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
)

// writeUnsynced has write fill a file that readers see whole or not at all. After
// a power cut it may be empty, so it is for what can do without: the index's sum
// and views, which every process that ends writes while others wait. The temporary file lies beside it, with a name
// that starts with a dot. The permissions of a file that is replaced stay.
func writeUnsynced(path string, write func(w *bufio.Writer) error) error {
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
