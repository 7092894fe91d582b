// Package shadercache is the root of a library that makes the second start of
// an OpenGL compute application cost what loading costs, not what compiling
// costs. It holds no code; the packages below it do:
//
//	binary    what is stored and where: fingerprints, keys, blobs, the store
//	cache     what is resident: Get a program, release it, evict, prune
//	glctx     the GL context and its thread; the only cgo
//	conv2d    convolution and GEMM kernels with CPU references
//
// The command is cmd/shadercache. Example shows a whole program.
package shadercache
