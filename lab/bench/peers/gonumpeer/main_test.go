package main

import (
	"testing"

	"github.com/shadercache/shadercache/conv2d"
)

// The times of a peer that computes something else mean nothing.
func TestThePeerIsRight(t *testing.T) {
	for _, word := range []string{
		"gemm:17x33x9",
		"gemm:16x20x24,ta,tb,alpha0.5,column-bias,silu",
		"gemm:8x7x6,ldc9,batch2:48:0:80,beta2,row-bias,relu",
	} {
		s, err := conv2d.ParseShape(word)
		if err != nil {
			t.Fatal(err)
		}
		p := newProduct(*s.GEMM)
		want := conv2d.ReferenceGEMM(*s.GEMM, conv2d.GEMMTensors{A: p.a, B: p.b, C: p.c, Bias: p.bias})
		p.run()
		if r := conv2d.Compare(p.c, want, conv2d.Tolerance(s.GEMM.K)); !r.OK() {
			t.Errorf("%s: %v", word, r)
		}
	}
	for _, word := range []string{
		"conv2d:2x3x12x14-5,3x3,p1,bias,relu",
		"conv2d:1x4x11x9-8,2x3,s2x1,g2",
		"conv2d:1x3x17x19-4,5x4,s3x2,p7x6,d1x2",
		"conv2d:2x8x7x7-6,1x1",
		"conv2d:1x2x3x3-2,3x3,p9x9",
	} {
		s, err := conv2d.ParseShape(word)
		if err != nil {
			t.Fatal(err)
		}
		c := newConvolution(*s.Conv2D)
		c.run()
		if r := conv2d.Compare(c.output, conv2d.ReferenceConv2D(*s.Conv2D, c.input, c.weights, c.bias), conv2d.Tolerance(s.Conv2D.ReductionLen())); !r.OK() {
			t.Errorf("%s: %v", word, r)
		}
	}
}
