package queue

import (
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/shader"
)

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
)

var errClosed = fmt.Errorf("queue: %w", shader.ErrClosed)
