package resident

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/shadercache/shadercache/executor/kernelset"
	"github.com/shadercache/shadercache/shader"
)

//go:embed kernels
var kernels embed.FS

// includeName is the include file of a kernel in any folder.
const includeName = "resident.glsl"

// Includes returns the files that kernels include: resident.glsl and its parts. Tools
// that read kernels from files search it, as shader.FileOptions.Shipped.
func Includes() fs.FS { return kernelset.Includes(kernels) }

// NewSource builds the source of a resident kernel from GLSL text that has
//
//	#include "resident.glsl"
//
// after its #version line and residentStep below. Its name is a label. It fails without
// the include, and where shader.ReadSource fails.
func NewSource(name, text string, defines shader.Defines) (*shader.Source, error) {
	file := path.Base(name) + ".comp"
	s, err := ReadSource(shader.Overlay{Texts: map[string]string{file: text}}, file, defines)
	if err != nil {
		return nil, err
	}
	return s.WithName(name), nil
}

// MustSource is NewSource for text known at build time. It panics on an error.
func MustSource(name, text string, defines shader.Defines) *shader.Source {
	s, err := NewSource(name, text, defines)
	if err != nil {
		panic(err)
	}
	return s
}

// ReadSource is shader.ReadSource for a resident kernel: resident.glsl is found in any
// folder.
func ReadSource(fsys fs.FS, file string, defines shader.Defines) (*shader.Source, error) {
	s, err := shader.ReadSource(withIncludes{fsys}, file, defines)
	if err != nil {
		return nil, err
	}
	isInclude := func(f string) bool { return path.Base(f) == includeName }
	if !slices.ContainsFunc(s.Files(), isInclude) {
		return nil, fmt.Errorf("resident: source %s has no #include %q: put it after the #version line", file, includeName)
	}
	return s, nil
}

// withIncludes is a file system that has resident.glsl and its parts,
// resident_*.glsl, in every folder.
type withIncludes struct{ fs.FS }

func (w withIncludes) Open(name string) (fs.File, error) {
	if f, err := Includes().Open(path.Base(name)); err == nil {
		return f, nil
	}
	return w.FS.Open(name)
}
