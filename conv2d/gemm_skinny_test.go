//go:build linux

package conv2d

import (
	"slices"
	"strings"
	"testing"
)

func TestGEMMSkinny(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	likeliest := firstOf(gemmSkinnyAlgorithm, 1)
	base := SkinnyParams{Lanes: 8, Slices: 4, Split: 1}
	forms := []Params{ // soon compiled
		base, with(base, "split", 3), with(base, "fused", 1), with(base, "split", 2, "fused", 8),
		with(base, "split", 5, "ahead", 3, "fused", 2), with(base, "split", 16, "ahead", 1, "fused", 4),
	}
	problems := []GEMMProblem{
		plain(1, 4, 1), plain(1, 300, 700), plain(4, 132, 77),
		{M: 3, N: 40, K: 129, TransA: true, LDB: 48, LDC: 43, Factors: AlphaBeta(1, 2), Bias: ColumnBias, Activation: ReLU},
		{M: 1, N: 36, K: 50, Batch: 3, StrideA: 51, StrideB: 36 * 50, StrideC: 40, Factors: AlphaBeta(-1, 0), Bias: RowBias, Activation: Tanh},
	}
	for i, p := range problems {
		small := gemmSkinnyAlgorithm
		small.candidates = func(GEMMProblem, device) []Params { return inTurn(forms, i, 2) }
		checkGEMM(t, r, small, p)
		if i == 1 {
			checkGEMM(t, r, likeliest, p)
		}
	}
}

// TestGEMMSkinnyOfManyRows has groups that compute some of the rows, of small
// products and of others.
func TestGEMMSkinnyOfManyRows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	likeliest := firstOf(gemmSkinnyAlgorithm, 2)
	small := gemmSkinnyAlgorithm
	small.candidates = func(GEMMProblem, device) []Params {
		base := SkinnyParams{Rows: 3, Lanes: 8, Slices: 2, Split: 1, Ahead: 4, Fused: 1}
		return []Params{base, with(base, "split", 3), with(base, "split", 3, "fused", 0), with(base, "rows", 1, "slices", 1, "split", 2)}
	}
	checkGEMM(t, r, likeliest, plain(16, 900, 27))
	for _, p := range []GEMMProblem{
		plain(7, 36, 29), plain(6, 4, 3),
		{M: 5, N: 40, K: 33, TransA: true, LDC: 43, Batch: 2, StrideA: 5 * 33, StrideC: 300, Factors: AlphaBeta(1, 2), Bias: RowBias, Activation: ReLU},
	} {
		checkGEMM(t, r, small, p)
	}
}

func TestGEMMSkinnyCandidates(t *testing.T) {
	on := device{maxInvocations: 1024, sharedBytes: 48 << 10}
	long := gemmSkinnyCandidates(plain(1, 4096, 4096), on)
	if first := long[0]; first.Fused == 0 || first.Split != 8 || 4096%(first.Split*first.Slices*first.Ahead) != 0 {
		t.Errorf("a row: %v", first)
	}
	if !slices.ContainsFunc(long, func(p SkinnyParams) bool { return p.Fused == 0 }) {
		t.Errorf("a row, and no second dispatch: %v", long)
	}
	if first := gemmSkinnyCandidates(plain(16, 900, 27), on)[0]; first.Rows != 2 || first.Split != 1 || first.Slices*first.Ahead < 27 {
		t.Errorf("a small product: %v", first)
	}
	for _, p := range []GEMMProblem{plain(5, 1<<14, 32), plain(5, 4, shortK+1)} {
		if list := gemmSkinnyCandidates(p, on); list != nil {
			t.Errorf("%v: candidates %v", p, list)
		}
	}
}

// TestGEMMSkinnyKeepsOldChoices builds parameters that were kept before there were
// rows, ahead and fused.
func TestGEMMSkinnyKeepsOldChoices(t *testing.T) {
	on := device{maxInvocations: 1024, sharedBytes: 48 << 10, maxGroups: guaranteed.maxGroups}
	old := SkinnyParams{Lanes: 16, Slices: 16, Split: 9}
	for _, params := range []SkinnyParams{old, with(old, "rows", 3, "ahead", 8, "fused", 0)} {
		r, err := gemmSkinnySequence(plain(3, 4096, 4096), params, on)
		if err != nil || len(r.Steps) != 2 || r.Steps[0].Source.Name() != "gemm_row_split9" || r.Steps[0].Groups != [3]int{64, 1, 9} {
			t.Errorf("%v: %+v, %v", params, r, err)
		}
	}
}

func TestGEMMSkinnyRefusesOtherProblems(t *testing.T) {
	on := device{maxInvocations: 1024, sharedBytes: 48 << 10}
	good := SkinnyParams{Lanes: 32, Slices: 8, Split: 2}
	for _, p := range []GEMMProblem{plain(1, 5, 4), {M: 1, N: 4, K: 4, TransB: true}} {
		if list := gemmSkinnyCandidates(p, on); list != nil {
			t.Errorf("%v: candidates %v", p, list)
		}
		if _, err := gemmSkinnySequence(p, good, on); err == nil || !strings.Contains(err.Error(), "does not compute") {
			t.Errorf("%v: error is %v", p, err)
		}
	}
	for _, params := range []SkinnyParams{with(good, "lanes", 2048), with(good, "split", 0), with(good, "slices", 1024), with(good, "ahead", 33), with(good, "fused", maxFused+1), with(good, "rows", 5)} {
		if _, err := gemmSkinnySequence(plain(1, 4, 4), params, on); err == nil || !strings.Contains(err.Error(), "no group") {
			t.Errorf("%v: error is %v", params, err)
		}
	}
	if _, err := gemmSkinnySequence(plain(5, 4, 4), good, on); err == nil || !strings.Contains(err.Error(), "no group") {
		t.Errorf("5 rows in a group: error is %v", err)
	}
	if _, err := gemmSkinnySequence(plain(1, 4, 4), SkinnyParams{}, on); err == nil || !strings.Contains(err.Error(), "no group") {
		t.Errorf("no parameters: error is %v", err)
	}
}
