//go:build linux

package actors

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"strconv"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/resident/assembly"
	"github.com/shadercache/shadercache/shader"
)

//go:embed kernels
var kernels embed.FS

// programs are the kernels of a world.
type programs struct {
	tick, sweep, plan, order *cache.Handle
}

func (p *programs) get(ctx context.Context, from executor.Programs, o Options) error {
	err := get(ctx, from,
		assembly.Program{To: &p.sweep, Name: "actors_sweep", Defines: o.defines()},
		assembly.Program{To: &p.plan, Name: "actors_plan", Defines: o.defines()},
		assembly.Program{To: &p.order, Name: "actors_order", Defines: o.defines()})
	if err != nil {
		return err
	}
	return p.getTick(ctx, from, o)
}

// getTick gets the program that has the handlers.
func (p *programs) getTick(ctx context.Context, from executor.Programs, o Options) error {
	defines := o.defines()
	maps.Copy(defines, shader.Defines{"ACTOR_HANDLERS": strconv.Itoa(len(o.Handlers))})
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
	return get(ctx, from, assembly.Program{To: &p.tick, Name: "actors_tick", Replaced: texts, Defines: defines})
}

func get(ctx context.Context, from executor.Programs, list ...assembly.Program) error {
	if err := assembly.Get(ctx, from, kernels, list...); err != nil {
		return fmt.Errorf("actors: %w", err)
	}
	return nil
}

// defines are the sizes of the world.
func (o Options) defines() shader.Defines {
	return shader.Defines{
		"ACTOR_SLOTS":      strconv.Itoa(o.Slots),
		"ACTOR_STATE":      strconv.Itoa(o.State),
		"ACTOR_PAYLOAD":    strconv.Itoa(o.Payload),
		"ACTOR_DEPTH":      strconv.Itoa(o.Depth),
		"ACTOR_BROADCASTS": strconv.Itoa(o.Broadcasts),
		"ACTOR_OUTBOX":     strconv.Itoa(o.Outbox),
	}
}

func (p *programs) release() { assembly.Release(p.tick, p.sweep, p.plan, p.order) }
