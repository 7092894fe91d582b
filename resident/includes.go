package resident

import (
	"io/fs"
	"path"
)

// Includes returns the files that kernels include: resident.glsl and its parts. Tools
// that read kernels from files search it, as shader.FileOptions.Shipped.
func Includes() fs.FS { return includes{} }

type includes struct{}

func (includes) Open(name string) (fs.File, error) {
	if path.Ext(name) != ".glsl" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return kernels.Open(path.Join(kernelFolder, name))
}
