//go:build linux

package conv2d

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
)

// Choices come from files: whatever their parameters are, building them fails or
// gives a sequence, and neither panics nor takes long.
func TestChoicesFromFilesDoNotPanic(t *testing.T) {
	t.Parallel()
	extremes := []int{0, -1, 3, 4096, 1 << 20, 1 << 31, 1 << 32, 1 << 59, 1 << 60, 1 << 61, 1 << 62, math.MaxInt64, math.MinInt64}
	on := device{maxInvocations: 1024, sharedBytes: 48 << 10, maxGroups: [3]int32{65535, 65535, 65535}}
	conv := Problem{N: 1, C: 32, H: 16, W: 16, K: 32, R: 3, S: 3, PadH: 1, PadW: 1}
	depthwise := Problem{N: 1, C: 32, H: 16, W: 16, K: 32, R: 3, S: 3, Groups: 32}
	product := GEMMProblem{M: 64, N: 64, K: 64}
	row := GEMMProblem{M: 2, N: 256, K: 64}
	offers := slices.Concat(offersOf(convAlgorithms, conv, on), offersOf(convAlgorithms, depthwise, on),
		offersOf(gemmAlgorithms, product, on), offersOf(gemmAlgorithms, row, on))
	// Each fifth choice of a pair, others for each, or all of them.
	tried, stride := 0, 5
	if os.Getenv("SHADERCACHE_SOAK") != "" {
		stride = 1
	}
	turn := 0
	for _, o := range offers {
		good := slices.Clone(o.candidates)
		if o.name == gemmTiledAlgorithm.name {
			good = append(good, tile32)
		}
		for _, params := range good[:min(2, len(good))] {
			var names []string
			for name := range named(params) {
				names = append(names, name)
			}
			for i, first := range names {
				for _, second := range names[i:] {
					for _, a := range extremes {
						for _, b := range extremes {
							if turn++; turn%stride == 0 {
								build(t, o, changedJSON(params, first, a, second, b))
								tried++
							}
						}
					}
				}
			}
		}
	}
	if tried < 1000 {
		t.Errorf("only %d choices were tried", tried)
	}
}

// build builds the choice of an algorithm with parameters from a file.
func build(t *testing.T, o offer, data []byte) {
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s %s: %v", o.name, data, fmt.Sprint(r))
		}
	}()
	params, err := paramDecoders[o.name](data)
	if err != nil {
		t.Errorf("%s %s: %v", o.name, data, err)
		return
	}
	if s, err := o.sequence(params); err == nil && len(s.Steps) == 0 {
		t.Errorf("%s %s: neither steps nor an error", o.name, data)
	}
}
