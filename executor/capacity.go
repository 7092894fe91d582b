package executor

// Capacity returns the number of jobs, and of bytes in each direction, that can be pending
// before Submit waits for room. One job has at most SlotBytes of them.
func (e *Executor) Capacity() (jobs, bytes int) {
	return e.options.Depth * e.options.SlotJobs, e.options.Depth * e.options.SlotBytes
}

// SlotBytes returns Options.SlotBytes, as the executor uses it.
func (e *Executor) SlotBytes() int { return e.options.SlotBytes }
