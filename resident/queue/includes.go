//go:build linux

package queue

import (
	"io/fs"

	"github.com/shadercache/shadercache/executor/kernelset"
)

// Includes returns the files that the kernels of this package include. Tools that read
// copies of these kernels search it, as shader.FileOptions.Shipped.
func Includes() fs.FS { return kernelset.Includes(kernels) }
