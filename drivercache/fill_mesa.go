package drivercache

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/shadercache/shadercache/drivercache/mesa"
	"github.com/shadercache/shadercache/internal/osfile"
)

// fillWorkers is the number of goroutines that copy Mesa's files, which are small: most of
// the time of each goes to the file system.
const fillWorkers = 4

// mesa copies the files of Mesa's cache that hold one entry each and that are missing. The
// driver verifies what it reads. Databases are left out, and so is the index, which
// running processes map and which is only a hint.
func (f *filling) mesa() error {
	from := filepath.Join(f.from, mesa.Folder, mesa.ItemsFolder)
	if err := checkFolders(filepath.Dir(from), from); err != nil {
		return err
	}
	to := filepath.Join(f.dir, mesa.Folder, mesa.ItemsFolder)
	if err := errors.Join(os.MkdirAll(f.staging, 0o700), os.MkdirAll(to, 0o700)); err != nil {
		return err
	}
	var folders errgroup.Group
	folders.SetLimit(fillWorkers)
	for _, e := range osfile.List(from) {
		if mesa.IsEntryFolder(e.Name()) && e.IsDir() {
			folders.Go(func() error { return f.copyFolder(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())) })
		}
	}
	return folders.Wait()
}

// copyFolder copies the entries of one folder that are missing: also after an error, the first of
// which it returns.
func (f *filling) copyFolder(from, to string) (failed error) {
	if err := checkFolders(from); err != nil {
		return err
	}
	have := map[string]bool{}
	for _, e := range osfile.List(to) {
		info, err := e.Info()
		have[e.Name()] = err == nil && info.Size() > 0 // a power cut leaves empty files
	}
	made := len(have) > 0
	for _, e := range osfile.List(from) {
		if have[e.Name()] || !mesa.IsEntryFile(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		if !made {
			made = true
			if err := os.Mkdir(to, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
		err := f.copyEntry(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))
		if failed == nil && !errors.Is(err, fs.ErrNotExist) { // it was deleted meanwhile
			failed = err
		}
	}
	return failed
}

// copyEntry copies a file.
func (f *filling) copyEntry(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err == nil {
		err = checkOwner(from, info)
	}
	if err != nil || !info.Mode().IsRegular() || !f.take(info.Size()) {
		return err
	}
	temp := filepath.Join(f.staging, fmt.Sprint(f.temps.Add(1)))
	if err := writeCopy(temp, source, info.Size()); err != nil {
		return err
	}
	if err := os.Rename(temp, to); err != nil {
		return err
	}
	f.count(1, info.Size())
	return nil
}

// writeCopy writes a new file with the bytes of another, which the system copies without
// their passing this process where it can.
func writeCopy(path string, from io.Reader, size int64) error {
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(to, io.LimitReader(from, size))
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	return errors.Join(err, to.Close())
}

// checkFolders returns an error for a path that is no folder, or not a safe one.
func checkFolders(paths ...string) error {
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is not a directory", path)
		}
		if err == nil {
			err = checkOwner(path, info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
