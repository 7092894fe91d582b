//go:build linux

package conv2d

import "testing"

func TestFusedWinograd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, p := range winogradProblems {
		f2 := FusedParams{BK: 4, BM: 16, BN: 8, TM: 8, TN: 4, Buffers: 1 + i%2, Scalar: i / 2 % 2, Split: 1}
		checkConv(t, r, withParams(fused2Algorithm, f2), p)
		f2.TM = 4
		checkConv(t, r, withParams(fused4Algorithm, f2), p)
	}
	split := Problem{N: 1, C: 80, H: 8, W: 8, K: 32, R: 3, S: 3, PadH: 1, PadW: 1, Bias: true, Activation: ReLU}
	checkConv(t, r, withParams(fused2Algorithm, FusedParams{BK: 8, BM: 32, BN: 16, TM: 8, TN: 4, Buffers: 1, Scalar: 0, Split: 4}), split)
	checkConv(t, r, withParams(fused4Algorithm, FusedParams{BK: 4, BM: 32, BN: 16, TM: 8, TN: 4, Buffers: 1, Scalar: 0, Split: 3}), split)
}
