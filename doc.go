// Package shadercache makes the second start of an OpenGL compute application cost
// what loading costs, not what compiling costs.
//
// [Connect] is the front door: it returns a [Device], which gets programs and runs jobs, in
// a GL context of this process or in a server that has one. [Open] returns a [GPU] of this
// process: a GL context, a cache of programs and an executor, closed together. The packages
// below it can be used by themselves:
//
//	shader       what a program is: source, key, interface
//	job          what work is, on any device
//	drivercache  layer two: the driver's own cache of machine code
//	binary       layer one: program binaries on disk, by driver and program
//	cache        what is resident: get a program, release it, evict, preload
//	fleet        packs of both layers, in a store that machines share
//	glctx        the GL context and its thread; the only cgo
//	executor     asynchronous jobs: inputs up, programs, outputs down, side by side
//	conv2d       convolution and matrix products with CPU references
//	resident     kernels that keep running
//	server       one process has context, programs and weights for many
//	devices      several GPUs as one
//	recording    the programs that any application links
//	trace        where the time goes
//
// The command is cmd/shadercache. The example shows a whole program.
package shadercache
