// Package conv2d computes convolutions and matrix products on the GPU and
// proves them right on the CPU.
//
// [Problem] and [GEMMProblem] say what is to be computed, in the letters of the
// field: N, C, H, W, K, R, S, P and Q for a convolution, M, N and K for a matrix
// product. The kernels are the files in kernels/, compiled and kept by package
// cache; [Builtin] names the ready-made ones and [Variant] describes every other
// form of the matrix product. [Runner] runs them. [ReferenceConv2D] and
// [ReferenceGEMM] compute the same with float64 accumulation, and [Compare] says
// how far a result is from them, element by element.
//
// Everything but Runner and the Dispatch methods is plain Go and may be used
// from any goroutine.
package conv2d
