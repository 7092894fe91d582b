package executor

// mostInPlace is the number of bytes, each way, up to which the kernel of a job that is alone in
// its batch uses the mapped memory in place: less than two copies by the driver take.
const mostInPlace = 4 << 10

// usesInPlace reports whether the kernels of a batch that runs as a whole use the mapped
// memory of its slot. A chain of dispatches does not: the second would read through the bus
// what the first wrote. Nor do jobs with copies of their own, or counters, which kernels
// change one by one.
func (e *Executor) usesInPlace(b *batch) bool {
	return e.inPlace && len(b.commands) == 1 && b.commands[0].host == nil && len(b.copies) == 0 &&
		b.upBytes() <= mostInPlace && b.downBytes() <= mostInPlace && !b.countsInSlot()
}

// countsInSlot reports whether a counter of a job is in the slot.
func (b *batch) countsInSlot() bool {
	for i := range b.binds {
		if b.binds[i].from == slotCounters {
			return true
		}
	}
	return false
}
