//go:build linux

package conv2d

import (
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/conv2d/internal/parallel"
	"github.com/shadercache/shadercache/conv2d/internal/sgemm"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// gemmCPUAlgorithm computes a matrix product by package sgemm, in the mapped memory of its
// buffers, where the GPU is the CPU: without a dispatch, and without the loops that llvmpipe
// makes of a kernel's loads. It reads every matrix where it is.
var gemmCPUAlgorithm = newAlgorithm("gemm_cpu", gemmCPUCandidates,
	func(p GEMMProblem, _ CPUParams, on device) (kernel.Sequence, error) {
		return gemmCPUSequence(p, on, gemmRoles)
	}, sumTolerance[GEMMProblem])

// CPUParams are the parameters of gemm_cpu and conv2d_cpu: there are none.
type CPUParams struct{}

// String returns the parameters as text.
func (p CPUParams) String() string { return paramsText(p) }

func gemmCPUCandidates(p GEMMProblem, on device) []CPUParams {
	if !on.host {
		return nil
	}
	return []CPUParams{{}}
}

// convCPUAlgorithm is gemmCPUAlgorithm for convolutions that are a product as they are
// stored.
var convCPUAlgorithm = newAlgorithm("conv2d_cpu", convCPUCandidates,
	func(p Problem, _ CPUParams, on device) (kernel.Sequence, error) {
		if !p.isProduct() {
			return kernel.Sequence{}, fmt.Errorf("conv2d: conv2d_cpu computes convolutions of 1x1 without padding, strides and groups, not %v", p)
		}
		return gemmCPUSequence(p.asProduct(), on, productOfConv)
	}, sumTolerance[Problem])

func convCPUCandidates(p Problem, on device) []CPUParams {
	if !p.isProduct() {
		return nil
	}
	return gemmCPUCandidates(p.asProduct(), on)
}

// gemmCPUSequence returns the call that computes a valid matrix product.
func gemmCPUSequence(p GEMMProblem, on device, roles productRoles) (kernel.Sequence, error) {
	if !on.host {
		return kernel.Sequence{}, fmt.Errorf("conv2d: gemm_cpu computes %v only where the driver runs kernels on a CPU with AVX2 and FMA", p)
	}
	bindings := roles.bound(microOperand{role: roles.a}, microOperand{role: roles.b}, p.Bias)
	call := &job.HostCall{Name: "gemm_cpu", Call: func(memory [][]byte) error {
		t := kernel.Tensors{Input: glctx.Floats(memory[0]), Weights: glctx.Floats(memory[1]), Output: glctx.Floats(memory[2])}
		if p.Bias != NoBias {
			t.Bias = glctx.Floats(memory[3])
		}
		p.onCPU(t)
		return nil
	}}
	for _, b := range bindings {
		call.Bindings = append(call.Bindings, b.Index)
	}
	return kernel.Sequence{Steps: []kernel.Step{{Host: call, Bindings: bindings}}}, nil
}

// smallProduct is the number of products up to which one processor computes a matrix of a
// batch alone.
const smallProduct = 1 << 17

// onCPU computes a valid problem. C is changed; it is read where there is a beta.
func (p GEMMProblem) onCPU(t kernel.Tensors) {
	batch := orOne(p.Batch)
	if batch > 1 && product(p.M, p.N, p.K+p.Activation.products()) <= smallProduct {
		parallel.For(batch, func(i int) { p.matrixOnCPU(t, i) })
		return
	}
	for i := range batch {
		p.matrixOnCPU(t, i)
	}
}

// matrixOnCPU computes one matrix of the batch.
func (p GEMMProblem) matrixOnCPU(t kernel.Tensors, batch int) {
	work := sgemm.Product{
		M: p.M, N: p.N, K: p.depth(),
		A: p.a().operand(t.Input, batch), B: p.b().operand(t.Weights, batch),
		Finish: func(row, column int, sums []float32) {
			p.finish(t.Output[p.CIndex(batch, row, column):][:len(sums)], t.Bias, row, column, sums)
		},
		FinishCost: p.Activation.products(),
	}
	work.Run()
}

func (s stored) operand(data []float32, batch int) sgemm.Matrix {
	return sgemm.Matrix{Data: data[batch*s.stride:], LD: s.ld, Trans: s.trans}
}

// finish is the epilogue of the kernels, for neighbours in a row: c = act(alpha * sums +
// beta * c + bias). It changes sums.
func (p GEMMProblem) finish(c, bias []float32, row, column int, sums []float32) {
	if alpha := p.alpha(); alpha != 1 {
		for i := range sums {
			sums[i] *= alpha
		}
	}
	if beta := p.beta(); beta != 0 {
		for i, v := range c {
			sums[i] += beta * v
		}
	}
	switch p.Bias {
	case RowBias:
		for i := range sums {
			sums[i] += bias[row]
		}
	case ColumnBias:
		for i, v := range bias[column:][:len(sums)] {
			sums[i] += v
		}
	}
	p.Activation.applyAll(sums)
	copy(c, sums)
}

// applyAll computes the activation of each value.
func (a Activation) applyAll(values []float32) {
	switch a {
	case None:
	case ReLU:
		for i, v := range values {
			if v < 0 {
				values[i] = 0
			}
		}
	default:
		for i, v := range values {
			values[i] = float32(a.Apply(float64(v)))
		}
	}
}

// products returns the time of the activation of an element, in products of package sgemm:
// some 30 ns for those with an exponential, and 20 products a nanosecond.
func (a Activation) products() int {
	if a == None || a == ReLU {
		return 0
	}
	return 600
}

// exponentialK is the length of a sum from which the CPU is faster in spite of an activation
// with an exponential, which kernels compute for eight elements at a time: measured, see
// docs/bench/kernels.md.
const exponentialK = 384

// kernelsFirst reports whether a kernel is likelier the fastest than the CPU.
func (s Shape) kernelsFirst() bool {
	if s.Conv2D != nil {
		return s.Conv2D.isProduct() && s.Conv2D.asProduct().kernelsFirst()
	}
	return s.GEMM.kernelsFirst()
}

// cpuLast moves the algorithms that the CPU computes without a kernel to the end.
func (t task) cpuLast() []offer {
	kernels := t.restrict(Restriction{NoCPU: true}).offers
	return append(kernels, slices.DeleteFunc(t.offers, func(o offer) bool { return !isOnCPU(o.name) })...)
}

func (p GEMMProblem) kernelsFirst() bool {
	return p.Activation.products() > 0 && p.K < exponentialK && p.M > 1
}
