// Package conv2d computes convolutions and matrix products on the GPU and proves
// them right on the CPU.
//
// [Problem] and [GEMMProblem] say what is to be computed, in the letters of the
// field: N, C, H, W, K, R, S, P and Q for a convolution, M, N and K for a matrix
// product. [Shape] is either as one word, such as gemm:1024x1024x1024,relu. All
// tensors are slices of float32, row by row.
//
// # One call
//
// A [Runner] computes a problem from slices to a slice:
//
//	runner, err := conv2d.Open(conv2d.Options{})
//	defer runner.Close()
//	c, err := runner.GEMM(ctx, conv2d.GEMMProblem{M: m, N: n, K: k}, conv2d.GEMMTensors{A: a, B: b})
//	y, err := runner.Conv2D(ctx, problem, x, weights, bias)
//
// # Again and again
//
// A [Plan] is one problem that is computed again and again: its programs stay
// resident, and its weights on the device, in the form that the algorithm wants. Its
// jobs go through an executor, several at a time:
//
//	plan, err := conv2d.NewPlan(ctx, runner.Executor, runner.Programs, problem, conv2d.PlanOptions{})
//	defer plan.Release()
//	err = plan.SetWeights(ctx, version, weights, bias)
//	job, err := plan.Job(x, y)
//	pending, err := runner.Executor.Submit(ctx, job)
//	err = pending.Wait(ctx)
//
// Inputs and outputs may stay on the device too: Plan.Dispatches. A [Network] is plans
// in a row.
//
// # Algorithms
//
// A plan chooses one of several algorithms, with parameters: a [Choice]. [Tune] finds
// the fastest on a device, and counts only what is right; what it found is kept beside
// the programs, for every later plan on that driver. The kernels are the files in
// kernels/.
//
// # Right or wrong
//
// [ReferenceConv2D] and [ReferenceGEMM] compute the same on the CPU with float64
// accumulation, and [Compare] says how far a result is from them, element by element.
// They, and shapes, are plain Go and may be used from any goroutine. NaN and infinity
// in a tensor go where the definition has them. What the definition does not read is
// not read: gaps between rows, and C where there is no beta.
package conv2d
