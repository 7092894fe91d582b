package drivercache

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

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
	c := mesaCopy{filling: f, from: from, to: filepath.Join(f.dir, mesa.Folder, mesa.ItemsFolder)}
	if err := errors.Join(os.MkdirAll(f.staging, 0o700), os.MkdirAll(c.to, 0o700)); err != nil {
		return err
	}
	var folders errgroup.Group
	folders.SetLimit(fillWorkers)
	for _, e := range osfile.List(from) {
		if mesa.IsEntryFolder(e.Name()) && e.IsDir() {
			folders.Go(func() error { return c.copyFolder(e.Name()) })
		}
	}
	return folders.Wait()
}

// mesaCopy is the copy of Mesa's files by several goroutines.
type mesaCopy struct {
	*filling
	from, to string
	temps    atomic.Int64

	mu sync.Mutex // of filling's counters
}

// copyFolder copies the entries of one folder that are missing: also after an error, the first of
// which it returns.
func (c *mesaCopy) copyFolder(folder string) (failed error) {
	from, to := filepath.Join(c.from, folder), filepath.Join(c.to, folder)
	if err := checkFolders(from); err != nil {
		return err
	}
	have := map[string]bool{}
	for _, e := range osfile.List(to) {
		have[e.Name()] = true
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
		err := c.copyEntry(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))
		if failed == nil && !errors.Is(err, fs.ErrNotExist) { // it was deleted meanwhile
			failed = err
		}
	}
	return failed
}

// copyEntry copies a file.
func (c *mesaCopy) copyEntry(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err == nil {
		err = checkOwner(from, info)
	}
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	c.mu.Lock()
	fits := c.take(info.Size())
	c.mu.Unlock()
	if !fits {
		return nil
	}
	temp := filepath.Join(c.staging, fmt.Sprint(c.temps.Add(1)))
	if err := writeCopy(temp, source, info.Size()); err != nil {
		return err
	}
	if err := os.Rename(temp, to); err != nil {
		return err
	}
	c.mu.Lock()
	c.count(1, info.Size())
	c.mu.Unlock()
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
