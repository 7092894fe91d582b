package kernel

// Tensors are the tensors of a problem on the host. A nil Output is poisoned before
// a run; otherwise the output holds these values.
type Tensors struct{ Input, Weights, Bias, Output []float32 }

// Poison is written over every word of an output before a kernel runs: a NaN
// that no computation makes, so that an element that was not written shows.
const Poison uint32 = 0x7fc0_dead
