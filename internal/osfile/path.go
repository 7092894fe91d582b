package osfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// List returns the entries of a directory, sorted by name. It returns none for a
// directory that cannot be read, and none for a symbolic link: what is behind a link
// must be neither listed nor deleted.
func List(dir string) []fs.DirEntry {
	if IsLink(dir) {
		return nil
	}
	list, _ := os.ReadDir(dir)
	return list
}

// Files visits the regular files below a directory, in the order of their names. It does not follow
// links, and skips what is deleted meanwhile or cannot be read.
func Files(dir string) iter.Seq2[string, fs.FileInfo] {
	return func(yield func(path string, info fs.FileInfo) bool) {
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return nil
			}
			if info, err := e.Info(); err == nil && !yield(path, info) {
				return fs.SkipAll
			}
			return nil
		})
	}
}

// IsLink reports whether path is a symbolic link.
func IsLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// LinkAbove returns which of the two directories above path is a symbolic link, and "" where
// none is. A link may have been made after they were checked.
func LinkAbove(path string) string {
	for _, dir := range []string{filepath.Dir(path), filepath.Dir(filepath.Dir(path))} {
		if IsLink(dir) {
			return dir
		}
	}
	return ""
}

// IsNamed reports whether path names the open file f. A process that has waited for a
// lock calls it, because another process may have replaced or removed the file.
func IsNamed(f *os.File, path string) bool {
	opened, err1 := f.Stat()
	named, err2 := os.Lstat(path)
	return err1 == nil && err2 == nil && os.SameFile(opened, named)
}

// OpenRegular opens a regular file to read it. look says what has the name, as os.Lstat or
// os.Stat, and open opens it, as os.OpenFile; those of an os.Root do as well. Of anything else it
// returns what it is, and no file. What takes the file's place in between, such as a FIFO, which
// would wait for its writer, holds up nobody.
func OpenRegular(name string, look func(string) (fs.FileInfo, error), open func(string, int, fs.FileMode) (*os.File, error)) (f *os.File, info fs.FileInfo, err error) {
	info, err = look(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, info, err
	}
	if f, err = open(name, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
		return nil, info, err
	}
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, info, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// ReadRegular reads what OpenRegular opens, and returns an error for anything else, and for more than limit
// bytes.
func ReadRegular(name string, limit int64, look func(string) (fs.FileInfo, error), open func(string, int, fs.FileMode) (*os.File, error)) ([]byte, error) {
	f, info, err := OpenRegular(name, look, open)
	if err == nil && f == nil {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var data bytes.Buffer
	data.Grow(int(min(info.Size(), limit)) + bytes.MinRead)
	if n, err := data.ReadFrom(io.LimitReader(f, limit+1)); err != nil || n <= limit {
		return data.Bytes(), err
	}
	return nil, fmt.Errorf("%s has more than %d bytes", name, limit)
}

// ReadLines returns the lines of a file of at most limit bytes, and none where there is no file.
func ReadLines(path string, limit int64) ([]string, error) {
	f, _, err := OpenRegular(path, os.Lstat, os.OpenFile)
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
