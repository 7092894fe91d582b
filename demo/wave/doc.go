// Package wave is a 2-D wave equation on the GPU that stays there: it is stepped,
// poked and inspected while it runs.
//
// The grid is cut into tiles. A tile is an actor: it owns its block of cells and
// nobody else writes there. Before each step it gets one message from each of its
// four neighbours, the row or column of cells next to the border between them,
// which they wrote in the step before. The messages have two places, used in
// turn, so a step is one dispatch without any waiting inside.
//
//	            cells of a tile             its four faces
//	step t      reads block t, t-1          reads its neighbours' of step t
//	            writes block t+1 over t-1   writes its own of step t+1
//
// # The scheme
//
// Second order in space and time, with u = 0 outside the grid:
//
//	laplacian = ((north + south) + (west + east)) - 4*u
//	next      = a * (2*u + courant^2 * laplacian) - b * previous
//
// where |next| < 1e-25 is taken for 0, so that no driver meets denormal numbers.
// It is stable for courant = c*dt/dx up to sqrt(1/2). a and b are 1, except in
// the sponge of an absorbing border, where s grows with the square of the way in:
// a = 1/(1+s) and b = (1-s)/(1+s). All of it is float32 in a fixed order without
// fused operations, so that GPU and CPU agree in every bit: see Reference.
//
// # Forms
//
// A Sim issues a dispatch for each step. Reference.Kernel is the same simulation
// for package resident, whose sessions turn steps into dispatches in other ways,
// up to one dispatch that stays.
//
// # Energy
//
// With a reflecting border the scheme conserves, but for rounding,
//
//	sum over cells of  (u-previous)^2 / 2  -  courant^2 * u * laplacian(previous) / 2
package wave
