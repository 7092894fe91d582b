package jobs

import (
	"slices"
	"time"

	"github.com/shadercache/shadercache/executor"
)

// jobSize is one size and length of jobs, at several depths.
type jobSize struct {
	kernelMicros float64
	bytes        int
	slotJobs     int
	depths       []int
	delayed      []delayedRun
}

// delayedRun is a further run, in which results may wait.
type delayedRun struct {
	depth    int
	maxDelay time.Duration
}

const smallBytes = 4 << 10

// smallSlotJobs bounds the small jobs that a slot has room for.
const smallSlotJobs = 256

// smallSlot returns the small jobs of a slot: with a short Seconds so few that the
// executor is full several times in it.
func (o Options) smallSlot(kernelMicros float64) int {
	const deepest, fills, leastMicros = 8, 2, 20 // a job takes longer than a short kernel
	n := o.Seconds * 1e6 / (max(kernelMicros, leastMicros) * deepest * fills)
	return int(min(max(n, 4), smallSlotJobs))
}

// plan returns what the workloads run.
func (o Options) plan() []jobSize {
	var plan []jobSize
	if slices.Contains(o.Workloads, "small") {
		for _, micros := range []float64{2, 10, 100} {
			plan = append(plan, jobSize{micros, smallBytes, o.smallSlot(micros), []int{1, 2, 3, 8}, nil})
		}
		// One job a batch, to show the CPU time with kernels of 1 ms.
		plan = append(plan, jobSize{1000, smallBytes, 1, []int{1, 2, 3, 8}, []delayedRun{{8, 3 * time.Millisecond}, {16, 6 * time.Millisecond}, {32, 12 * time.Millisecond}}})
	}
	if slices.Contains(o.Workloads, "large") {
		plan = append(plan, jobSize{1000, int(o.LargeBytes), 1, []int{1, 2, 3, 4, 6}, nil})
	}
	return plan
}

// planRows returns the number of rows of a plan.
func planRows(plan []jobSize) (rows int) {
	for _, size := range plan {
		rows += len(size.depths) + len(size.delayed)
	}
	return rows
}

// runs returns the executors that a size is measured with.
func (size jobSize) runs() (list []executor.Options) {
	addRun := func(depth int, delay time.Duration) {
		o := executor.Options{Depth: depth, SlotJobs: size.slotJobs, MaxDelay: delay}
		if depth == 1 {
			o.SlotJobs = 1
		}
		o.SlotBytes = size.bytes * o.SlotJobs
		list = append(list, o)
	}
	for _, depth := range size.depths {
		addRun(depth, 0)
	}
	for _, run := range size.delayed {
		addRun(run.depth, run.maxDelay)
	}
	return list
}
