//go:build linux

package actors

import (
	"context"
	"fmt"

	"github.com/shadercache/shadercache/resident/internal/wire"
)

// ActorState is the state of an actor's life cycle.
type ActorState uint32

// The states: see the package documentation.
const (
	Free    ActorState = iota // no actor occupies the slot
	Born                      // live in the next tick
	Live                      //
	Ending                    // its slot becomes free after the tick
	Waiting                   // at a barrier
	Failed                    // until it is restarted
)

// String returns the name of the state in lower case.
func (s ActorState) String() string {
	return wire.Name([]string{"free", "born", "live", "ending", "waiting", "failed"}, "state", s)
}

// Info is the registry entry of an actor, between two ticks.
type Info struct {
	Address   Address
	State     ActorState
	Handler   string
	Handled   uint32 // messages and broadcasts since it was spawned or restarted
	Heartbeat uint32 // the last tick that it ran in
	Born      uint32 // its first tick
	Restarts  uint32
	Epoch     uint32 // of neighbourhood barriers
	Barrier   string // that it waits at
	Waiting   int    // messages in its mailbox; set by Query only
}

// Query returns the entry of an actor. It blocks the GL thread. It returns ErrStale or
// ErrElsewhere, wrapped.
func (w *World) Query(ctx context.Context, actor Address) (Info, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.queryLocked(ctx, actor)
}

// queryLocked is Query with mu locked.
func (w *World) queryLocked(ctx context.Context, actor Address) (Info, error) {
	if err := w.checkAddress(actor); err != nil {
		return Info{}, err
	}
	var line [slotWords]uint32
	slot := int(actor.Slot)
	if err := w.buffers.slots.Download(ctx, slotWords*slot, line[:]); err != nil {
		return Info{}, fmt.Errorf("actors: %w", err)
	}
	info := w.info(slot, line[:])
	if info.State == Free || info.Address != actor {
		return Info{}, fmt.Errorf("actors: query %v: %w", actor, ErrStale)
	}
	for side := range 2 {
		var count [1]uint32
		if err := w.buffers.mail.Download(ctx, side*w.options.Slots+slot, count[:]); err != nil {
			return Info{}, fmt.Errorf("actors: %w", err)
		}
		info.Waiting += int(count[0])
	}
	return info, nil
}

// checkAddress returns an error for an address of another device or of no slot, and when
// the world is closed.
func (w *World) checkAddress(actor Address) error {
	if err := w.usable(); err != nil {
		return err
	}
	switch {
	case actor.Device != w.options.Device:
		return fmt.Errorf("actors: query %v: %w", actor, ErrElsewhere)
	case int(actor.Slot) >= w.options.Slots:
		return fmt.Errorf("actors: query %v: %w", actor, ErrStale)
	}
	return nil
}

func (w *World) info(slot int, line []uint32) Info {
	info := Info{
		Address:   Address{w.options.Device, uint32(slot), line[1]},
		State:     ActorState(line[0]),
		Handled:   line[3],
		Heartbeat: line[4],
		Born:      line[5],
		Restarts:  line[6],
		Epoch:     line[7],
	}
	if i := int(line[2]); i < len(w.options.Handlers) {
		info.Handler = w.options.Handlers[i].Name
	}
	if i := int(line[9]); info.State == Waiting && i < len(w.options.Barriers) {
		info.Barrier = w.options.Barriers[i].Name
	}
	return info
}

// StateWords returns the state of an actor, between two ticks. It blocks the GL thread. It
// returns the errors of Query.
func (w *World) StateWords(ctx context.Context, actor Address) ([]uint32, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.queryLocked(ctx, actor); err != nil {
		return nil, err
	}
	words := make([]uint32, w.options.StateWords)
	if err := w.buffers.states.Download(ctx, w.options.StateWords*int(actor.Slot), words); err != nil {
		return nil, fmt.Errorf("actors: %w", err)
	}
	return words, nil
}

// Registry returns the entries of all actors, by slot. It blocks the GL thread.
func (w *World) Registry(ctx context.Context) ([]Info, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return nil, err
	}
	lines := make([]uint32, slotWords*w.options.Slots)
	if err := w.buffers.slots.Download(ctx, 0, lines); err != nil {
		return nil, fmt.Errorf("actors: %w", err)
	}
	var all []Info
	for slot := range w.options.Slots {
		if info := w.info(slot, lines[slotWords*slot:][:slotWords]); info.State != Free {
			all = append(all, info)
		}
	}
	return all, nil
}
