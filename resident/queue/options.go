package queue

import "fmt"

// Order says which item is taken first.
type Order uint8

// The orders: see the package documentation.
const (
	FIFO Order = iota
	LIFO
	Priority
)

func (o Order) String() string {
	names := [...]string{"fifo", "lifo", "priority"}
	if int(o) < len(names) {
		return names[o]
	}
	return fmt.Sprintf("order %d", uint8(o))
}

// Options configure a queue. The zero value is a FIFO for 4,096 items of one
// word.
type Options struct {
	// Order of taking. Default: FIFO.
	Order Order

	// Levels is the number of priorities, level 0 first; at most 32. Each has
	// memory for Capacity items. Default: 4 with Priority, otherwise 1.
	Levels int

	// Capacity is how many items there may be, all levels together, those that
	// are being worked on included. An item takes 12 bytes a word of device
	// memory. Default: 4096; at most 1<<21.
	Capacity int

	// Words is the size of an item in 32-bit words, at most 16. Default: 1.
	Words int

	// Groups is how many work groups take items, at most 256. Default: 16.
	Groups int

	// Local is the number of invocations of a group. Default: 64.
	Local int

	// Takes is how many items an invocation takes in a round. All of them share
	// what a driver allows one invocation: see the package documentation.
	// Default: 16; at most 4096.
	Takes int

	// Steal deals the items of a round out to the groups and lets them steal.
	// Otherwise all take from one place.
	Steal bool

	// Rounds is how many rounds are issued at once, at most 64. More cost less a
	// round, and what the last of them has nothing to do for is wasted.
	// Default: 8.
	Rounds int
}

// limits of Options: name, value, default and largest.
type limit struct {
	name    string
	value   *int
	normal  int
	largest int
}

func (o Options) withDefaults() (Options, error) {
	levels := 1
	if o.Order == Priority {
		levels = 4
	}
	for _, l := range []limit{
		{"Levels", &o.Levels, levels, 32},
		{"Capacity", &o.Capacity, 4096, 1 << 21},
		{"Words", &o.Words, 1, 16},
		{"Groups", &o.Groups, 16, 256},
		{"Local", &o.Local, 64, 1024},
		{"Takes", &o.Takes, 16, 4096},
		{"Rounds", &o.Rounds, 8, 64},
	} {
		if *l.value == 0 {
			*l.value = l.normal
		}
		if *l.value < 1 || *l.value > l.largest {
			return o, fmt.Errorf("queue: Options.%s is %d, it may be 1 to %d", l.name, *l.value, l.largest)
		}
	}
	switch {
	case o.Order > Priority:
		return o, fmt.Errorf("queue: there is no %v", o.Order)
	case o.Order != Priority && o.Levels > 1:
		return o, fmt.Errorf("queue: %d levels need the order Priority", o.Levels)
	}
	return o, nil
}

// ranges is how many ranges the items of a level are dealt out to.
func (o Options) ranges() int {
	if o.Steal {
		return o.Groups
	}
	return 1
}
