//go:build linux

package wave

import (
	"context"
	"embed"
	"fmt"
	"strconv"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/resident/assembly"
	"github.com/shadercache/shadercache/shader"
)

//go:embed kernels
var kernels embed.FS

// programs are the kernels of a simulation.
type programs struct {
	step, poke, inspect, read *cache.Handle
}

func (p *programs) get(ctx context.Context, from executor.Programs, o Options) error {
	tiles := shader.Defines{"LOCAL": strconv.Itoa(o.Local), "RADIUS": strconv.Itoa(PulseRadius)}
	err := assembly.Get(ctx, from, kernels,
		assembly.Program{To: &p.step, Name: "wave_step", Defines: tiles},
		assembly.Program{To: &p.poke, Name: "wave_poke", Defines: tiles},
		assembly.Program{To: &p.inspect, Name: "wave_inspect", Defines: tiles},
		assembly.Program{To: &p.read, Name: "wave_read"})
	if err != nil {
		return fmt.Errorf("wave: %w", err)
	}
	return nil
}

func (p *programs) release() { assembly.Release(p.step, p.poke, p.inspect, p.read) }
