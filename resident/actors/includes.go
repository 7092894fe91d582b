//go:build linux

package actors

import (
	"io/fs"
	"path"
)

// Includes returns the files that the kernels of this package include. Tools that read
// copies of these kernels search it, as shader.FileOptions.Shipped.
func Includes() fs.FS { return includes{} }

type includes struct{}

func (includes) Open(name string) (fs.File, error) {
	if path.Ext(name) != ".glsl" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return kernels.Open(path.Join("kernels", name))
}
