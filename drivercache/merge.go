package drivercache

import (
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/drivercache/nvidia"
)

// Merge merges the slots below dir that NVIDIA's driver wrote in processes which ran
// at the same time, so that the next process reads all of them. Before, it deletes the
// records that [Drop] could not. It holds the directory's lock meanwhile and returns
// [ErrInUse], wrapped, while a process uses the directory: another one, or this one after
// its first program. Without slots it does nothing.
func Merge(dir string) (nvidia.Report, error) {
	// Directories of other drivers have the folder of the slots too.
	if !hasDropList(dir) && len(nvidia.SlotFiles(dir)) == 0 {
		return nvidia.Report{}, nil
	}
	var r nvidia.Report
	err := exclusively(dir, func() (err error) {
		r, err = mergeLocked(dir)
		return err
	})
	if errors.Is(err, ErrInUse) {
		err = fmt.Errorf("drivercache: merge: %w", err)
	}
	return r, err
}

// mergeLocked is Merge, and [Drop] of some records, for a caller that holds the directory's lock.
func mergeLocked(dir string, entries ...string) (nvidia.Report, error) {
	if err := dropListed(dir, entries...); err != nil {
		return nvidia.Report{}, err // a merge might take the record that is to be deleted for the one that stays
	}
	return nvidia.Merge(dir)
}

// exclusively calls work with the exclusive lock on a directory, which it gets from this
// process itself before its first program. It returns ErrInUse, wrapped, and does not call
// work, while a process uses the directory.
func exclusively(dir string, work func() error) error {
	lock, err := TryExclusive(dir)
	if err == nil {
		return errors.Join(work(), lock.Release())
	}
	if errors.Is(err, ErrInUse) {
		beforeFirstProgram(dir, func() { err = work() })
	}
	return err
}
