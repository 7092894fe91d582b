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
	if w.options.Check == nil {
		w.programs.tick, err = getTick(ctx, from, w.options)
	} else if handles, err = kernelset.GetChecked(ctx, from, kernels, w.checkHandlers, w.options.tickKernel()); err == nil {
		w.programs.tick = handles[0]
	} else {
		err = fmt.Errorf("actors: %w", err)
	}
	if err != nil {
		w.programs.release()
	}
	return err
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

func (p *worldPrograms) release() {
	kernelset.Release(p.sweep, p.plan, p.command)
	if p.tick != nil {
		p.tick.Release()
	}
}
