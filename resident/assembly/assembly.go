// Package assembly makes a program from kernel files and the text of whoever
// uses the kernel: the kernel includes files that the user replaces.
package assembly

import (
	"io/fs"
	"testing/fstest"

	"github.com/shadercache/shadercache/shader"
)

// Source reads a kernel from files, with the text of some of them replaced or
// added by name. Errors of the driver name the file and its line: see
// shader.ReadSource, which says what else fails.
func Source(name string, files fs.FS, kernel string, replaced map[string]string, defines shader.Defines) (*shader.Source, error) {
	source, err := shader.ReadSource(overlay{files, replaced}, kernel, defines)
	if err != nil {
		return nil, err
	}
	return source.WithName(name), nil
}

// overlay is files, some of them replaced.
type overlay struct {
	fs.FS
	replaced map[string]string
}

func (o overlay) Open(name string) (fs.File, error) {
	if text, ok := o.replaced[name]; ok {
		return fstest.MapFS{name: {Data: []byte(text)}}.Open(name)
	}
	return o.FS.Open(name)
}
