package osfile

import (
	"io/fs"
	"os"
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

// IsLink reports whether path is a symbolic link.
func IsLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// IsNamed reports whether path names the open file f. A process that has waited for a
// lock calls it, because another process may have replaced or removed the file.
func IsNamed(f *os.File, path string) bool {
	opened, err1 := f.Stat()
	named, err2 := os.Lstat(path)
	return err1 == nil && err2 == nil && os.SameFile(opened, named)
}
