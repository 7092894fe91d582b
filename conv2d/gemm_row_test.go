//go:build linux

package conv2d

import (
	"slices"
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

// TestGEMMRowOfManyRows: groups that have some of the rows, of small products and of
// others.
func TestGEMMRowOfManyRows(t *testing.T) {
	r := newRig(t)
	likeliest := firstOf(gemmRowAlgorithm, 2)
	small := gemmRowAlgorithm
	small.candidates = func(GEMMProblem, device) []Params {
		base := Params{"rows": 3, "lanes": 8, "slices": 2, "split": 1, "ahead": 4, "fused": 1}
		return []Params{base, base.with("split", 3), base.with("split", 3).with("fused", 0), base.with("rows", 1).with("slices", 1).with("split", 2)}
	}
	checkGEMM(t, r, likeliest, plain(16, 900, 27))
	for _, p := range []GEMMProblem{
		plain(7, 36, 29), plain(6, 4, 3),
		{M: 5, N: 40, K: 33, TransA: true, LDC: 43, Batch: 2, StrideA: 5 * 33, StrideC: 300, Beta: 2, Bias: RowBias, Activation: ReLU},
	} {
		checkGEMM(t, r, small, p)
	}
}

func TestGEMMRowCandidates(t *testing.T) {
	on := device{nvidia: true, maxInvocations: 1024, sharedBytes: 48 << 10}
	long := gemmRowCandidates(plain(1, 4096, 4096), on)
	if first := long[0]; first["fused"] == 0 || first["split"] != 8 || 4096%(first["split"]*first["slices"]*first["ahead"]) != 0 {
		t.Errorf("a row: %v", first)
	}
	if !slices.ContainsFunc(long, func(p Params) bool { return p["fused"] == 0 }) {
		t.Errorf("a row, and no second dispatch: %v", long)
	}
	if first := gemmRowCandidates(plain(16, 900, 27), on)[0]; first["rows"] != 1 || first["split"] != 1 || first["slices"]*first["ahead"] < 27 {
		t.Errorf("a small product: %v", first)
	}
	for _, p := range []GEMMProblem{plain(5, 1<<14, 32), plain(5, 4, shortK+1)} {
		if list := gemmRowCandidates(p, on); list != nil {
			t.Errorf("%v: candidates %v", p, list)
		}
	}
}

// What was kept before there were rows, ahead and fused means what it did.
func TestGEMMRowKeepsOldChoices(t *testing.T) {
	on := device{maxInvocations: 1024, sharedBytes: 48 << 10, maxGroups: guaranteed.maxGroups}
	old := Params{"lanes": 16, "slices": 16, "split": 9}
	for _, params := range []Params{old, old.with("rows", 3).with("ahead", 8).with("fused", 0)} {
		r, err := gemmRowSequence(plain(3, 4096, 4096), params, on)
		if err != nil || len(r.Steps) != 2 || r.Steps[0].Source.Name() != "gemm_row_split9" || r.Steps[0].Groups != [3]int{64, 1, 9} {
			t.Errorf("%v: %+v, %v", params, r, err)
		}
	}
}

func TestGEMMRowRefusesOtherProblems(t *testing.T) {
	on := device{maxInvocations: 1024, sharedBytes: 48 << 10}
	good := Params{"lanes": 32, "slices": 8, "split": 2}
	for _, p := range []GEMMProblem{plain(1, 5, 4), {M: 1, N: 4, K: 4, TransB: true}} {
		if list := gemmRowCandidates(p, on); list != nil {
			t.Errorf("%v: candidates %v", p, list)
		}
		if _, err := gemmRowSequence(p, good, on); err == nil || !strings.Contains(err.Error(), "does not compute") {
			t.Errorf("%v: error is %v", p, err)
		}
	}
	for _, params := range []Params{good.with("lanes", 2048), good.with("split", 0), good.with("slices", 1024), good.with("ahead", 33), good.with("fused", maxFused+1), good.with("rows", 5), good.with("rows", 0)} {
		if _, err := gemmRowSequence(plain(1, 4, 4), params, on); err == nil || !strings.Contains(err.Error(), "no group") {
			t.Errorf("%v: error is %v", params, err)
		}
	}
	if _, err := gemmRowSequence(plain(5, 4, 4), good, on); err == nil || !strings.Contains(err.Error(), "no group") {
		t.Errorf("5 rows in a group: error is %v", err)
	}
	if _, err := gemmRowSequence(plain(1, 4, 4), Params{}, on); err == nil || !strings.Contains(err.Error(), "lanes is missing") {
		t.Errorf("no parameters: error is %v", err)
	}
}
