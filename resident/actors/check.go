//go:build linux

package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/cache"
)

// checkOwn checks the programs without text of a handler, command, sweep and plan: without
// a tick, actors are spawned, get a message, are queried, and end.
func (w *World) checkOwn(ctx context.Context, handles []*cache.Handle) error {
	known := &World{executor: w.executor, options: w.options,
		programs: worldPrograms{sweep: handles[0], plan: handles[1], command: handles[2]}}
	if err := known.prepare(); err != nil {
		return err
	}
	defer known.buffers.release()
	states := [][]uint32{{1, 2, 3, 4}, {5, 6, 7}, {8}}
	states = states[:min(len(states), w.options.Slots)]
	actors, err := known.SpawnAll(ctx, w.options.Handlers[0].Name, states...)
	if err != nil {
		return err
	}
	for i, words := range states {
		if err := known.checkActor(ctx, actors[i], words); err != nil {
			return err
		}
	}
	if err := known.checkCounts(len(actors)); err != nil {
		return err
	}
	if err := known.Terminate(ctx, actors[0]); err != nil {
		return err
	}
	if _, err := known.Query(ctx, actors[0]); !errors.Is(err, ErrStale) {
		return fmt.Errorf("actors: the address of an actor that ended: %v", err)
	}
	return known.checkCounts(len(actors) - 1)
}

// checkActor checks the state of a new actor, and sends it a message.
func (w *World) checkActor(ctx context.Context, actor Address, words []uint32) error {
	state, err := w.StateWords(ctx, actor)
	if err != nil {
		return err
	}
	want := make([]uint32, w.options.StateWords)
	copy(want, words)
	if !slices.Equal(state, want) {
		return fmt.Errorf("actors: the state of a new actor is %v, should be %v", state, want)
	}
	if err := w.Send(ctx, actor, 1); err != nil {
		return err
	}
	info, err := w.Query(ctx, actor)
	if err == nil && info.Waiting != 1 {
		err = fmt.Errorf("actors: %d messages in a mailbox, should be 1", info.Waiting)
	}
	return err
}

func (w *World) checkCounts(live int) error {
	if r := w.Report(); r.Live != live || r.Free != w.options.Slots-live {
		return fmt.Errorf("actors: the report has %d actors and %d free slots, there are %d of %d", r.Live, r.Free, live, w.options.Slots)
	}
	return nil
}

// checkHandlers calls Options.Check with a world of its own.
func (w *World) checkHandlers(ctx context.Context, handles []*cache.Handle) error {
	known := &World{executor: w.executor, cache: w.cache, options: w.options, programs: w.programs}
	known.programs.tick = handles[0]
	if err := known.prepare(); err != nil {
		return err
	}
	defer known.buffers.release()
	return w.options.Check(ctx, known)
}
