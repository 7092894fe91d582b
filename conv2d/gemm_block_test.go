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
	small.candidates = func(GEMMProblem, device) []Params { return []Params{blockShape{16, 16, 4, 4, 4, 2, 1}.params(1)} }
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
	base := blockShape{16, 16, 4, 4, 4, 2, 1}.params(1)
	forms := []Params{
		with(base, "pack_a", 1), with(base, "pack_b", 1), with(base, "pack_a", 1, "pack_b", 1, "split", 3),
		with(base, "split", 2), with(base, "split", 16), with(base, "stages", 1, "split", 2),
		with(base, "split", 2, "fused", 4), with(base, "split", 5, "fused", 2),
		with(base, "pack_a", 1, "pack_b", 1, "split", 3, "fused", 1),
		with(blockShape{16, 16, 8, 8, 8, 1, 4}.params(16), "fused", 3),
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
		blockShape{16, 16, 8, 4, 4, 2, 2}.params(1), blockShape{16, 16, 8, 8, 8, 1, 4}.params(1),
		blockShape{16, 16, 16, 4, 4, 1, 4}.params(2), with(blockShape{16, 16, 16, 4, 4, 1, 4}.params(3), "fused", 2),
		with(blockShape{16, 16, 4, 4, 8, 1, 2}.params(4), "fused", 4),
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
	for _, s := range blockShapes {
		if s.slices > 1 && s.fits(deviceOf(r.context.Info())) {
			one := gemmBlockAlgorithm
			one.candidates = func(GEMMProblem, device) []Params { return []Params{s.params(1)} }
			checkGEMM(t, r, one, plain(70, 68, 65))
		}
	}
}

// TestGEMMBlockInPanels has groups take the blocks in panels of every width: of more rows
// than there are, with a last panel that is lower, and with a single one; in batches, in
// parts, and from matrices that were packed block by block.
func TestGEMMBlockInPanels(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	base := blockShape{16, 16, 4, 4, 4, 1, 1}.params(1)
	forms := []Params{
		with(base, "panel", 4, "pack_a", 7), with(base, "pack_a", 8), with(base, "pack_a", 9), with(base, "panel", 8, "pack_a", 2), with(base, "panel", 16, "pack_a", 1),
		with(base, "panel", 2, "pack_a", 2, "pack_b", 2, "split", 3, "fused", 2), with(base, "panel", 3, "pack_b", 2, "split", 2),
	}
	problems := []GEMMProblem{
		plain(16*11-3, 45, 9), plain(16*16, 16*5, 12),
		{M: 16*9 + 1, N: 35, K: 10, Batch: 2, StrideA: (16*9 + 1) * 10, StrideB: 0, StrideC: (16*9 + 1) * 35, Bias: RowBias, Activation: ReLU},
		{M: 67, N: 130, K: 14, TransA: true, TransB: true, Batch: 2, StrideA: 67 * 14, StrideB: 130 * 14, StrideC: 67 * 130},
	}
	for i, p := range problems {
		some := gemmBlockAlgorithm
		some.candidates = func(GEMMProblem, device) []Params { return inTurn(forms, i, len(problems)) }
		checkGEMM(t, r, some, p)
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
	good := blockShape{64, 64, 8, 8, 4, 1, 1}.params(1)
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
		{with(good, "fused", maxFused+1), "fused is 9, must be from 0 to 8"},
		{with(good, "fused", -1), "parameter fused is -1"},
		{with(good, "panel", maxPanel+1), "panel 65: at most 9, 2 and 64"},
		{with(good, "pack_b", 3), "pack_b 3"},
		{with(blockShape{64, 64, 64, 8, 4, 1, 1}.params(2), "fused", 2), "no shared memory to add up its parts"},
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
	now := blockShape{64, 64, 16, 8, 4, 1, 1}.params(8)
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
	on := device{nvidia: true, maxInvocations: 1024, sharedBytes: 48 << 10}
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
