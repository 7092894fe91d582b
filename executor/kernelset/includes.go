package kernelset

import (
	"io/fs"
	"path"
)

// Folder is where a package keeps its kernels and what they include.
const Folder = "kernels"

// Includes returns the files with the extension .glsl in the folder of kernels of files,
// and no others.
func Includes(files fs.FS) fs.FS { return includes{files} }

type includes struct{ files fs.FS }

func (i includes) Open(name string) (fs.File, error) {
	if path.Ext(name) != ".glsl" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return i.files.Open(path.Join(Folder, name))
}
