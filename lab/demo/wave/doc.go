// Package wave is a demonstration: a 2-D wave equation that stays on the GPU, where it
// is stepped, excited and inspected. It shows how a simulation uses packages executor
// and resident, and is not a part of the library.
//
// The grid is divided into tiles, one work group each. A tile owns its block of cells,
// and no other group writes them. For each step it reads from each of its four
// neighbours a face: the row or column of cells along their common border, which the
// neighbour wrote in the step before. Faces are double-buffered, so a step is one
// dispatch without synchronization inside.
//
//	            cells of a tile             its four faces
//	step t      reads block t, t-1          reads those of its neighbours of step t
//	            writes block t+1 over t-1   writes its own of step t+1
//
// # The scheme
//
// The scheme is of second order in space and time, with u = 0 outside the grid:
//
//	laplacian = ((north + south) + (west + east)) - 4*u
//	next      = a * (2*u + courant^2 * laplacian) - b * previous
//
// |next| < 1e-25 is replaced by 0, so that no driver computes with denormal numbers. The
// scheme is stable for courant = c*dt/dx up to sqrt(1/2). a and b are 1, except in the
// damping layer of an absorbing border, where s grows with the square of the depth in
// the layer: a = 1/(1+s) and b = (1-s)/(1+s). All operations are float32 in a fixed order
// without fused operations, so that GPU and CPU agree in every bit: see Reference.
//
// # Forms
//
// A Sim submits a dispatch for each step. Reference.Kernel is the same simulation for
// package resident, whose sessions execute steps in other ways, one of which is a single
// dispatch that keeps running. A Session is one with the methods of a Sim, which can be
// saved and continued elsewhere.
//
// # Energy
//
// With a reflecting border the scheme conserves, except for rounding,
//
//	sum over cells of  (u-previous)^2 / 2  -  courant^2 * u * laplacian(previous) / 2
package wave
