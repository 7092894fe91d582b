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
// records that [Drop] could not. It holds the directory's lock meanwhile and returns [ErrInUse], wrapped, while a process uses
// the directory. Without slots it does nothing.
func Merge(dir string) (nvidia.Report, error) {
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

// MergeBeforeLoad merges like [Merge], also where this process itself uses the directory:
// see [Manage]. The caller ensures that this process has not loaded or compiled a
// program yet, since the driver opens its slots at the first one.
func MergeBeforeLoad(dir string) (nvidia.Report, error) {
	process.Lock()
	defer process.Unlock()
	if process.lock == nil || process.lock.folder != filepath.Clean(dir) {
		return Merge(dir)
	}
	// A lock cannot be upgraded without a moment in which other processes may take it.
	if err := process.lock.Release(); err != nil {
		return nvidia.Report{}, fmt.Errorf("drivercache: merge: %w", err)
	}
	r, err := Merge(dir)
	var shared error
	process.lock, shared = Share(dir)
	return r, errors.Join(err, shared)
}
