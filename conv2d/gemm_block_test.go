//go:build linux

package conv2d

import (
	"math"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
)

func TestGEMMBlock(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	likeliest := firstOf(gemmBlockAlgorithm, 1)
	small := gemmBlockAlgorithm // the same code, and soon compiled
	small.candidates = func(GEMMProblem, device) []Params { return []Params{block(16, 16, 4, 4, 4, 2, 1)} }
	problems := []GEMMProblem{
		plain(1, 1, 1), plain(17, 17, 17), plain(64, 64, 64), plain(129, 68, 33), plain(16, 90, 27), plain(1, 300, 70),
		{M: 40, N: 70, K: 36, TransA: true, Bias: RowBias, Activation: ReLU},
		{M: 37, N: 41, K: 29, TransB: true, Factors: AlphaBeta(-0.5, 0), Bias: ColumnBias, Activation: Tanh},
		{M: 36, N: 44, K: 28, TransA: true, TransB: true, Factors: AlphaBeta(1, 2), Activation: SiLU},
		{M: 33, N: 34, K: 35, LDA: 37, LDB: 40, LDC: 39, Activation: Sigmoid},
		{M: 12, N: 20, K: 64, Batch: 3, StrideA: 12 * 64, StrideB: 0, StrideC: 12*20 + 5, Factors: AlphaBeta(1, -1), Bias: ColumnBias},
		{M: 12, N: 32, K: 64, Batch: 2, StrideA: 0, StrideB: 64 * 32, StrideC: 12 * 32},
	}
	for i, p := range problems {
		if i%6 == 0 { // its programs take longer to compile
			checkGEMM(t, r, likeliest, p)
		} else {
			checkGEMM(t, r, small, p)
		}
	}
}

// Packing and splitting are candidates for large problems only; here they are
// forced. Parts are added by a second dispatch and by the last group: by one, some and
// all at a time.
func TestGEMMBlockPackedAndSplit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	base := block(16, 16, 4, 4, 4, 2, 1)
	forms := []Params{
		with(base, "pack_a", 1), with(base, "pack_b", 1), with(base, "pack_a", 1, "pack_b", 1, "split", 3),
		with(base, "split", 2), with(base, "split", 16), with(base, "stages", 1, "split", 2),
		with(base, "split", 2, "fused", 4), with(base, "split", 5, "fused", 2),
		with(base, "pack_a", 1, "pack_b", 1, "split", 3, "fused", 1),
		with(block(16, 16, 8, 8, 8, 1, 4), "split", 16, "fused", 3),
	}
	problems := []GEMMProblem{
		plain(33, 45, 51),
		{M: 40, N: 36, K: 52, TransA: true, TransB: true, Factors: AlphaBeta(1, 0.5), Bias: RowBias, Activation: ReLU},
		{M: 35, N: 36, K: 24, Batch: 2, StrideA: 900, StrideB: 0, StrideC: 35 * 36, Bias: ColumnBias, Activation: Tanh},
		{M: 32, N: 48, K: 20, TransB: true, LDC: 51, Factors: AlphaBeta(-2, 0), Activation: Sigmoid},
	}
	for i, p := range problems {
		some := gemmBlockAlgorithm
		some.candidates = func(GEMMProblem, device) []Params { return inTurn(forms, i, len(problems)) }
		checkGEMM(t, r, some, p)
	}
}

// TestGEMMBlockInSlices has invocations share the elements of one (slice-K): whole
// products, parts that a second dispatch adds, and parts that the last group adds.
func TestGEMMBlockInSlices(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	forms := []Params{
		block(16, 16, 8, 4, 4, 2, 2), block(16, 16, 8, 8, 8, 1, 4),
		with(block(16, 16, 16, 4, 4, 1, 4), "split", 2), with(block(16, 16, 16, 4, 4, 1, 4), "split", 3, "fused", 2),
		with(block(16, 16, 4, 4, 8, 1, 2), "split", 4, "fused", 4), block(16, 16, 8, 8, 4, 2, 8),
		block(16, 16, 8, 16, 8, 2, 4), with(block(32, 32, 32, 8, 8, 1, 8), "split", 3, "fused", 2), block(64, 32, 64, 16, 4, 1, 4),
	}
	problems := []GEMMProblem{
		plain(33, 45, 51),
		{M: 32, N: 48, K: 40, TransB: true, LDC: 51, Factors: AlphaBeta(-2, 0.5), Bias: ColumnBias, Activation: Sigmoid},
		{M: 21, N: 36, K: 24, TransA: true, Batch: 2, StrideA: 600, StrideB: 0, StrideC: 35 * 36, Bias: RowBias},
	}
	for i, p := range problems {
		small := gemmBlockAlgorithm
		small.candidates = func(GEMMProblem, device) []Params { return inTurn(forms, i, len(problems)) }
		checkGEMM(t, r, small, p)
	}
	for _, s := range blockForms {
		if s.Slices > 1 && s.fits(deviceOf(r.context.Info())) {
			one := gemmBlockAlgorithm
			one.candidates = func(GEMMProblem, device) []Params { return []Params{s} }
			checkGEMM(t, r, one, plain(70, 68, 65))
		}
	}
}

