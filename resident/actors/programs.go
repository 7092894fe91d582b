//go:build linux

package actors

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"strconv"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/resident/assembly"
)

//go:embed kernels
var kernels embed.FS

// programs are the kernels of a world.
type programs struct {
	tick, sweep, plan, order *cache.Handle
}

func (p *programs) get(ctx context.Context, from executor.Programs, o Options) error {
	for _, k := range []struct {
		to   **cache.Handle
		name string
	}{{&p.sweep, "actors_sweep"}, {&p.plan, "actors_plan"}, {&p.order, "actors_order"}} {
		if err := get(ctx, from, k.to, k.name, nil, o.defines()); err != nil {
			return err
		}
	}
	return p.getTick(ctx, from, o)
}

// getTick gets the program that has the handlers.
func (p *programs) getTick(ctx context.Context, from executor.Programs, o Options) error {
	defines := o.defines()
	maps.Copy(defines, binary.Defines{"ACTOR_HANDLERS": strconv.Itoa(len(o.Handlers))})
	texts := map[string]string{}
	for i := range maxHandlers {
		text := "" // of an include that is left out
		if i < len(o.Handlers) {
			text = o.Handlers[i].Text
			defines["HANDLER_"+o.Handlers[i].Name] = strconv.Itoa(i) + "u"
		}
		texts["handler"+strconv.Itoa(i)+".glsl"] = text
	}
	for i, b := range o.Barriers {
		defines["BARRIER_"+b.Name] = strconv.Itoa(i) + "u"
	}
	return get(ctx, from, &p.tick, "actors_tick", texts, defines)
}

func get(ctx context.Context, from executor.Programs, to **cache.Handle, name string, replaced map[string]string, defines binary.Defines) error {
	files, err := fs.Sub(kernels, "kernels")
	if err != nil {
		return err
	}
	source, err := assembly.Source(name, files, name+".comp", replaced, defines)
	if err != nil {
		return fmt.Errorf("actors: %w", err)
	}
	if *to, err = from.Get(ctx, source); err != nil {
		return fmt.Errorf("actors: get %s: %w", name, err)
	}
	return nil
}

// defines are the sizes of the world.
func (o Options) defines() binary.Defines {
	return binary.Defines{
		"ACTOR_SLOTS":      strconv.Itoa(o.Slots),
		"ACTOR_STATE":      strconv.Itoa(o.State),
		"ACTOR_PAYLOAD":    strconv.Itoa(o.Payload),
		"ACTOR_DEPTH":      strconv.Itoa(o.Depth),
		"ACTOR_BROADCASTS": strconv.Itoa(o.Broadcasts),
		"ACTOR_OUTBOX":     strconv.Itoa(o.Outbox),
	}
}

func (p *programs) release() {
	for _, h := range []*cache.Handle{p.tick, p.sweep, p.plan, p.order} {
		if h != nil {
			h.Release()
		}
	}
}
