package queue

import "errors"

// Errors of a queue. Those of the executor and of the cache pass through.
var (
	// ErrFull is returned by Push when the items do not fit. None was taken.
	ErrFull = errors.New("queue is full: run rounds first, or make it larger")
	// ErrStuck is returned by Run when no item could finish, because none finds
	// room for what it has to push. The items stay.
	ErrStuck = errors.New("no item of the queue can finish: its capacity is too small for what they push")
	// ErrUnreserved is returned by Run when an item pushed more than it had
	// reserved. What was too much is lost.
	ErrUnreserved = errors.New("an item pushed more than it had reserved: call queueReserve first")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("queue is closed")
)
