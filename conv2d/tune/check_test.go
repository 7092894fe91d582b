//go:build linux

package tune

import (
	"math"
	"slices"
	"testing"

	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// asFloats returns expected values as a GPU has them.
func asFloats(values []float64) []float32 {
	floats := make([]float32, len(values))
	for i, v := range values {
		floats[i] = float32(v)
	}
	return floats
}

// TestProjection checks that a right result passes exactly, and that one wrong element
// anywhere does not.
func TestProjection(t *testing.T) {
	seed := newSeed(t)
	for _, p := range []conv2d.GEMMProblem{
		{M: 13, N: 17, K: 19},
		{M: 9, N: 8, K: 7, TransA: true, TransB: true, LDC: 11, Factors: conv2d.AlphaBeta(-1.5, 0.5), Bias: conv2d.RowBias},
		{M: 5, N: 6, K: 8, Batch: 3, StrideA: 40, StrideB: 0, StrideC: 33, Bias: conv2d.ColumnBias},
		{M: 5, N: 6, K: 8, Factors: conv2d.AlphaBeta(0, 2), Bias: conv2d.ColumnBias},
	} {
		set, ok := newProjection(p, seed)
		if !ok {
			t.Errorf("%v has no projection", p)
			continue
		}
		e := conv2d.ReferenceGEMM(p, conv2d.GEMMTensors{A: set.Input, B: set.Weights, C: set.Output, Bias: set.Bias})
		got := asFloats(e.Values)
		if r := set.checker.check(got, 0); !r.OK() || r.Elements != p.CLen() {
			t.Errorf("%v: a right result: %v", p, r)
		}
		for i := range got {
			for _, wrong := range []float32{got[i] + 0.25, float32(math.NaN()), math.Float32frombits(conv2d.Poison)} {
				spoilt := slices.Clone(got)
				spoilt[i] = wrong
				gap := p.LDC > 0 && i%p.LDC >= p.N || p.Batch > 1 && i%p.StrideC >= p.M*p.N
				if r := set.checker.check(spoilt, 0); r.OK() && !gap {
					t.Errorf("%v: element %d of %v is not noticed", p, i, wrong)
				}
			}
		}
	}
	for _, p := range []conv2d.GEMMProblem{
		{M: 2, N: 2, K: 2, Activation: conv2d.ReLU},
		{M: 2, N: 2, K: 2, Factors: conv2d.AlphaBeta(0.3, 0)},
		{M: 2, N: 2, K: 1 << 24},
	} {
		if _, ok := newProjection(p, seed); ok {
			t.Errorf("%v has a projection", p)
		}
	}
}

// TestRowChecker compares its rows with the whole reference.
func TestRowChecker(t *testing.T) {
	seed := newSeed(t)
	info := glctx.Info{Limits: job.Limits{MaxGroups: [3]int32{65535, 65535, 65535}, MaxStorage: 1 << 30}, MaxInvocations: 1024}
	for _, s := range sampleShapes {
		space, err := conv2d.NewSearchSpace(s, info, conv2d.Restriction{})
		if err != nil {
			t.Fatal(err)
		}
		in := space.RandomTensors(seed)
		c := newRowChecker(space, in, seed)
		got := asFloats(space.Reference(in).Values)
		if r := c.check(got, 1e-6); !r.OK() || r.Elements == 0 || c.elements() != len(got) {
			t.Errorf("%v: %v", s, r)
		}
		last := c.parts[len(c.parts)-1]
		got[last.at]++
		if r := c.check(got, 1e-6); r.Wrong != 1 || r.Worst != last.at {
			t.Errorf("%v: element %d is wrong: %v", s, last.at, r)
		}
	}
}
