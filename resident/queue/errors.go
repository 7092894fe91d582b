package queue

import "errors"

// Errors of a queue. Those of the executor and of the cache are wrapped.
var (
	// ErrFull is returned by Push when the items do not fit. None was added.
	ErrFull = errors.New("queue is full: run rounds first, or make it larger")
	// ErrStuck is returned by Run when no item can finish, because none can reserve
	// the places that it needs. The items stay in the queue.
	ErrStuck = errors.New("no item of the queue can finish: its capacity is too small for the items that they push")
	// ErrUnreserved is returned by Run when an item pushed more items than it had
	// reserved places. The items without a place are lost.
	ErrUnreserved = errors.New("an item pushed more than it had reserved: call queueReserve first")
	// ErrLoopLimit is returned, wrapped, by New for items whose declared loops pass the
	// limit of the driver, and by Run and RunRounds, from then on, where an item passed it:
	// the driver ended a loop early, so results are wrong. Item.Loops declares the loops.
	ErrLoopLimit = errors.New("items of the queue have longer loops than the driver allows")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("queue is closed")
)
