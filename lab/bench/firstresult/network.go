//go:build linux

package main

import (
	"context"
	"fmt"
	"math"

	"github.com/shadercache/shadercache/server/client"
)

// layer is a convolution with a stride of 2 where kernel is not 0, else a matrix product.
// Each has a bias.
type layer struct {
	spec          string
	in, out       int // channels, or elements
	side, outSide int // of a picture
	kernel, pad   int
	relu          bool
}

// network is LeNet-5 with strides in place of its subsampling.
var network = []layer{
	{"conv2d:1x1x28x28-6,5x5,s2,p2,bias,relu", 1, 6, 28, 14, 5, 2, true},
	{"conv2d:1x6x14x14-16,5x5,s2,bias,relu", 6, 16, 14, 5, 5, 0, true},
	{"gemm:1x120x400,column-bias,relu", 400, 120, 1, 1, 0, 0, true},
	{"gemm:1x84x120,column-bias,relu", 120, 84, 1, 1, 0, 0, true},
	{"gemm:1x10x84,column-bias", 84, 10, 1, 1, 0, 0, false},
}

const (
	planName       = "firstresult-lenet"
	weightsVersion = 1
	tolerance      = 1e-4 // of an output, beside values of about 1
)

// runNetwork runs the network, whose weights the first client uploads, and compares its
// output with one that it computes itself.
func runNetwork(ctx context.Context, path string) error {
	c, err := client.Dial(ctx, client.Options{Path: path})
	if err != nil {
		return err
	}
	specs := make([]string, len(network))
	for i := range network {
		specs[i] = network[i].spec
	}
	p, err := c.OpenPlan(ctx, planName, false, specs...)
	if err != nil {
		return err
	}
	random := generator(1)
	weights, bias := random.values(p.Info().Weights, 0.2), random.values(p.Info().Bias, 0.2)
	uploaded := false
	if p.Info().Version != weightsVersion {
		if uploaded, err = p.SetWeights(ctx, weightsVersion, weights, bias); err != nil {
			return err
		}
	}
	input := random.values(p.Info().Input, 1)
	got := make([]float32, p.Info().Output)
	if err := p.Run(ctx, input, got); err != nil {
		return err
	}
	wrong := 0
	for i, want := range reference(input, weights, bias) {
		if !(math.Abs(float64(got[i]-want)) <= tolerance*(1+math.Abs(float64(want)))) {
			wrong++
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d outputs are wrong", wrong, len(got))
	}
	fmt.Printf("network, plan made: %v, weights uploaded: %v: 0 of %d wrong\n", p.(*client.Plan).Created(), uploaded, len(got))
	return nil
}

// generator makes the same values in every process.
type generator uint32

func (g *generator) values(n int, scale float32) []float32 {
	values := make([]float32, n)
	for i := range values {
		*g = *g*1664525 + 1013904223
		values[i] = (float32(*g>>8)/(1<<23) - 1) * scale
	}
	return values
}

// reference computes the network on the CPU.
func reference(values, weights, bias []float32) []float32 {
	for _, l := range network {
		if l.kernel > 0 {
			values = l.convolve(values, weights, bias)
			weights = weights[l.in*l.out*l.kernel*l.kernel:]
		} else {
			values = l.multiply(values, weights, bias)
			weights = weights[l.in*l.out:]
		}
		bias = bias[l.out:]
		for i, v := range values {
			if l.relu && v < 0 {
				values[i] = 0
			}
		}
	}
	return values
}

// convolve computes a convolution: weights are KCRS, values CHW.
func (l *layer) convolve(values, weights, bias []float32) []float32 {
	out := make([]float32, 0, l.out*l.outSide*l.outSide)
	for k := range l.out {
		for y := range l.outSide {
			for x := range l.outSide {
				out = append(out, bias[k]+l.pixel(values, weights[k*l.in*l.kernel*l.kernel:], y, x))
			}
		}
	}
	return out
}

// pixel computes one output of a convolution without its bias.
func (l *layer) pixel(values, weights []float32, y, x int) (sum float32) {
	for c := range l.in {
		for r := range l.kernel {
			iy := 2*y + r - l.pad
			if iy < 0 || iy >= l.side {
				continue
			}
			row, tap := values[(c*l.side+iy)*l.side:][:l.side], weights[(c*l.kernel+r)*l.kernel:]
			for s := range l.kernel {
				if ix := 2*x + s - l.pad; ix >= 0 && ix < l.side {
					sum += row[ix] * tap[s]
				}
			}
		}
	}
	return sum
}

// multiply computes a product with weights of in rows and out columns.
func (l *layer) multiply(values, weights, bias []float32) []float32 {
	out := append([]float32(nil), bias[:l.out]...)
	for i, v := range values {
		row := weights[i*l.out:][:l.out]
		for j, w := range row {
			out[j] += v * w
		}
	}
	return out
}
