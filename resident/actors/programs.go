//go:build linux

package actors

import (
	"context"
	"embed"
	"fmt"
	"strconv"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/executor/kernelset"
	"github.com/shadercache/shadercache/shader"
)

//go:embed kernels
var kernels embed.FS

// worldPrograms are the kernels of a world.
type worldPrograms struct {
	tick, sweep, plan, command *cache.Handle
}

// getPrograms gets the programs of the world. Those that were loaded are checked.
func (w *World) getPrograms(ctx context.Context, from executor.Programs) error {
	defines := w.options.defines()
	handles, err := kernelset.GetChecked(ctx, from, kernels, w.checkOwn,
		kernelset.Kernel{Name: "actors_sweep", Defines: defines},
		kernelset.Kernel{Name: "actors_plan", Defines: defines},
		kernelset.Kernel{Name: "actors_command", Defines: defines})
	if err != nil {
		return fmt.Errorf("actors: %w", err)
	}
	w.programs = worldPrograms{sweep: handles[0], plan: handles[1], command: handles[2]}
	check := w.checkHandlers
	if w.options.Check == nil {
		check = nil
	}
	if handles, err = kernelset.GetChecked(ctx, from, kernels, check, w.options.tickKernel()); err != nil {
		w.programs.release()
		return fmt.Errorf("actors: %w", err)
	}
	w.programs.tick = handles[0]
	return nil
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
