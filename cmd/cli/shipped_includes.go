package cli

import (
	"io/fs"

	"github.com/shadercache/shadercache/resident"
	"github.com/shadercache/shadercache/resident/actors"
	"github.com/shadercache/shadercache/resident/queue"
)

// shippedIncludes is the file system of the parts that kernels of the packages resident,
// queue and actors include.
type shippedIncludes struct{}

func (shippedIncludes) Open(name string) (f fs.File, err error) {
	for _, parts := range []fs.FS{resident.Includes(), queue.Includes(), actors.Includes()} {
		if f, err = parts.Open(name); err == nil {
			return f, nil
		}
	}
	return nil, err
}
