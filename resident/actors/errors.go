package actors

import "errors"

// Errors of a world. Those of the executor and of the cache pass through.
var (
	// ErrStale is returned for the address of an actor that has ended, or that
	// never was.
	ErrStale = errors.New("no such actor: it has ended")
	// ErrFull is returned when a mailbox or the broadcasts of a tick have no room:
	// step, and send again.
	ErrFull = errors.New("mailbox is full: step, then send again")
	// ErrNoSlot is returned when all slots are taken.
	ErrNoSlot = errors.New("all slots are taken: terminate actors, or make the world larger")
	// ErrNoReply is returned by Request when no reply came in time.
	ErrNoReply = errors.New("no reply")
	// ErrElsewhere is returned for an actor of another device: see Router.
	ErrElsewhere = errors.New("the actor lives on another device")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("world is closed")
)