func TestGEMMBlockPassesSpecialsOn(t *testing.T) {
	r := newRig(t)
	p := GEMMProblem{M: 33, N: 8, K: 4, Activation: ReLU}
	in := GEMMTensors{A: withSpecials(RandomValues(p.ALen(), 1)), B: RandomValues(p.BLen(), 2)}
	checkAlgorithm(t, r, gemmBlockAlgorithm, p, kernel.Tensors{Input: in.A, Weights: in.B}, ReferenceGEMM(p, in))
}

func TestGEMMBlockRefusesParameters(t *testing.T) {
	on := device{maxInvocations: 1024, sharedBytes: 32 << 10, maxGroups: [3]int32{math.MaxInt32, 65535, 65535}}
	good := block(64, 64, 8, 8, 4, 1, 1)
	tests := []struct {
		params Params
		want   string
	}{
		{BlockParams{}, "there is no block"},
		{with(good, "tm", 6), "there is no block"},
		{with(good, "split", 0), "split is 0"},
		{with(good, "bk", 512), "bytes of shared memory"},
		{with(good, "stages", 3), "there is no block"},
		{with(good, "slices", 3), "there is no block"},
		{with(good, "bm", 128, "bn", 128, "tm", 64, "tn", 32), "there is no block"},
		{with(block(16, 16, 8, 4, 4, 1, 8), "split", 1), "there is no block"},
		{with(good, "fused", maxFused+1), "fused is 9, must be from 0 to 8"},
		{with(good, "fused", -1), "parameter fused is -1"},
		{with(block(64, 64, 64, 8, 4, 1, 1), "split", 2, "fused", 2), "no shared memory to add up its parts"},
	}
	for _, test := range tests {
		_, err := gemmBlockAlgorithm.sequence(plain(64, 64, 64), test.params, on)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: error %v does not say %q", test.params, err, test.want)
		}
	}
	if _, err := gemmBlockAlgorithm.sequence(plain(64*70_000, 4, 4), good, on); err == nil {
		t.Error("no error for a grid beyond the device's")
	}
}

// TestGEMMBlockKeepsOldChoices builds parameters that were kept before there were
// slices and fused.
func TestGEMMBlockKeepsOldChoices(t *testing.T) {
	on := device{maxInvocations: 1024, sharedBytes: 48 << 10, maxGroups: guaranteed.maxGroups}
	now := with(block(64, 64, 16, 8, 4, 1, 1), "split", 8)
	data := []byte(`{"bk":16,"bm":64,"bn":64,"pack_a":0,"pack_b":0,"split":8,"stages":1,"tm":8,"tn":4}`)
	old, err := paramDecoders["gemm_block"](data)
	if err != nil {
		t.Fatal(err)
	}
	for _, params := range []BlockParams{now, old.(BlockParams)} {
		r, err := gemmBlockSequence(plain(512, 512, 512), params, on)
		if err != nil || len(r.Steps) != 2 || r.Steps[0].Source.Name() != "gemm_block_64x64x16_split8" || r.SemaphoreCount != 0 {
			t.Errorf("%v: %+v, %v", params, r, err)
		}
	}
}

func TestGEMMBlockRanksLargeBlocksFirstForLargeProblems(t *testing.T) {
	on := device{maxInvocations: 1024, sharedBytes: 48 << 10}
	large := gemmBlockCandidates(plain(4096, 4096, 4096), on)[0]
	if large.BM != 128 || large.Split != 1 || large.PackA != 1 {
		t.Errorf("4096: %v", large)
	}
	row := gemmBlockCandidates(plain(1, 4096, 4096), on)[0]
	if row.BM != 4 || row.Split == 1 {
		t.Errorf("a row: %v", row)
	}
	if deep := gemmBlockCandidates(plain(64, 64, 8192), on)[0]; deep.Split < 4 {
		t.Errorf("few blocks: %v", deep)
	}
	if list := gemmBlockCandidates(plain(8, 8, softwareMaxK+1), device{software: true, maxInvocations: 1024, sharedBytes: 32 << 10}); list != nil {
		t.Errorf("a long sum on a software driver: %v", list)
	}
}
