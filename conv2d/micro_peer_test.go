//go:build linux

package conv2d

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/conv2d/internal/parallel"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// peerProducts are the matrix products of the workload gemm that a CPU computes
// in a moment.
var peerProducts = []GEMMProblem{
	{M: 512, N: 512, K: 512},
	{M: 1024, N: 1024, K: 1024},
	{M: 129, N: 129, K: 129},
	{M: 1000, N: 1000, K: 1000},
	{M: 1031, N: 1031, K: 1031},
	{M: 512, N: 512, K: 512, TransA: true},
	{M: 512, N: 512, K: 512, TransB: true},
	{M: 16, N: 900, K: 27},
	{M: 1, N: 4096, K: 4096},
	{M: 4096, N: 64, K: 4096},
}

// peerConvs are the shapes of the workload conv with one image.
var peerConvs = []Problem{
	{N: 1, C: 3, H: 224, W: 224, K: 64, R: 7, S: 7, StrideH: 2, StrideW: 2, PadH: 3, PadW: 3},
	{N: 1, C: 64, H: 56, W: 56, K: 64, R: 3, S: 3, PadH: 1, PadW: 1},
	{N: 1, C: 128, H: 28, W: 28, K: 128, R: 3, S: 3, PadH: 1, PadW: 1},
	{N: 1, C: 256, H: 14, W: 14, K: 256, R: 3, S: 3, PadH: 1, PadW: 1},
	{N: 1, C: 512, H: 7, W: 7, K: 512, R: 3, S: 3, PadH: 1, PadW: 1},
	{N: 1, C: 256, H: 56, W: 56, K: 64, R: 1, S: 1},
	{N: 1, C: 64, H: 224, W: 224, K: 64, R: 3, S: 3, PadH: 1, PadW: 1},
	{N: 1, C: 128, H: 28, W: 28, K: 256, R: 3, S: 3, PadH: 1, PadW: 1},
	{N: 1, C: 64, H: 56, W: 56, K: 256, R: 3, S: 3, PadH: 1, PadW: 1},
	{N: 1, C: 64, H: 56, W: 56, K: 128, R: 3, S: 3, PadH: 1, PadW: 1},
	{N: 1, C: 3, H: 224, W: 224, K: 64, R: 3, S: 3, PadH: 1, PadW: 1},
	{N: 1, C: 512, H: 7, W: 7, K: 512, R: 1, S: 1},
	{N: 1, C: 128, H: 28, W: 28, K: 256, R: 5, S: 5, StrideH: 2, StrideW: 2, PadH: 2, PadW: 2},
	{N: 1, C: 32, H: 56, W: 56, K: 32, R: 3, S: 3, PadH: 1, PadW: 1, Groups: 32},
	{N: 1, C: 3, H: 32, W: 32, K: 16, R: 3, S: 3},
}

// BenchmarkGEMMPeer runs gemm_cpu, every candidate of gemm_register and gonum's blas32 in
// turn, and reports medians: GFLOP/s of the best candidate, of the one that is
// taken without tuning, of gonum, and how many times as fast the best one is. Of
// the fastest runs too, because a busy machine slows down one more than the other.
func BenchmarkGEMMPeer(b *testing.B) {
	for _, p := range peerProducts {
		b.Run(strings.ReplaceAll(p.String(), " ", "_"), func(b *testing.B) {
			in := kernel.Tensors{Input: RandomValues(p.ALen(), 1), Weights: RandomValues(p.BLen(), 2)}
			c := make([]float32, p.CLen())
			benchmarkPeer(b, []algorithm[GEMMProblem]{gemmCPUAlgorithm, gemmMicroAlgorithm}, p, in, c, func() { peerProduct(p, in.Input, in.Weights, c) })
		})
	}
}

// BenchmarkConvPeer is BenchmarkGEMMPeer for convolutions: the peer is im2col and
// gonum's blas32, on all processors. Packing weights is not part of the time.
func BenchmarkConvPeer(b *testing.B) {
	for _, p := range peerConvs {
		b.Run(strings.ReplaceAll(p.String(), " ", "_"), func(b *testing.B) {
			in := kernel.Tensors{Input: RandomValues(p.InputLen(), 1), Weights: RandomValues(p.WeightsLen(), 2)}
			c := make([]float32, p.OutputLen())
			columns := make([]float32, p.ReductionLen()*p.P()*p.Q())
			benchmarkPeer(b, []algorithm[Problem]{convCPUAlgorithm, convMicroAlgorithm}, p, in, c, func() { peerConv(p, in.Input, in.Weights, columns, c) })
		})
	}
}

func transposed(set bool) blas.Transpose {
	if set {
		return blas.Trans
	}
	return blas.NoTrans
}

func (s stored) general(values []float32) blas32.General {
	return blas32.General{Rows: s.rows, Cols: s.columns, Stride: s.ld, Data: values}
}

// peerProduct is op(A)*op(B) by gonum.
func peerProduct(p GEMMProblem, a, b, c []float32) {
	blas32.Gemm(transposed(p.TransA), transposed(p.TransB), 1, p.a().general(a), p.b().general(b), 0, p.c().general(c))
}

