// Package conv2d computes convolutions and matrix products on the GPU and checks them
// on the CPU.
//
// [Problem] and [GEMMProblem] describe the computation in the letters of the field:
// N, C, H, W, K, R, S, P and Q for a convolution, M, N and K for a matrix product.
// [Shape] is either of them as one word, such as gemm:1024x1024x1024,relu. All
// tensors are slices of float32, row by row.
//
// # One call
//
// A [Runner] computes a problem from slices to a slice:
//
//	gpu, err := shadercache.Open(shadercache.Options{})
//	defer gpu.Close()
//	runner := conv2d.Runner{Executor: gpu.Executor, Programs: gpu.Cache}
//	c, err := runner.GEMM(ctx, conv2d.GEMMProblem{M: m, N: n, K: k}, conv2d.GEMMTensors{A: a, B: b})
//	y, err := runner.Conv2D(ctx, problem, x, weights, bias)
//
// # Many runs
//
// A [Plan] computes a problem, or a chain of them, many times. Its programs stay resident, and
// its weights stay on the device in the layout of the algorithm. [OpenPlan] makes one for any
// device, and [NewPlan] one whose jobs go through an executor, several at a time:
//
//	layers := []conv2d.Layer{{Shape: problem.Shape()}}
//	plan, err := conv2d.NewPlan(ctx, runner.Executor, runner.Programs, layers, conv2d.PlanOptions{})
//	defer plan.Release()
//	_, err = plan.SetWeights(ctx, version, weights, bias)
//	job, err := plan.Job(x, y)
//	pending, err := runner.Executor.Submit(ctx, job)
//	err = pending.Wait(ctx)
//
// Inputs and outputs may stay on the device too: see Plan.Dispatches.
//
// # Algorithms
//
// A plan chooses one of several algorithms, with parameters: a [Choice]. Package
// conv2d/tune finds the fastest choice on a device and keeps it beside the programs,
// for every later plan with that driver. The kernels are the files in kernels/. Where the
// driver runs them on the CPU, matrix products and 1x1 convolutions may be computed without
// one: see docs/tuning.md.
//
// # Checks
//
// [ReferenceConv2D] and [ReferenceGEMM] compute the same on the CPU with float64
// accumulation. [Compare] compares a result with them, element by element. They, and
// shapes, are plain Go and may be used from any goroutine. NaN and infinity in a
// tensor propagate as the definition has it. What the definition does not read is not
// read: gaps between rows, C where beta is 0, A and B where alpha is 0.
package conv2d
