//go:build linux

package conv2d_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/devices"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job"
)

// openDevices opens a group of n contexts on the first device.
func openDevices(t *testing.T, n int) *devices.Group {
	t.Helper()
	gltest.Open(t)
	g, err := devices.Open(devices.Options{Device: shadercache.Options{
		Devices: gltest.Devices(n), NoTrials: true, Context: glctx.Options{DriverCacheOff: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// Convolutions and matrix products over one to four contexts are right in every element,
// from slices and from split buffers, also where the shares differ.
func TestPlansOverSeveralDevices(t *testing.T) {
	ctx := context.Background()
	conv := conv2d.Problem{N: 5, C: 3, H: 9, W: 8, K: 4, R: 3, S: 3, PadH: 1, PadW: 1, Bias: true, Activation: conv2d.ReLU}
	product := conv2d.GEMMProblem{M: 19, N: 12, K: 7, Bias: conv2d.ColumnBias}
	batch := conv2d.GEMMProblem{M: 4, N: 5, K: 6, Batch: 3, StrideA: 24, StrideC: 20}
	for n := 1; n <= 4; n++ {
		g := openDevices(t, n)
		shapes := []conv2d.Shape{product.Shape()}
		if n == 3 { // every shape of a share is a program of its own
			shapes = append(shapes, conv.Shape(), batch.Shape())
		}
		for _, shape := range shapes {
			plan, err := conv2d.OpenPlan(ctx, g, conv2d.DevicePlanOptions{}, shape)
			if err != nil {
				t.Fatal(err)
			}
			checkSplitPlan(t, g, plan, shape)
			plan.Release()
		}
	}
}

// checkSplitPlan compares runs of a plan with the reference.
func checkSplitPlan(t *testing.T, g *devices.Group, plan job.Plan, shape conv2d.Shape) {
	t.Helper()
	ctx := context.Background()
	input, weights := conv2d.RandomValues(plan.Info().Input, 1), conv2d.RandomValues(plan.Info().Weights, 2)
	bias := conv2d.RandomValues(plan.Info().Bias, 3)
	want := splitReference(shape, input, weights, bias)
	if _, err := plan.SetWeights(ctx, 1, weights, bias); err != nil {
		t.Fatal(err)
	}
	output := slices.Repeat([]float32{-12345}, plan.Info().Output)
	if err := plan.Run(ctx, input, output); err != nil {
		t.Fatal(err)
	}
	checkSplitOutput(t, "slices", shape, plan, output, want)

	rows := batchOf(shape)
	in, err := g.NewSplit(ctx, devices.Tensor{Shape: []int{rows, len(input) / rows}, Element: 4}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Release()
	out, err := g.NewSplit(ctx, devices.Tensor{Shape: []int{rows, len(output) / rows}, Element: 4}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Release()
	if _, err := in.Write(ctx, 0, glctx.Bytes(input)); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Write(ctx, 0, glctx.Bytes(slices.Repeat([]float32{-12345}, len(output)))); err != nil {
		t.Fatal(err)
	}
	pending, err := plan.SubmitBuffers(ctx, in, out)
	if err != nil {
		t.Fatal(err)
	}
	defer pending.Release()
	if err := pending.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(ctx, 0, glctx.Bytes(output)); err != nil {
		t.Fatal(err)
	}
	checkSplitOutput(t, "buffers", shape, plan, output, want)
}

func splitReference(s conv2d.Shape, input, weights, bias []float32) conv2d.Expected {
	if s.Conv2D != nil {
		return conv2d.ReferenceConv2D(*s.Conv2D, input, weights, bias)
	}
	return conv2d.ReferenceGEMM(*s.GEMM, conv2d.GEMMTensors{A: input, B: weights, Bias: bias})
}

func batchOf(s conv2d.Shape) int {
	switch {
	case s.Conv2D != nil:
		return s.Conv2D.N
	case s.GEMM.Batch > 1:
		return s.GEMM.Batch
	}
	return s.GEMM.M
}

func checkSplitOutput(t *testing.T, from string, shape conv2d.Shape, plan job.Plan, got []float32, want conv2d.Expected) {
	t.Helper()
	if err := conv2d.Compare(got, want, plan.Info().Layers[0].Tolerance).Err(); err != nil {
		t.Errorf("%v from %s: %v", shape, from, err)
	}
}

// What cannot be split is refused with the reason.
func TestPlansThatCannotBeSplit(t *testing.T) {
	g := openDevices(t, 2)
	for _, p := range []conv2d.GEMMProblem{
		{M: 8, N: 8, K: 8, TransA: true},
		{M: 8, N: 8, K: 8, LDC: 9},
		{M: 8, N: 8, K: 8, Bias: conv2d.RowBias},
		{M: 8, N: 8, K: 8, Batch: 2, StrideA: 64, StrideB: 64, StrideC: 64},
		{M: 3, N: 4, K: 5, LDA: 7, Batch: 4, StrideA: 21, StrideC: 12},
		{M: 3, N: 4, K: 5, Batch: 4, StrideA: 15, LDC: 6, StrideC: 18},
	} {
		if plan, err := conv2d.OpenPlan(context.Background(), g, conv2d.DevicePlanOptions{}, p.Shape()); !errors.Is(err, shadercache.ErrInvalid) {
			t.Errorf("%v: %v", p.Shape(), err)
			if err == nil {
				plan.Release()
			}
		}
	}
}

// Buffers whose parts have the sizes of the shares, and not their elements, are refused.
func TestBuffersThatAreSplitOtherwise(t *testing.T) {
	g := openDevices(t, 2)
	ctx := context.Background()
	plan, err := conv2d.OpenPlan(ctx, g, conv2d.DevicePlanOptions{}, conv2d.Problem{N: 2, C: 1, H: 1, W: 4, K: 1, R: 1, S: 1}.Shape())
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Release()
	if _, err := plan.SetWeights(ctx, 1, []float32{1}, nil); err != nil {
		t.Fatal(err)
	}
	byDim := make([]*devices.Split, 2)
	for dim := range byDim {
		if byDim[dim], err = g.NewSplit(ctx, devices.Tensor{Shape: []int{2, 4}, Element: 4}, dim); err != nil {
			t.Fatal(err)
		}
		defer byDim[dim].Release()
	}
	for from := range byDim {
		pending, err := plan.SubmitBuffers(ctx, byDim[from], byDim[1-from])
		if !errors.Is(err, shadercache.ErrInvalid) {
			t.Errorf("from a buffer that is split along %d: %v", from, err)
		}
		if err == nil {
			pending.Release()
		}
	}
}