// peerConv is a convolution of one image by im2col and gonum.
func peerConv(p Problem, input, weights, columns, output []float32) {
	groups, pixels, length := orOne(p.Groups), p.P()*p.Q(), p.ReductionLen()
	for g := range groups {
		planes := input[g*p.groupC()*p.H*p.W:]
		if p.isProduct() {
			columns = planes
		} else {
			parallel.For(length, func(row int) { p.im2col(planes, row, columns[row*pixels:][:pixels]) })
		}
		peerProduct(GEMMProblem{M: p.groupK(), N: pixels, K: length},
			weights[g*p.groupK()*length:], columns, output[g*p.groupK()*pixels:])
	}
}

// im2col fills one row of the matrix of columns: what one tap of one channel sees
// at every pixel.
func (p Problem) im2col(planes []float32, row int, to []float32) {
	c, r, s := row/(p.R*p.S), row/p.S%p.R, row%p.S
	for i := range p.P() {
		y := i*orOne(p.StrideH) - p.PadH + r*orOne(p.DilationH)
		for j := range p.Q() {
			x := j*orOne(p.StrideW) - p.PadW + s*orOne(p.DilationW)
			v := float32(0)
			if y >= 0 && y < p.H && x >= 0 && x < p.W {
				v = planes[(c*p.H+y)*p.W+x]
			}
			to[i*p.Q()+j] = v
		}
	}
}

// contender is one candidate on the device.
type contender struct {
	choice   Choice
	sequence kernel.Sequence
	times    []time.Duration
}

// benchmarkPeer compares the candidates of algorithms with a peer that writes
// to want. Both compute without bias, activation and gaps.
func benchmarkPeer[P interface {
	problem
	FLOPs() int64
	ReductionLen() int
}](b *testing.B, algorithms []algorithm[P], p P, in kernel.Tensors, want []float32, peer func()) {
	r := newRig(b)
	on := deviceOf(r.context.Info())
	var contenders []*contender
	var sequences []kernel.Sequence
	for _, a := range algorithms {
		for _, params := range a.candidates(p, on) {
			made, err := a.sequence(p, params, on)
			if err != nil {
				b.Fatal(err)
			}
			contenders, sequences = append(contenders, &contender{choice: Choice{a.name, params}, sequence: made}), append(sequences, made)
		}
	}
	if len(contenders) == 0 {
		b.Skip("only for software drivers")
	}
	programs, err := r.programs(b, sequences...)
	if err != nil {
		b.Fatal(err)
	}
	peer()
	var peerTimes []time.Duration
	expected := peerResult(want, p.ReductionLen())
	err = r.onDevice(in, len(want), func(gl *glctx.GL, tensors *kernel.DeviceTensors) error {
		for b.Loop() {
			start := time.Now()
			peer()
			peerTimes = append(peerTimes, time.Since(start))
			for _, c := range contenders {
				if err := c.run(gl, tensors, expected, programs); err != nil {
					return fmt.Errorf("%v: %w", c.choice, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	best := contenders[0]
	for _, c := range contenders {
		b.Logf("%v: %.1f GFLOP/s", c.choice, gflops(p.FLOPs(), medianTime(c.times)))
		if medianTime(c.times) < medianTime(best.times) {
			best = c
		}
	}
	b.ReportMetric(gflops(p.FLOPs(), medianTime(best.times)), "GFLOP/s")
	b.ReportMetric(gflops(p.FLOPs(), medianTime(contenders[0].times)), "GFLOP/s-untuned")
	b.ReportMetric(gflops(p.FLOPs(), medianTime(peerTimes)), "GFLOP/s-gonum")
	b.ReportMetric(medianTime(peerTimes).Seconds()/medianTime(best.times).Seconds(), "ratio")
	b.ReportMetric(gflops(p.FLOPs(), slices.Min(best.times)), "GFLOP/s-fastest")
	b.ReportMetric(slices.Min(peerTimes).Seconds()/slices.Min(best.times).Seconds(), "ratio-fastest")
}

func gflops(flops int64, took time.Duration) float64 { return float64(flops) / took.Seconds() / 1e9 }

func medianTime(times []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(times))[len(times)/2]
}

// peerResult returns the result of a peer, for comparisons: inputs are from -1 to 1,
// and a wrong sum is off by far more than rounding.
func peerResult(values []float32, length int) Expected {
	e := newExpected(len(values))
	for i, v := range values {
		e.Values[i], e.Magnitudes[i] = float64(v), float64(length)
	}
	return e
}

// peerTolerance is for sums of both float32 and a peer's order.
const peerTolerance = 1e-5

// run compares a sequence's result, and times one run of its steps.
func (c *contender) run(gl *glctx.GL, tensors *kernel.DeviceTensors, want Expected, programs map[shader.Key]uint32) error {
	run, err := kernel.NewRun(gl, c.sequence, programs)
	if err != nil {
		return err
	}
	defer run.Free()
	got, err := run.Checked(tensors)
	if err == nil {
		err = Compare(got, want, peerTolerance).Err()
	}
	if err != nil {
		return err
	}
	start := time.Now()
	run.Repeat(tensors, 1)
	err = kernel.Wait(gl)
	c.times = append(c.times, time.Since(start))
	return err
}
