// Package shadercache makes the second start of an OpenGL compute application cost
// what loading costs, not what compiling costs.
//
// [Open] is the front door: it returns a [GPU], which is a GL context, a cache of
// programs and an executor, closed together. The packages below it can be used by
// themselves:
//
//	shader       what a program is: source, key, interface
//	drivercache  layer two: the driver's own cache of machine code
//	binary       layer one: program binaries on disk, by driver and program
//	cache        what is resident: get a program, release it, evict, preload
//	bundle       both layers in one archive, to be shipped
//	glctx        the GL context and its thread; the only cgo
//	executor     asynchronous jobs: inputs up, programs, outputs down, side by side
//	conv2d       convolution and matrix products with CPU references
//	resident     kernels that keep running
//
// The command is cmd/shadercache. The example shows a whole program.
package shadercache
