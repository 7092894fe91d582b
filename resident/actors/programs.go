//go:build linux

package actors

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

// worldPrograms are the kernels of a world.
type worldPrograms struct {
	tick, sweep, plan, command *cache.Handle
}

// getPrograms returns the programs of a world. The caller releases them.
func getPrograms(ctx context.Context, from executor.Programs, o Options) (worldPrograms, error) {
	handles, err := kernelset.Get(ctx, from, kernels,
		o.tickKernel(),
		kernelset.Kernel{Name: "actors_sweep", Defines: o.defines()},
		kernelset.Kernel{Name: "actors_plan", Defines: o.defines()},
		kernelset.Kernel{Name: "actors_command", Defines: o.defines()})
	if err != nil {
		return worldPrograms{}, fmt.Errorf("actors: %w", err)
	}
	return worldPrograms{tick: handles[0], sweep: handles[1], plan: handles[2], command: handles[3]}, nil
}

// getTick returns the program with the handlers. The caller releases it.
func getTick(ctx context.Context, from executor.Programs, o Options) (*cache.Handle, error) {
	handles, err := kernelset.Get(ctx, from, kernels, o.tickKernel())
	if err != nil {
		return nil, fmt.Errorf("actors: %w", err)
	}
	return handles[0], nil
}

// tickKernel returns the kernel that includes the handlers.
func (o Options) tickKernel() kernelset.Kernel {
	defines := o.defines()
	defines["ACTOR_HANDLERS"] = strconv.Itoa(len(o.Handlers))
	texts := map[string]string{}
	for i := range maxHandlers {
		text := "" // of an include in a branch that is not compiled
		if i < len(o.Handlers) {
			text = o.Handlers[i].Text
			defines["HANDLER_"+o.Handlers[i].Name] = strconv.Itoa(i) + "u"
		}
		texts["handler"+strconv.Itoa(i)+".glsl"] = text
	}
	for i, b := range o.Barriers {
		defines["BARRIER_"+b.Name] = strconv.Itoa(i) + "u"
	}
	return kernelset.Kernel{Name: "actors_tick", Texts: texts, Defines: defines}
}

// defines returns the sizes of the world.
func (o Options) defines() shader.Defines {
	return shader.Defines{
		"ACTOR_SLOTS":       strconv.Itoa(o.Slots),
		"ACTOR_STATE_WORDS": strconv.Itoa(o.StateWords),
		"ACTOR_PAYLOAD":     strconv.Itoa(o.Payload),
		"ACTOR_DEPTH":       strconv.Itoa(o.Depth),
		"ACTOR_BROADCASTS":  strconv.Itoa(o.Broadcasts),
		"ACTOR_OUTBOX":      strconv.Itoa(o.Outbox),
	}
}

func (p *worldPrograms) release() { kernelset.Release(p.tick, p.sweep, p.plan, p.command) }
