// Package wave3d is a demonstration: a 3-D wave equation over several GPUs. It shows how a
// simulation divides a volume over the members of a devices.Group, and is not a part of the
// library.
//
// The volume is divided into blocks, one for each member, and a block has up to six
// neighbours. In each step a member needs the cells of its neighbours next to its own: the
// faces, which go through devices.Exchange.
//
//	step t      boundary   cells that neighbours need: reads the faces of step t, and
//	                       writes the faces of step t+1
//	            interior   all other cells, which need no faces
//	            swap       when all boundaries are done, while interiors run: faces of
//	                       step t+1 go to the neighbours
//
// # The scheme
//
// It is that of package wave with six neighbours, without damping; u = 0 outside:
//
//	laplacian = (((x- + x+) + (y- + y+)) + (z- + z+)) - 6*u
//	next      = 2*u + courant^2 * laplacian - previous
//
// |next| < 1e-25 is replaced by 0. The scheme is stable for courant up to sqrt(1/3). All
// operations are float32 in a fixed order without fused operations, so that one GPU,
// several, and the CPU agree in every bit: see [Reference].
package wave3d
