//go:build unix

package osfile

import (
	"errors"
	"os"
)

// SyncDir has the names in a directory reach the disk.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
