package fleet

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/internal/osfile"
)

// DirCounters returns the sum of the counters of all remotes in a directory. It asks none
// of them.
func DirCounters(dir *binary.Dir) Counters {
	total := Counters{Errors: map[string]int64{}}
	for _, d := range stateDirs(dir) {
		total.add(d.counters())
	}
	return total
}

// ZeroCounters makes the counters of all remotes in a directory begin again.
func ZeroCounters(dir *binary.Dir) error {
	var failed []error
	for _, d := range stateDirs(dir) {
		if err := os.Remove(filepath.Join(d.path, countersName)); !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// stateDirs returns the folders of all remotes in a directory.
func stateDirs(dir *binary.Dir) (all []stateDir) {
	folder := filepath.Join(dir.Path(), Folder)
	for _, e := range osfile.List(folder) {
		if e.IsDir() {
			all = append(all, stateDir{filepath.Join(folder, e.Name())})
		}
	}
	return all
}
