//go:build linux

package wave

import (
	"context"
	"embed"
	"fmt"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/executor/kernelset"
	"github.com/shadercache/shadercache/glctx"
)

//go:embed kernels
var kernels embed.FS

// simPrograms are the kernels of a simulation.
type simPrograms struct {
	step, excite, inspect, read *cache.Handle
}

// getPrograms returns the programs of a simulation. The caller releases them.
func getPrograms(ctx context.Context, c *glctx.Context, from executor.Programs, o Options) (simPrograms, error) {
	k := knownKernels{c, o.Local}
	handles, err := kernelset.Get(ctx, from, kernels, k.step(), k.excite(), k.inspect(), k.read())
	if err != nil {
		return simPrograms{}, fmt.Errorf("wave: %w", err)
	}
	return simPrograms{step: handles[0], excite: handles[1], inspect: handles[2], read: handles[3]}, nil
}

func (p *simPrograms) release() { kernelset.Release(p.step, p.excite, p.inspect, p.read) }
