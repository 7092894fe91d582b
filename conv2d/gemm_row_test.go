//go:build linux

package conv2d

import (
	"strings"
	"testing"
)

func TestGEMMRow(t *testing.T) {
	r := newRig(t)
	likeliest := firstOf(gemmRowAlgorithm, 1)
	small := gemmRowAlgorithm // all forms, and soon compiled
	small.candidates = func(GEMMProblem, device) []Params {
		base := Params{"lanes": 8, "slices": 4, "split": 1}
		return []Params{
			base, base.with("split", 3), base.with("fused", 1), base.with("split", 2).with("fused", 8),
			base.with("split", 5).with("ahead", 3).with("fused", 2), base.with("split", 16).with("ahead", 1).with("fused", 4),
		}
	}
	problems := []GEMMProblem{
		plain(1, 4, 1), plain(1, 300, 700), plain(4, 132, 77),
		{M: 3, N: 40, K: 129, TransA: true, LDB: 48, LDC: 43, Beta: 2, Bias: ColumnBias, Activation: ReLU},
		{M: 1, N: 36, K: 50, Batch: 3, StrideA: 51, StrideB: 36 * 50, StrideC: 40, Alpha: -1, Bias: RowBias, Activation: Tanh},
	}
	for i, p := range problems {
		checkGEMM(t, r, small, p)
		if i == 1 {
			checkGEMM(t, r, likeliest, p)
		}
	}
}

func TestGEMMRowRefusesOtherProblems(t *testing.T) {
	on := device{maxInvocations: 1024, sharedBytes: 48 << 10}
	good := Params{"lanes": 32, "slices": 8, "split": 2}
	for _, p := range []GEMMProblem{plain(5, 4, 4), plain(1, 5, 4), {M: 1, N: 4, K: 4, TransB: true}} {
		if list := gemmRowCandidates(p, on); list != nil {
			t.Errorf("%v: candidates %v", p, list)
		}
		if _, err := gemmRowRecipe(p, good, on); err == nil || !strings.Contains(err.Error(), "does not compute") {
			t.Errorf("%v: error is %v", p, err)
		}
	}
	for _, params := range []Params{good.with("lanes", 2048), good.with("split", 0), good.with("slices", 1024), good.with("ahead", 33), good.with("fused", maxFused+1)} {
		if _, err := gemmRowRecipe(plain(1, 4, 4), params, on); err == nil || !strings.Contains(err.Error(), "no group") {
			t.Errorf("%v: error is %v", params, err)
		}
	}
	if _, err := gemmRowRecipe(plain(1, 4, 4), Params{}, on); err == nil || !strings.Contains(err.Error(), "lanes is missing") {
		t.Errorf("no parameters: error is %v", err)
	}
}
