//go:build linux

package wave

import (
	"context"
	"embed"
	"fmt"
	"strconv"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/internal/kernelset"
	"github.com/shadercache/shadercache/shader"
)

//go:embed kernels
var kernels embed.FS

// simPrograms are the kernels of a simulation.
type simPrograms struct {
	step, excite, inspect, read *cache.Handle
}

// getPrograms returns the programs of a simulation. The caller releases them.
func getPrograms(ctx context.Context, from executor.Programs, o Options) (simPrograms, error) {
	tiles := shader.Defines{"LOCAL": strconv.Itoa(o.Local), "RADIUS": strconv.Itoa(PulseRadius)}
	handles, err := kernelset.Get(ctx, from, kernels,
		kernelset.Kernel{Name: "wave_step", Defines: tiles},
		kernelset.Kernel{Name: "wave_excite", Defines: tiles},
		kernelset.Kernel{Name: "wave_inspect", Defines: tiles},
		kernelset.Kernel{Name: "wave_read"})
	if err != nil {
		return simPrograms{}, fmt.Errorf("wave: %w", err)
	}
	return simPrograms{step: handles[0], excite: handles[1], inspect: handles[2], read: handles[3]}, nil
}

func (p *simPrograms) release() { kernelset.Release(p.step, p.excite, p.inspect, p.read) }
