//go:build linux

package conv2d

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func mustShape(t *testing.T, text string) Shape {
	t.Helper()
	s, err := ParseShape(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want float64
	}{
		{"gemm:1024x1024x1024", "gemm:1024x1024x1024,alpha2,column-bias,relu", 0},
		{"gemm:1024x1024x1024", "gemm:2048x1024x256", math.Sqrt(5)},
		{"gemm:1024x1024x1024", "gemm:1024x1024x1024,ta", math.Inf(1)},
		{"gemm:1024x1024x1024", "gemm:1024x1024x1023", math.Inf(1)},
		{"gemm:1024x1024x1024", "conv2d:1x64x56x56-64,3x3,p1", math.Inf(1)},
		{"conv2d:1x64x56x56-64,3x3,p1", "conv2d:2x64x56x56-64,3x3,p1,bias,relu", 1},
		{"conv2d:1x64x56x56-64,3x3,p1", "conv2d:1x64x58x58-64,3x3", 0},
		{"conv2d:1x64x56x56-64,3x3,p1", "conv2d:1x64x56x56-64,1x1", math.Inf(1)},
		{"conv2d:1x64x56x56-64,3x3,p1", "conv2d:1x64x56x56-64,3x3,p1,g64", math.Inf(1)},
		{"conv2d:1x64x56x56-64,3x3,p1", "conv2d:1x63x56x56-64,3x3,p1", math.Inf(1)},
	} {
		a, b := mustShape(t, test.a), mustShape(t, test.b)
		if got, back := a.distance(b), b.distance(a); math.Abs(got-test.want) > 1e-9 && got != test.want || got != back {
			t.Errorf("from %v to %v: %v, back %v, want %v", a, b, got, back, test.want)
		}
	}
}

// TestShippedTable checks that every entry is valid and can be built on a device
// of its family.
func TestShippedTable(t *testing.T) {
	entries := 0
	for family, list := range shippedTable() {
		seen := map[string]bool{}
		for _, e := range list {
			entries++
			if e.shape.String() != e.Problem || seen[e.Problem] {
				t.Errorf("%s: %q is there twice, or not in its canonical form", family, e.Problem)
			}
			seen[e.Problem] = true
			if err := buildsOn(families[family], e.shape, e.Choice); err != nil {
				t.Errorf("%s: %s: %v", family, e.Problem, err)
			}
		}
	}
	if want := strings.Count(string(defaultsJSON), `"problem"`); entries != want {
		t.Errorf("%d of %d entries can be read", entries, want)
	}
}

// families are what the drivers of a family are known to offer.
var families = map[string]device{
	"nvidia": {nvidia: true, sharedBytes: 48 << 10, maxInvocations: 1024, maxGroups: [3]int32{math.MaxInt32, 65535, 65535}},
	"llvmpipe": {software: true, host: true, sharedBytes: 32 << 10, maxInvocations: 1024, simdBits: 256,
		maxGroups: [3]int32{65535, 65535, 65535}},
}

func buildsOn(on device, s Shape, c Choice) error {
	if s.GEMM != nil {
		return buildsBy(gemmAlgorithms, *s.GEMM, c, on)
	}
	return buildsBy(convAlgorithms, *s.Conv2D, c, on)
}

func buildsBy[P any](algorithms []algorithm[P], p P, c Choice, on device) error {
	for _, a := range algorithms {
		if a.name == c.Algorithm {
			_, err := a.sequence(p, c.Params, on)
			return err
		}
	}
	return fmt.Errorf("there is no algorithm %q", c.Algorithm)
}
