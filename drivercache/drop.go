package drivercache

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/internal/osfile"
)

// maxDropBytes bounds the list: half a million names, or some 100,000 that were added again.
const maxDropBytes = 16 << 20

// Drop deletes records of NVIDIA's slots below dir, by name. A driver has its slot open
// and appends to it, so the slots are rewritten while no process uses the directory.
// While one does, Drop writes the names to a list beside the directory and returns
// [ErrInUse], wrapped: the first process that finds the directory unused deletes the
// records, before it loads its driver.
func Drop(dir string, entries []string) error {
	if len(entries) == 0 {
		return nil
	}
	err := exclusively(dir, func() error {
		err := nvidia.Drop(dir, entries)
		if err == nil {
			_, err = nvidia.Merge(dir) // a driver reads slot 0 only
		}
		return err
	})
	if errors.Is(err, ErrInUse) {
		err = cmp.Or(changeDropList(dir, func(listed []string) ([]string, error) { return append(listed, entries...), nil }), err)
	}
	if err != nil {
		return fmt.Errorf("drivercache: drop: %w", err)
	}
	return nil
}

// keep has the list of those that [Drop] could not delete yet spare the records of a slot that is added, by
// its table of contents and path. Whoever adds one calls it before: the deletion would take with the
// records those that came after it.
func keep(dir string, toc []byte, slot string) error {
	if !hasDropList(dir) {
		return nil
	}
	ids, err := nvidia.RecordIDs(toc)
	if err != nil {
		return err
	}
	added := map[string]bool{}
	for _, id := range ids {
		added[id.Name()] = true
	}
	return changeDropList(dir, func(listed []string) ([]string, error) {
		for i, line := range listed {
			if name, _, _ := strings.Cut(line, " "); added[name] {
				listed[i] = name + " " + slot
			}
		}
		return listed, nil
	})
}

// dropListed deletes the records of the list, if there is one. The caller holds the
// directory's lock.
func dropListed(dir string) error {
	if !hasDropList(dir) {
		return nil
	}
	return changeDropList(dir, func(listed []string) ([]string, error) { return nil, nvidia.Drop(dir, listed) })
}

func hasDropList(dir string) bool {
	_, err := os.Lstat(filepath.Clean(dir) + nvidia.DropExt)
	return err == nil
}

// changeDropList changes the names of the list, and deletes one without names. It holds the lock
// of the list meanwhile, so that no names are lost which one process adds while another adds its
// own, or deletes the list. It waits up to two seconds for it.
func changeDropList(dir string, change func(listed []string) ([]string, error)) error {
	path := filepath.Clean(dir) + nvidia.DropExt
	lock, err := open(path, true, mergeWait)
	if err != nil {
		return err
	}
	defer lock.Release() // it only closes a file
	listed, err := readLines(path, maxDropBytes)
	if err == nil {
		listed, err = change(listed)
	}
	if err != nil {
		return err
	}
	if len(listed) > 0 {
		return writeLines(path, slices.Compact(slices.Sorted(slices.Values(listed))))
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil // another process did it, between the look and the lock
}

// readLines returns the lines of a file of at most limit bytes, and none where there is no file.
func readLines(path string, limit int64) ([]string, error) {
	f, _, err := osfile.OpenRegular(path, os.Lstat, os.OpenFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case f == nil:
		return nil, fmt.Errorf("%s is not a regular file; \"shadercache verify --repair\" removes it", path)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit))
	return strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' }), err
}

// writeLines writes a file that readLines reads.
func writeLines(path string, lines []string) error {
	return osfile.WriteUnsynced(path, func(w *bufio.Writer) error {
		_, err := w.WriteString(strings.Join(lines, "\n") + "\n")
		return err
	})
}
