package executor

import (
	"time"

	"github.com/shadercache/shadercache/trace"
)

// Options configure an [Executor]. The zero value suits jobs of up to a megabyte.
type Options struct {
	// Depth is the number of slots. 1 runs one job after the other, synchronously,
	// for comparison. Small jobs gain nothing from more than 3. From 4 on, copies
	// of large jobs overlap kernels; below, only the host's work does. Default: 4.
	Depth int

	// SlotBytes is the capacity of a slot for inputs, and again for outputs, in
	// bytes; Submit returns an error for a larger job. An executor allocates
	// 4*Depth*SlotBytes of memory, half of it on the device. Default: 1 MiB.
	SlotBytes int

	// SlotJobs is the capacity of a slot in jobs. Depth*SlotJobs jobs can be
	// pending before Submit blocks. Default: 256; with a Depth of 1 it is 1.
	SlotJobs int

	// Timeout is the time without a completed stage after which all pending jobs
	// fail. Default: 10 s.
	Timeout time.Duration

	// MaxDelay is the time by which the notification of a completed job may be
	// delayed. Each poll of the GPU wakes two threads and the waiting goroutine,
	// about 80 us of CPU time in all. With a MaxDelay of a few kernels, and a Depth
	// that leaves the GPU work meanwhile, one poll serves several jobs. The last
	// work on the GPU is never delayed. Default: 0.
	MaxDelay time.Duration

	// ErrorOfJob has an error of the driver be that of its job alone, not of all that went to
	// the GPU with it: for jobs of several clients. It asks the driver after each dispatch.
	ErrorOfJob bool

	// Timing measures Stats.GPUTime with timestamp queries. It costs about 2 us a
	// batch. A Tracer sets it.
	Timing bool

	// Tracer receives what becomes of jobs: see package trace. The work on the GPU is
	// measured by the GPU's clock, where there is one. Default: nothing is measured.
	Tracer trace.Tracer

	test testOptions
}

// testOptions change an executor for tests.
type testOptions struct {
	staged    bool      // use stages on every GPU and for batches of any size
	poison    bool      // overwrite memory of the device before each use
	spin      bool      // Wait may spin on every GPU
	pieces    bool      // copy in pieces on every GPU
	inPlace   bool      // small jobs use mapped memory on every GPU
	pollFence pollFence // replaces the driver's
}

const (
	defaultSlotBytes = 1 << 20
	defaultSlotJobs  = 256
	defaultTimeout   = 10 * time.Second
)

func (o Options) withDefaults() Options {
	if o.Depth <= 0 {
		o.Depth = stagedDepth
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
	o.Timing = o.Timing || o.Tracer != nil
	return o
}
