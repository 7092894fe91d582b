package drivercache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/drivercache/nvidia"
)

// Merge merges the slots below dir that NVIDIA's driver wrote in processes which ran
// at the same time, so that the next process reads all of them. Before, it deletes the
// records that [Drop] could not. It holds the directory's lock meanwhile and returns
// [ErrInUse], wrapped, while a process uses the directory: another one, or this one after
// its first program. Without slots it does nothing.
func Merge(dir string) (nvidia.Report, error) {
	r, err := merge(dir)
	if errors.Is(err, ErrInUse) {
		beforeFirstProgram(dir, func() { r, err = merge(dir) })
	}
	return r, err
}

func merge(dir string) (nvidia.Report, error) {
	if _, err := os.Lstat(filepath.Join(dir, nvidia.Folder)); errors.Is(err, fs.ErrNotExist) {
		return nvidia.Report{}, nil
	}
	lock, err := TryExclusive(dir)
	if err != nil {
		return nvidia.Report{}, fmt.Errorf("drivercache: merge: %w", err)
	}
	dropErr := dropListed(dir)
	r, err := nvidia.Merge(dir)
	return r, errors.Join(dropErr, err, lock.Release())
}
