// Package pace holds the timing rules of resident sessions: how many steps a tick
// gets, when the host polls for the end of a tick, and how long ticks took. It is pure
// Go: it uses neither GL nor mapped memory.
package pace
