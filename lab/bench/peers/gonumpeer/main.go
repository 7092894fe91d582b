// Command gonumpeer measures what gonum's blas32 takes for shapes of shadercache,
// on all processors, and prints {SHAPE: {"peer": NAME, "ms": MILLISECONDS,
// "least_ms": ..., "most_ms": ...}}:
//
//	shadercache-lab bench gemm gemm:512x512x512 --peer-command "go run -C lab/bench/peers/gonumpeer -tags egl ."
//
// A convolution is im2col and one product for each image and group, as libraries
// without a convolution do it. A figure is the median of several runs.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/shadercache/shadercache/cmd/bench/stats"
	"github.com/shadercache/shadercache/conv2d"
)

// peerTime is what bench gemm reads of a shape, in milliseconds.
type peerTime struct {
	Peer   string  `json:"peer"`
	Millis float64 `json:"ms"`
	Least  float64 `json:"least_ms"`
	Most   float64 `json:"most_ms"`
}

func main() {
	times := map[string]peerTime{}
	for _, word := range os.Args[1:] {
		s, err := conv2d.ParseShape(word)
		if err != nil {
			fmt.Fprintln(os.Stderr, "gonumpeer:", err)
			os.Exit(1)
		}
		name := "gonum"
		var work func()
		if s.GEMM != nil {
			work = newProduct(*s.GEMM).run
		} else {
			name, work = "im2col+gonum", newConvolution(*s.Conv2D).run
		}
		took := stats.NewSpread(measure(work))
		times[word] = peerTime{name, took.Median, took.Least, took.Most}
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	if err := out.Encode(times); err != nil {
		fmt.Fprintln(os.Stderr, "gonumpeer:", err)
		os.Exit(1)
	}
}

const (
	leastRuns  = 3
	mostRuns   = 200
	longEnough = 500 * time.Millisecond // for all runs of a shape
)

// measure returns the milliseconds of several runs, after one that does not count.
func measure(work func()) []float64 {
	work()
	var took []float64
	for start := time.Now(); len(took) < leastRuns || len(took) < mostRuns && time.Since(start) < longEnough; {
		begin := time.Now()
		work()
		took = append(took, time.Since(begin).Seconds()*1e3)
	}
	return took
}

// product is a matrix product by blas32.Gemm, followed by the bias and activation that
// it does not compute.
type product struct {
	conv2d.GEMMProblem
	a, b, c, bias []float32
}

func newProduct(p conv2d.GEMMProblem) *product {
	return &product{
		p, conv2d.RandomValues(p.ALen(), 1), conv2d.RandomValues(p.BLen(), 2), conv2d.RandomValues(p.CLen(), 3),
		conv2d.RandomValues(p.BiasLen(), 4),
	}
}

func (p *product) run() {
	for i := range p.Batch {
		a := general(p.a[i*p.StrideA:], p.M, p.K, p.LDA, p.TransA)
		b := general(p.b[i*p.StrideB:], p.K, p.N, p.LDB, p.TransB)
		c := general(p.c[i*p.StrideC:], p.M, p.N, p.LDC, false)
		blas32.Gemm(transposed(p.TransA), transposed(p.TransB), p.Factors.Alpha(), a, b, p.Factors.Beta(), c)
		if p.Bias == conv2d.NoBias && p.Activation == conv2d.None {
			continue
		}
		for row := range p.M {
			line := c.Data[row*c.Stride:][:p.N]
			for column := range line {
				v := line[column]
				switch p.Bias {
				case conv2d.RowBias:
					v += p.bias[row]
				case conv2d.ColumnBias:
					v += p.bias[column]
				}
				line[column] = activate(p.Activation, v)
			}
		}
	}
}

// activate computes the simple activations without converting to float64.
func activate(a conv2d.Activation, v float32) float32 {
	switch a {
	case conv2d.None:
		return v
	case conv2d.ReLU:
		return max(v, 0)
	}
	return float32(a.Apply(float64(v)))
}

func transposed(trans bool) blas.Transpose {
	if trans {
		return blas.Trans
	}
	return blas.NoTrans
}

// general returns a matrix as it is stored; rows and columns are those of op.
func general(data []float32, rows, columns, ld int, trans bool) blas32.General {
	if trans {
		rows, columns = columns, rows
	}
	if ld == 0 {
		ld = columns
	}
	return blas32.General{Rows: rows, Cols: columns, Stride: ld, Data: data}
}

// convolution is im2col and blas32.Gemm.
type convolution struct {
	conv2d.Problem
	input, weights, bias, columns, output []float32
}

func newConvolution(p conv2d.Problem) *convolution {
	c := &convolution{
		Problem: p, input: conv2d.RandomValues(p.InputLen(), 1), weights: conv2d.RandomValues(p.WeightsLen(), 2),
		columns: make([]float32, p.ReductionLen()*p.P()*p.Q()), output: make([]float32, p.OutputLen()),
	}
	if p.Bias {
		c.bias = conv2d.RandomValues(p.BiasLen(), 3)
	}
	return c
}

func (c *convolution) run() {
	pixels, k, sum := c.P()*c.Q(), c.K/c.Groups, c.ReductionLen()
	for n := range c.N {
		for g := range c.Groups {
			first := (n*c.C + g*(c.C/c.Groups)) * c.H * c.W
			columns := c.columns
			if c.R == 1 && c.S == 1 && c.StrideH == 1 && c.StrideW == 1 && c.PadH == 0 && c.PadW == 0 {
				columns = c.input[first:] // as it is stored
			} else {
				c.im2col(c.input[first:])
			}
			output := c.output[(n*c.K+g*k)*pixels:][:k*pixels]
			blas32.Gemm(blas.NoTrans, blas.NoTrans, 1,
				general(c.weights[g*k*sum:], k, sum, 0, false), general(columns, sum, pixels, 0, false),
				0, general(output, k, pixels, 0, false))
			for i := range output {
				v := output[i]
				if c.bias != nil {
					v += c.bias[g*k+i/pixels]
				}
				if c.bias != nil || c.Activation != conv2d.None {
					output[i] = activate(c.Activation, v)
				}
			}
		}
	}
}

// im2col writes a row for each channel and tap, with its input for each output.
func (c *convolution) im2col(input []float32) {
	width := c.Q()
	row := c.columns
	for channel := range c.C / c.Groups {
		plane := input[channel*c.H*c.W:][:c.H*c.W]
		for r := range c.R {
			for s := range c.S {
				for p := range c.P() {
					line := row[:width]
					row = row[width:]
					y := p*c.StrideH - c.PadH + r*c.DilationH
					if y < 0 || y >= c.H {
						clear(line)
						continue
					}
					c.line(line, plane[y*c.W:][:c.W], s*c.DilationW-c.PadW)
				}
			}
		}
	}
}

// line writes the inputs of one tap for one row of outputs.
func (c *convolution) line(to, from []float32, left int) {
	if c.StrideW == 1 {
		low, high := max(0, -left), min(len(to), len(from)-left)
		if high <= low {
			clear(to)
			return
		}
		clear(to[:low])
		copy(to[low:high], from[left+low:left+high])
		clear(to[high:])
		return
	}
	for q := range to {
		to[q] = 0
		if x := q*c.StrideW + left; x >= 0 && x < len(from) {
			to[q] = from[x]
		}
	}
}
