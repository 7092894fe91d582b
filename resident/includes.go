package resident

import (
	"io/fs"

	"github.com/shadercache/shadercache/executor/kernelset"
)

// Includes returns the files that kernels include: resident.glsl and its parts. Tools
// that read kernels from files search it, as shader.FileOptions.Shipped.
func Includes() fs.FS { return kernelset.Includes(kernels) }
