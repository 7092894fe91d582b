package kernel

// Poison is written over every word of an output before a kernel runs: a NaN
// that no computation makes, so that an element that was not written shows.
const Poison uint32 = 0x7fc0_dead
