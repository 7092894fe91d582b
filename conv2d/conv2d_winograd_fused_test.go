//go:build linux

package conv2d

import (
	"strings"
	"testing"
)

// TestFusedWinograd has blocks that reach beyond filters, tiles and channels, groups, and
// parts of the channels that the last group of a block adds.
func TestFusedWinograd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	fused := []algorithm[Problem]{fused2Algorithm, fused4Algorithm}
	for i, p := range winogradProblems[2:6] {
		block := FusedParams{BK: 4, BM: 16, BN: 8, TM: 4, TN: 4, Buffers: 1 + i%2, Split: 1}
		for _, a := range inTurn(fused, i, 2) {
			checkConv(t, r, withParams(a, block), p)
		}
	}
	split := Problem{N: 1, C: 42, H: 8, W: 8, K: 32, R: 3, S: 3, PadH: 1, PadW: 1, Bias: true, Activation: ReLU}
	for i, block := range []FusedParams{
		{BK: 8, BM: 32, BN: 16, TM: 8, TN: 4, Buffers: 1, Split: 3},
		{BK: 4, BM: 16, BN: 8, TM: 8, TN: 4, Buffers: 2, Split: 4},
	} {
		checkConv(t, r, withParams(fused[i], block), split)
	}
}

func TestFusedWinogradRefuses(t *testing.T) {
	p := Problem{N: 1, C: 64, H: 56, W: 56, K: 64, R: 3, S: 3, PadH: 1, PadW: 1}
	good := FusedParams{BK: 8, BM: 32, BN: 16, TM: 8, TN: 4, Buffers: 1, Split: 1}
	if _, err := fused2Algorithm.sequence(p, good, hardware); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(p *Problem, b *FusedParams){
		"3x3 only":               func(p *Problem, _ *FusedParams) { p.R = 5 },
		"multiples of 4":         func(_ *Problem, b *FusedParams) { b.BK = 6 },
		"into parts of 8x3":      func(_ *Problem, b *FusedParams) { b.TN = 3 },
		"3 buffers":              func(_ *Problem, b *FusedParams) { b.Buffers = 3 },
		"split is 0":             func(_ *Problem, b *FusedParams) { b.Split = 0 },
		"2048 invocations":       func(_ *Problem, b *FusedParams) { b.BM, b.BN, b.TM = 64, 32, 4 },
		"of which each has one":  func(_ *Problem, b *FusedParams) { b.BN, b.TM, b.TN = 20, 32, 20 },
		"bytes of shared memory": func(_ *Problem, b *FusedParams) { b.BK = 32 },
		"into 16 parts":          func(_ *Problem, b *FusedParams) { b.Split = 16 },
		"work groups along y":    func(p *Problem, _ *FusedParams) { p.K, p.C, p.H, p.W = 1<<22, 4, 4, 4 },
		"too large":              func(p *Problem, _ *FusedParams) { p.N, p.H, p.W = 64, 1024, 1024 },
	} {
		q, block := p, good
		change(&q, &block)
		if _, err := fused2Algorithm.sequence(q, block, hardware); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	software := hardware
	software.software = true
	for _, a := range []algorithm[Problem]{fused2Algorithm, fused4Algorithm} {
		if n := len(a.candidates(p, software)); n > 0 {
			t.Errorf("%s on software: %d candidates", a.name, n)
		}
	}
}
