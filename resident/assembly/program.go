//go:build linux

package assembly

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/shader"
)

// Program is a kernel to be had, and where its handle goes.
type Program struct {
	To       **cache.Handle
	Name     string            // of the program, for people
	Kernel   string            // file; empty is Name with .comp
	Replaced map[string]string // see Source
	Defines  shader.Defines
}

// Get gets programs whose kernels are in the folder kernels of files, in order. It
// stops at the first error; what was got until then is for the caller to Release.
func Get(ctx context.Context, from executor.Programs, files fs.FS, list ...Program) error {
	folder, err := fs.Sub(files, "kernels")
	if err != nil {
		return err
	}
	for _, p := range list {
		kernel := p.Kernel
		if kernel == "" {
			kernel = p.Name + ".comp"
		}
		source, err := Source(p.Name, folder, kernel, p.Replaced, p.Defines)
		if err != nil {
			return err
		}
		if *p.To, err = from.Get(ctx, source); err != nil {
			return fmt.Errorf("get %s: %w", p.Name, err)
		}
	}
	return nil
}

// Release releases handles, those that are nil excepted.
func Release(handles ...*cache.Handle) {
	for _, h := range handles {
		if h != nil {
			h.Release()
		}
	}
}
