package queue

import (
	"cmp"
	"fmt"

	"github.com/shadercache/shadercache/resident/internal/wire"
)

// Order is the order in which items are taken.
type Order uint8

// The orders: see the package documentation.
const (
	FIFO Order = iota
	LIFO
	Priority
)

// String returns the name of the order in lower case.
func (o Order) String() string { return wire.Name([]string{"fifo", "lifo", "priority"}, "order", o) }

// Options configure a queue. The zero value is a FIFO for 4,096 items of one
// word.
type Options struct {
	// Order is the order in which items are taken. Default: FIFO.
	Order Order

	// Levels is the number of priorities, at most 32. Level 0 is taken first. Each
	// level has memory for Capacity items. Default: 4 with Priority, otherwise 1.
	Levels int

	// Capacity is the largest number of items of all levels together, with those
	// that are being processed. Each word of an item takes 12 bytes of device
	// memory. Default: 4096; at most 1<<21.
	Capacity int

	// Words is the size of an item in 32-bit words, at most 16. Default: 1.
	Words int

	// Groups is the number of work groups that take items, at most 256. Default: 16.
	Groups int

	// Local is the number of invocations of a group. Default: 64.
	Local int

	// Takes is the largest number of items that an invocation takes in a round. Where the
	// driver ends long loops it is lowered to what Item.Loops leaves room for. Default: 16;
	// at most 4096.
	Takes int

	// Steal divides the items of a round among the groups, which steal from each
	// other. Otherwise all groups take from one range.
	Steal bool

	// Rounds is the number of rounds in a submission, at most 64. More rounds cost
	// less each, but those after the last item are wasted. Default: 8.
	Rounds int
}

func (o Options) withDefaults() (Options, error) {
	levels := 1
	if o.Order == Priority {
		levels = 4
	}
	for _, l := range []struct {
		name            string
		value           *int
		normal, largest int
	}{
		{"Levels", &o.Levels, levels, 32},
		{"Capacity", &o.Capacity, 4096, 1 << 21},
		{"Words", &o.Words, 1, 16},
		{"Groups", &o.Groups, 16, 256},
		{"Local", &o.Local, 64, 1024},
		{"Takes", &o.Takes, 16, 4096},
		{"Rounds", &o.Rounds, 8, 64},
	} {
		*l.value = cmp.Or(*l.value, l.normal)
		if *l.value < 1 || *l.value > l.largest {
			return o, fmt.Errorf("queue: Options.%s is %d, it may be 1 to %d", l.name, *l.value, l.largest)
		}
	}
	switch {
	case o.Order > Priority:
		return o, fmt.Errorf("queue: unknown %v", o.Order)
	case o.Order != Priority && o.Levels > 1:
		return o, fmt.Errorf("queue: %d levels need the order Priority", o.Levels)
	}
	return o, nil
}

// ranges returns the number of ranges that the items of a level are divided into.
func (o Options) ranges() int {
	if o.Steal {
		return o.Groups
	}
	return 1
}
