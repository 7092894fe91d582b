// Package shadercache is the root of a library that makes the second start of
// an OpenGL compute application cost what loading costs, not what compiling
// costs. It holds no code; the packages below it do:
//
//	binary    what is stored and where: fingerprints, keys, blobs, the store
//	cache     what is resident: Get a program, release it, evict, prune
//	glctx     the GL context and its thread; the only cgo
//	executor  asynchronous jobs: inputs up, programs, outputs down, side by side
//	bundle    a cache in one file, to be shipped
//	conv2d    convolution and GEMM kernels with CPU references
//	resident  kernels that keep running
//
// The command is cmd/shadercache. Example shows a whole program.
package shadercache
