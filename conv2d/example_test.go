//go:build linux

package conv2d_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/executor"
)

// A matrix product from slices to a slice. It opens the first GPU, and keeps
// programs on disk, so that the next start finds them.
func Example() {
	gpu, err := shadercache.Open(shadercache.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer gpu.Close()
	runner := conv2d.Runner{Executor: gpu.Executor, Programs: gpu.Cache}
	c, err := runner.GEMM(context.Background(), conv2d.GEMMProblem{M: 2, N: 2, K: 3}, conv2d.GEMMTensors{
		A: []float32{1, 2, 3, 4, 5, 6},
		B: []float32{1, 0, 0, 1, 1, 1},
	})
	fmt.Println(c, err)
	// Output: [4 5 10 11] <nil>
}

// An edge filter over a picture of one channel; the sum of its weights is 0, so that
// what is even becomes black.
func ExampleRunner_Conv2D() {
	gpu, err := shadercache.Open(shadercache.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer gpu.Close()
	runner := conv2d.Runner{Executor: gpu.Executor, Programs: gpu.Cache}
	picture := []float32{
		1, 1, 5, 5,
		1, 1, 5, 5,
		1, 1, 5, 5,
	}
	edges := conv2d.Problem{N: 1, C: 1, H: 3, W: 4, K: 1, R: 1, S: 2, Activation: conv2d.ReLU}
	output, err := runner.Conv2D(context.Background(), edges, picture, []float32{-1, 1}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for row := range edges.P() {
		fmt.Println(output[row*edges.Q():][:edges.Q()])
	}
	// Output:
	// [0 4 0]
	// [0 4 0]
	// [0 4 0]
}

// A stream of inputs through weights that stay on the device: one input goes up while
// another is computed and the one before comes down.
func ExampleNewPlan() {
	ctx := context.Background()
	gpu, err := shadercache.Open(shadercache.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer gpu.Close()
	runner := conv2d.Runner{Executor: gpu.Executor, Programs: gpu.Cache}
	double := conv2d.GEMMProblem{M: 1, N: 2, K: 2, Bias: conv2d.ColumnBias}
	plan, err := conv2d.NewPlan(ctx, runner.Executor, runner.Programs, []conv2d.Layer{{Shape: double.Shape()}}, conv2d.PlanOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Release()
	if _, err := plan.SetWeights(ctx, 1, []float32{2, 0, 0, 2}, []float32{0, 100}); err != nil {
		log.Fatal(err)
	}
	var pending [3]*executor.Pending
	var outputs [3][2]float32
	for i := range pending {
		job, err := plan.Job([]float32{float32(i), float32(10 * i)}, outputs[i][:])
		if err != nil {
			log.Fatal(err)
		}
		if pending[i], err = runner.Executor.Submit(ctx, job); err != nil {
			log.Fatal(err)
		}
	}
	for i := range pending {
		if err := pending[i].Wait(ctx); err != nil {
			log.Fatal(err)
		}
		fmt.Println(outputs[i])
	}
	// Output:
	// [0 100]
	// [2 120]
	// [4 140]
}

// Three products in one run, with one B for all of them: matrices lie behind each
// other, and a stride of 0 uses the same one again.
func ExampleGEMMProblem_batch() {
	gpu, err := shadercache.Open(shadercache.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer gpu.Close()
	runner := conv2d.Runner{Executor: gpu.Executor, Programs: gpu.Cache}
	p := conv2d.GEMMProblem{M: 1, N: 2, K: 2, Batch: 3, StrideA: 2, StrideB: 0, StrideC: 2}
	c, err := runner.GEMM(context.Background(), p, conv2d.GEMMTensors{
		A: []float32{1, 0, 0, 1, 1, 1},
		B: []float32{1, 2, 3, 4},
	})
	fmt.Println(c, err)
	// Output: [1 2 3 4 4 6] <nil>
}

// A problem that cannot be computed says everything that is wrong with it.
func ExampleProblem_Validate() {
	p := conv2d.Problem{N: 1, C: 3, H: 4, W: 4, K: 2, R: 5, S: 3, Groups: 2}
	fmt.Println(p.Validate())
	// Output:
	// conv2d: invalid problem 1x3x4x4-2 5x3 g2:
	// C is 3, not divisible by 2 groups
	// the filter spans 5 along H, but the padded input has 4
}

// A result is right when no element errs by more than rounding does: this is how a
// program of one's own can be held to the CPU's result.
func ExampleCompare() {
	p := conv2d.GEMMProblem{M: 1, N: 2, K: 2}
	want := conv2d.ReferenceGEMM(p, conv2d.GEMMTensors{A: []float32{1, 2}, B: []float32{3, 4, 5, 6}})
	report := conv2d.Compare([]float32{13, 16.5}, want, conv2d.Tolerance(p.K))
	fmt.Println(report.OK(), want.Values)
	fmt.Println(report)
	// Output:
	// false [13 16]
	// 1 of 2 elements are wrong, 0 of them not written, 0 NaN; the worst is 1: 16.5, should be 16
}
