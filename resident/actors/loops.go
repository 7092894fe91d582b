//go:build linux

package actors

import (
	"fmt"

	"github.com/shadercache/shadercache/resident/internal/loops"
)

// checkLoops returns resident.ErrLoopLimit, wrapped, where the declared loops of an actor with a full
// mailbox pass the limit of the driver. Actors that run together have different
// handlers, and such a driver executes the loops of all of them for each.
func (o Options) checkLoops(limit uint32) error {
	declared := uint64(0)
	for _, h := range o.Handlers {
		declared += uint64(h.Loops)
	}
	if declared == 0 {
		return nil
	}
	messages := uint64(o.Depth + o.Broadcasts)
	turns := messages*(2+uint64(o.Payload)+declared) + 2 + declared
	if loops.Turns(limit, turns, 0) > 0 {
		return nil
	}
	return fmt.Errorf("actors: %w", loops.TooLong(
		fmt.Sprintf("an actor with %d messages, by the Handler.Loops and Options.Depth,", messages), turns, limit))
}
