// Package conv2d computes convolutions and matrix products on the GPU and
// proves them right on the CPU.
//
// [Problem] and [GEMMProblem] say what is to be computed, in the letters of the
// field: N, C, H, W, K, R, S, P and Q for a convolution, M, N and K for a matrix
// product. The kernels are the files in kernels/, compiled and kept by package
// cache. [ReferenceConv2D] and [ReferenceGEMM] compute the same with float64
// accumulation, and [Compare] says how far a result is from them, element by
// element.
//
// # Plans
//
// A [Plan] is what a program uses that computes the same problem again and again:
//
//	plan, err := conv2d.NewPlan(ctx, exec, programs, problem, conv2d.PlanOptions{})
//	err = plan.SetWeights(ctx, version, weights, bias)
//	job, err := plan.Job(input, output)   // for exec.Submit
//
// It chooses one of several algorithms, with parameters, keeps its programs
// resident and its weights on the device, in the form that the algorithm wants.
// [Tune] finds the fastest choice on a device, and counts only what is right; what
// it found is kept beside the programs, for every later plan on that driver. A
// [Network] is plans in a row.
//
// [Shape] is a problem as one word, such as gemm:1024x1024x1024,relu.
//
// # One call at a time
//
// [Runner] computes a problem from and to the host with the simplest kernels, and
// leaves nothing behind: [Builtin] names programs for it, and [Variant] describes
// forms of a tiled matrix product.
//
// References, comparing and shapes are plain Go and may be used from any goroutine.
package conv2d
