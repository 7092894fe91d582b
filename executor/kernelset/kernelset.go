// Package kernelset gets the programs of a package from its folder of kernels. It is
// shared by packages whose kernels include text of their user.
package kernelset

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/shader"
)

// Kernel describes one program.
type Kernel struct {
	Name    string            // label of the program
	File    string            // default: Name with .comp
	Texts   map[string]string // files of the folder that are replaced: see shader.Overlay
	Defines shader.Defines
	Check   shader.Check // known answer: see shader.Source.WithCheck; GetChecked sets it
}

// Get returns the programs of the kernels in the folder of kernels of files, in order.
// The caller releases them with [Release]. After an error none are left. Errors of
// the driver name the file and its line.
func Get(ctx context.Context, programs executor.Programs, files fs.FS, list ...Kernel) ([]*cache.Handle, error) {
	folder, err := fs.Sub(files, Folder)
	if err != nil {
		return nil, err
	}
	var handles []*cache.Handle
	for _, k := range list {
		handle, err := k.get(ctx, programs, folder)
		if err != nil {
			Release(handles...)
			return nil, err
		}
		handles = append(handles, handle)
	}
	return handles, nil
}

func (k Kernel) get(ctx context.Context, programs executor.Programs, folder fs.FS) (*cache.Handle, error) {
	source, err := shader.ReadSource(shader.Overlay{FS: folder, Texts: k.Texts}, cmp.Or(k.File, k.Name+".comp"), k.Defines)
	if err != nil {
		return nil, err
	}
	handle, err := programs.Get(ctx, source.WithName(k.Name).WithCheck(k.Check))
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", k.Name, err)
	}
	return handle, nil
}

// Release releases handles.
func Release(handles ...*cache.Handle) {
	for _, h := range handles {
		h.Release()
	}
}
