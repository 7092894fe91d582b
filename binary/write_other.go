//go:build !unix

package binary

import (
	"errors"
	"os"
	"path/filepath"
)

// writeFile puts data into a file that readers see whole or not at all. The
// temporary file lies beside it, with a name that starts with a dot.
func writeFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path))
	if err != nil {
		return err
	}
	_, writeErr := f.Write(data)
	err = errors.Join(writeErr, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
