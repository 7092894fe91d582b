package actors

import (
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/shader"
)

// Errors of a world. Those of the executor and of the cache are wrapped.
var (
	// ErrStale is returned for the address of an actor that has ended, or of none.
	ErrStale = errors.New("no such actor: it has ended")
	// ErrFull is returned when a mailbox is full, or the broadcasts of a tick are.
	// Step the world, and send again.
	ErrFull = errors.New("mailbox is full: step, then send again")
	// ErrNoSlot is returned when all slots are occupied.
	ErrNoSlot = errors.New("all slots are occupied: terminate actors, or make the world larger")
	// ErrNoReply is returned by Request when no reply arrived in Options.RequestTicks.
	ErrNoReply = errors.New("no reply")
	// ErrElsewhere is returned for an actor of another device: see Router.
	ErrElsewhere = errors.New("the actor lives on another device")
)

var errClosed = fmt.Errorf("actors: %w", shader.ErrClosed)
