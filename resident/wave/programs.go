//go:build linux

package wave

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/resident/assembly"
)

//go:embed kernels
var kernels embed.FS

// programs are the kernels of a simulation.
type programs struct {
	step, poke, inspect, read *cache.Handle
}

func (p *programs) get(ctx context.Context, from executor.Programs, o Options) error {
	files, err := fs.Sub(kernels, "kernels")
	if err != nil {
		return err
	}
	tiles := binary.Defines{"LOCAL": strconv.Itoa(o.Local), "RADIUS": strconv.Itoa(PulseRadius)}
	for _, k := range []struct {
		to      **cache.Handle
		name    string
		defines binary.Defines
	}{
		{&p.step, "wave_step", tiles}, {&p.poke, "wave_poke", tiles}, {&p.inspect, "wave_inspect", tiles}, {&p.read, "wave_read", nil},
	} {
		source, err := assembly.Source(k.name, files, k.name+".comp", nil, k.defines)
		if err != nil {
			return fmt.Errorf("wave: %w", err)
		}
		if *k.to, err = from.Get(ctx, source); err != nil {
			return fmt.Errorf("wave: get %s: %w", k.name, err)
		}
	}
	return nil
}

func (p *programs) release() {
	for _, h := range []*cache.Handle{p.step, p.poke, p.inspect, p.read} {
		if h != nil {
			h.Release()
		}
	}
}
