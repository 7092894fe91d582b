package drivercache

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/internal/osfile"
)

// maxDropBytes bounds the list: half a million names.
const maxDropBytes = 16 << 20

// Drop deletes records of NVIDIA's slots below dir, by name. A driver has its slot open
// and appends to it, so the slots are rewritten while no process uses the directory.
// While one does, Drop writes the names to a list beside the directory and returns
// [ErrInUse], wrapped: the first process that finds the directory unused deletes the
// records, before it loads its driver. So it does after another error, if they were listed.
func Drop(dir string, entries []string) error {
	if len(entries) == 0 && !hasDropList(dir) {
		return nil
	}
	err := exclusively(dir, func() error {
		_, err := mergeLocked(dir, entries...) // a driver reads slot 0 only
		return err
	})
	if errors.Is(err, ErrInUse) {
		listErr := changeDropList(dir, func(listed []string) ([]string, error) { return append(listed, entries...), nil })
		if listErr != nil {
			err = fmt.Errorf("the records could not be listed: %v", listErr) // %v: it may be ErrInUse, too
		}
	}
	if err != nil {
		return fmt.Errorf("drivercache: drop: %w", err)
	}
	return nil
}

// keep has the list of those that [Drop] could not delete yet spare the records of a slot: what its lines
// delete that were read before the slot was made. It is called before a driver reads the slot.
func keep(dir string, read []string, slot string) error {
	if len(read) == 0 {
		return nil
	}
	before := map[string]bool{}
	for _, line := range read {
		before[line] = true
	}
	return changeDropList(dir, func(listed []string) ([]string, error) {
		at := slices.IndexFunc(listed, func(line string) bool { return !before[line] }) // Drop came meanwhile
		if at < 0 {
			at = len(listed)
		}
		return slices.Insert(listed, at, slot), nil
	})
}

// readDropList returns the lines of the list, and none where there is no list.
func readDropList(dir string) ([]string, error) {
	return osfile.ReadLines(filepath.Clean(dir)+nvidia.DropExt, maxDropBytes)
}

// dropListed deletes some records, and those of the list, if there is one. The caller holds the
// directory's lock.
func dropListed(dir string, entries ...string) error {
	if len(entries) == 0 && !hasDropList(dir) {
		return nil
	}
	return changeDropList(dir, func(listed []string) ([]string, error) {
		lines := append(listed, entries...)
		return nil, nvidia.Drop(dir, lines, func(slot string) error {
			lines = append(lines, slot)
			return writeLines(filepath.Clean(dir)+nvidia.DropExt, lines)
		})
	})
}

func hasDropList(dir string) bool { return exists(filepath.Clean(dir) + nvidia.DropExt) }

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
	listed, err := osfile.ReadLines(path, maxDropBytes)
	if err == nil {
		listed, err = change(listed)
	}
	if err != nil {
		return err
	}
	if len(listed) > 0 {
		return writeLines(path, lastOfEach(listed))
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil // another process did it, between the look and the lock
}

// lastOfEach returns the lines without those that come again.
func lastOfEach(lines []string) []string {
	last := make(map[string]int, len(lines))
	for i, line := range lines {
		last[line] = i
	}
	kept := lines[:0]
	for i, line := range lines {
		if last[line] == i {
			kept = append(kept, line)
		}
	}
	return kept
}

// writeLines writes a file that osfile.ReadLines reads.
func writeLines(path string, lines []string) error {
	return osfile.WriteUnsynced(path, func(w *bufio.Writer) error {
		_, err := w.WriteString(strings.Join(lines, "\n") + "\n")
		return err
	})
}
