//go:build linux

package queue

import (
	"fmt"

	"github.com/shadercache/shadercache/resident/internal/loops"
)

// stealAttempts is QUEUE_ATTEMPTS of queue_run.comp.
const stealAttempts = 4

// withinLimit returns the options with as many Takes as keep an invocation below the limit
// of the driver on loops, or resident.ErrLoopLimit, wrapped, where one item has more.
func (o Options) withinLimit(limit uint32, item Item) (Options, error) {
	// queueTake visits each range of a level once, and main each level.
	once := uint64(o.Levels) * uint64(2+o.ranges()*(2+stealAttempts))
	each := 1 + 2*uint64(1+o.Words) + uint64(item.Loops) // an item is read, and returned
	turns := loops.Turns(limit, each, once)
	if turns == 0 {
		return o, fmt.Errorf("queue: %w", loops.TooLong(fmt.Sprintf("item %s, by its Item.Loops,", item.Name), once+each, limit))
	}
	o.Takes = int(min(uint64(o.Takes), turns))
	return o, nil
}
