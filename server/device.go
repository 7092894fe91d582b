//go:build linux

package server

import (
	"fmt"
	"strconv"

	"github.com/shadercache/shadercache/server/internal/wire"
)

// Device is the GPU of a worker: a server has one worker for each of its GPUs.
type Device struct {
	Number int    // from 0, in the order that the server was given
	Count  int    // devices of the server
	UUID   string // 32 hexadecimal digits; "" where the driver has none
}

// check returns an error where a session asks for another device.
func (d Device) check(asked string) error {
	if asked == "" || asked == strconv.Itoa(d.Number) || asked == d.UUID {
		return nil
	}
	return &wire.Error{
		Code: wire.CodeNotFound, Message: fmt.Sprintf("the server has no device %q that serves", asked),
		Hint: fmt.Sprintf("give a number below %d, or a UUID as shadercache devices prints it", d.Count),
	}
}

// Names are the names of buffers of all workers of a server. An owner is the number of a
// device, or -1. Methods may be called from any goroutine.
type Names interface {
	// Claim makes a name one of this worker, until Drop. It returns -1, or the owner where
	// another worker has it.
	Claim(name string) (owner int, err error)

	// Find returns the other worker that has a name, or -1.
	Find(name string) (owner int, err error)

	// Drop frees a name of this worker, for other workers when it returns. It has no effect
	// on a name of another worker.
	Drop(name string)
}
