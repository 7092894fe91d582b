package index

import (
	"io"
	"os"

	"github.com/shadercache/shadercache/internal/osfile"
)

// OpenCopy opens a private copy of the index in a store's directory, a temporary file without
// a name: its reader does not keep writers from the index. It returns nil, which is empty,
// where there is no index, or where it is busy or damaged.
func OpenCopy(dir string) *File {
	x, err := Open(dir, true, Wait)
	if err != nil {
		return nil
	}
	defer x.Close()
	info, err := x.file.Stat()
	if err != nil {
		return nil
	}
	f, err := osfile.CreateUnnamed("shadercache-index-*")
	if err != nil {
		return nil
	}
	c := &File{path: f.Name(), copied: f}
	if _, err = io.Copy(f, io.NewSectionReader(x.file, 0, info.Size())); err == nil {
		err = c.open(true, func(string, int, os.FileMode) (*os.File, error) { return osfile.ReopenUnnamed(f) })
	}
	if err != nil {
		_ = c.abandon(err)
		c.Close()
		return nil
	}
	return c
}
