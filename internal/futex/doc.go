// Package futex has a thread sleep in the kernel until another wakes it, or for a time. A
// goroutine that waits for a channel is woken through Go's scheduler, by one thread more, and
// by two where it is locked to its thread; and Go's timers have a granularity of a millisecond
// in a process that is otherwise idle.
package futex
