//go:build linux

package executor

import "time"

// Options configure an [Executor]. The zero value is a good choice for jobs of
// up to a megabyte.
type Options struct {
	// Depth is the number of slots. 1 runs one job after the other, each to its
	// end: the synchronous form, for comparison. 3 are enough for small jobs,
	// which gain nothing from more. From 4 on, copies of large jobs overlap
	// kernels, and best from 6 on; below, only the host's work does. Default: 3.
	Depth int

	// SlotBytes is how many bytes of inputs, and how many of outputs, fit into a
	// slot; a larger job is refused. An executor takes 4*Depth*SlotBytes of
	// memory, half of it on the device. Default: 1 MiB.
	SlotBytes int

	// SlotJobs is how many jobs fit into a slot, bytes permitting. So many in
	// Depth slots can be pending before Submit blocks. Default: 256; with a
	// Depth of 1 it is 1.
	SlotJobs int

	// FailWhenFull makes Submit return ErrFull rather than wait for room.
	FailWhenFull bool

	// Timeout is how long the GPU may go without completing anything before all
	// pending jobs fail. Default: 10 s.
	Timeout time.Duration

	// MaxDelay is how long a result may be there before anybody is told. Each
	// look at the GPU wakes two threads and the one who waits, some 80 us of CPU
	// time in all. With a MaxDelay of a few kernels, and a Depth that leaves the
	// GPU work meanwhile, one look serves several jobs. Nothing is delayed that
	// the GPU has nothing behind. Default: 0, told at once.
	MaxDelay time.Duration

	// Timing has the GPU note when it begins and ends: Stats.GPUTime. It costs
	// about 2 us a batch.
	Timing bool

	trial trial
}

// trial bends an executor for tests.
type trial struct {
	pipeline bool  // use stages whatever the GPU is and however few the bytes are
	poison   bool  // fill a slot's device memory before each use
	linger   bool  // Wait may look before it sleeps whatever the GPU is
	fences   fence // looks at fences instead of the driver
}

const (
	defaultDepth     = 3
	defaultSlotBytes = 1 << 20
	defaultSlotJobs  = 256
	defaultTimeout   = 10 * time.Second
)

func (o Options) withDefaults() Options {
	if o.Depth <= 0 {
		o.Depth = defaultDepth
	}
	if o.SlotBytes <= 0 {
		o.SlotBytes = defaultSlotBytes
	}
	if o.SlotJobs <= 0 {
		o.SlotJobs = defaultSlotJobs
	}
	if o.Depth == 1 {
		o.SlotJobs = 1
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	return o
}
