package fleet

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
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
func ZeroCounters(dir *binary.Dir) (err error) {
	for _, d := range stateDirs(dir) {
		if failed := os.Remove(filepath.Join(d.path, countersName)); !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// ForgetPacks makes the packs of all remotes new to a directory whose content was deleted. The
// numbers of heads and lists of keys that were seen stay.
func ForgetPacks(dir *binary.Dir) (err error) {
	for _, d := range stateDirs(dir) {
		for _, of := range d.drivers() {
			err = errors.Join(err, d.updateDriver(of, (*driverState).forgetPacks))
		}
	}
	return err
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

// drivers returns the drivers that the folder of a remote knows.
func (d stateDir) drivers() (all []shader.Digest) {
	for _, e := range osfile.List(d.path) {
		var of shader.Digest
		if of.UnmarshalText([]byte(e.Name())) == nil {
			all = append(all, of)
		}
	}
	return all
}

// Seen is the latest signed head of a driver that this machine has seen in a remote. Machines
// that see others under one number are shown other remotes.
type Seen struct {
	Remote   string        `json:"remote"` // the name of its folder: see Folder
	Driver   shader.Digest `json:"driver"`
	Epoch    uint64        `json:"epoch"`
	Sequence uint64        `json:"sequence"`
	Head     shader.Digest `json:"head"`
}

// DirSeen returns the heads that a machine has seen, of all remotes in a directory.
func DirSeen(dir *binary.Dir) (all []Seen) {
	for _, d := range stateDirs(dir) {
		for _, of := range d.drivers() {
			if s := d.driver(of); s.Sequence > 0 {
				all = append(all, Seen{filepath.Base(d.path), of, s.Epoch, s.Sequence, s.Head})
			}
		}
	}
	return all
}
