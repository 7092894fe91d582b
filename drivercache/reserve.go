package drivercache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/drivercache/mesa"
	"github.com/shadercache/shadercache/internal/osfile"
)

// Mesa maps an index of 1.3 MiB into memory and makes it with a hole in place of its
// bytes. Where the volume has no room for a page of it, the process gets SIGBUS. So the
// bytes are allocated before the driver writes to them, and where there is no room, the
// driver keeps its machine code in memory.

// indexBytes is more than the index of any known version of Mesa has.
const indexBytes = 2 << 20

// noDirectory takes the place of a directory for drivers that must not write to one. A
// variable that is not set would make them use the user's, which may be on the same
// volume; turning Mesa's cache off would turn program binaries off as well.
const noDirectory = "/dev/null/shadercache"

// Reserve allocates the bytes of the indexes that Mesa has made in the managed directory,
// and waits until NVIDIA's slot for this process is filled. It is called after the driver
// was loaded and before it compiles. It does nothing where no directory is managed. It
// returns an error that matches osfile.ErrNoSpace where the volume is full, and the one that
// kept the slot from being filled.
func Reserve() error {
	state, managed := Managed()
	if !managed {
		return nil
	}
	_, err := reserveIndexes(state.Dir)
	<-process.filled
	process.Lock() // the first program of another context may fill the slot again
	defer process.Unlock()
	return errors.Join(err, process.fillErr)
}

// reserveRoom makes sure that the driver can use dir: it allocates the indexes in it, and
// where there are none, tries whether there is room for one.
func reserveRoom(dir string) error {
	found, err := reserveIndexes(dir)
	if found > 0 || err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Join(dir, mesa.Folder), ".room")
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return onlyNoSpace(err)
	}
	err = osfile.Allocate(f, indexBytes)
	return onlyNoSpace(errors.Join(err, f.Close(), os.Remove(f.Name())))
}

// reserveIndexes allocates the bytes of Mesa's indexes, and returns their number.
func reserveIndexes(dir string) (found int, err error) {
	indexes, _ := filepath.Glob(filepath.Join(dir, mesa.Folder, "*", mesa.Index))
	for _, path := range indexes {
		info, statErr := os.Lstat(path)
		if statErr != nil || !info.Mode().IsRegular() {
			continue // opening a FIFO or a device might block
		}
		found++
		f, openErr := os.OpenFile(path, os.O_RDWR, 0)
		if openErr != nil {
			continue // then the driver cannot write to it either
		}
		err = errors.Join(err, osfile.Allocate(f, info.Size()), f.Close())
	}
	return found, onlyNoSpace(err)
}

// onlyNoSpace returns err if it means that the volume is full. Other errors do not keep a
// driver from using the directory.
func onlyNoSpace(err error) error {
	if osfile.IsNoSpace(err) {
		return err
	}
	return nil
}
