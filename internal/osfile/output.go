package osfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxLinks is how many symbolic links are followed, as Linux does.
const maxLinks = 40

// WriteOutput writes a file that the user named for a result. A regular file, or one that
// does not exist, is replaced when write has succeeded: readers see the old file or the
// new one, whole, and the old one keeps its permissions; mode is that of a new one. What
// a symbolic link leads to is replaced, and the link stays. Anything else, such as a
// device or a FIFO, is never replaced: write writes to it, and has the FIFO's reader as
// its speed. A folder is an error.
func WriteOutput(path string, mode fs.FileMode, write func(w io.Writer) error) error {
	path, err := followLinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return replace(path, mode, write)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder", path)
	case info.Mode().IsRegular():
		return replace(path, info.Mode().Perm(), write)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// followLinks returns where a symbolic link leads to, also where nothing is there yet.
func followLinks(path string) (string, error) {
	for range maxLinks {
		if !IsLink(path) {
			return path, nil
		}
		target, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

// replace replaces the file at path with what write writes, and syncs it.
func replace(path string, mode fs.FileMode, write func(w io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return naming(path, "", err)
	}
	if err = write(f); err == nil {
		err = errors.Join(f.Chmod(mode), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(naming(path, f.Name(), err), os.Remove(f.Name()))
	}
	return err
}

// naming returns an error of a temporary file, "" for any, as one of the file at path, which
// it would have become.
func naming(path, temp string, err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok && (temp == "" || of.Path == temp) {
		of.Path = path
	}
	return err
}
