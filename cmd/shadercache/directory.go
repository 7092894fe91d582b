package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/binary"
)

// directory is where the cache is according to the flags, made absolute. It
// does not look at it.
func (o *options) directory() (string, error) {
	path := o.dir
	if path == "" {
		var err error
		if path, err = binary.DefaultDir(); err != nil {
			return "", err
		}
	}
	return filepath.Abs(path)
}

// openDirectory opens the cache directory for commands that work on what is
// there: one that is missing is not made, dir is nil then.
func (o *options) openDirectory() (path string, dir *binary.Dir, err error) {
	return o.openExisting(binary.OpenDir)
}

// lookIntoDirectory is openDirectory for commands that change nothing.
func (o *options) lookIntoDirectory() (path string, dir *binary.Dir, err error) {
	return o.openExisting(openToRead)
}

func (o *options) openExisting(open func(path string) (*binary.Dir, error)) (path string, dir *binary.Dir, err error) {
	if path, err = o.directory(); err != nil {
		return "", nil, err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return path, nil, nil
	}
	dir, err = open(path)
	return path, dir, err
}

// openToRead opens a directory, also one that is safe to read and not ours to
// write: root's, such as an upstream directory.
func openToRead(path string) (*binary.Dir, error) {
	dir, err := binary.OpenDir(path)
	if errors.Is(err, binary.ErrUnsafeDir) {
		if roots, rootsErr := binary.OpenUpstream(path); rootsErr == nil {
			return roots, nil
		}
	}
	return dir, err
}

// upstream is $SHADERCACHE_UPSTREAM, or nil where it cannot be used.
func (o *options) upstream() *binary.Dir {
	path := binary.DefaultUpstream()
	if path == "" {
		return nil
	}
	dir, err := binary.OpenUpstream(path)
	if err != nil {
		o.logger().Warn("the upstream directory is left out", "reason", err)
		return nil
	}
	return dir
}

// withUpstream is dir above the upstream directory, as programs that use the
// library have it.
func (o *options) withUpstream(dir *binary.Dir) *binary.Dir {
	if upstream := o.upstream(); upstream != nil {
		return dir.WithUpstream(upstream)
	}
	return dir
}

// treeBytes adds up the sizes of the files below path, 0 where there is none.
// Files that other processes delete meanwhile do not count.
func treeBytes(path string) (total int64) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}

// forStores calls visit with the part of every driver whose identity is known,
// in the order of their names. The store is closed afterwards.
func (o *options) forStores(dir *binary.Dir, visit func(name string, store *binary.Store) error) error {
	infos, err := dir.Drivers()
	if err != nil {
		return err
	}
	for _, info := range infos {
		if info.Fingerprint.DirName() != info.Dir {
			o.logger().Warn("left out a driver whose fingerprint.json is lost", "driver", info.Dir)
			continue
		}
		store, err := dir.Store(info.Fingerprint)
		if err != nil {
			return err
		}
		if err := errors.Join(visit(info.Dir, store), store.Close()); err != nil {
			return err
		}
	}
	return nil
}
