package conv2d

import (
	"strings"
	"testing"
)

func TestParseShapes(t *testing.T) {
	for _, test := range []struct {
		kind, words string
		want        int
	}{
		{"", "gemm:1x2x3 gemm:1x2x3 conv2d:1x1x1x1-1,1x1", 2},
		{"gemm", "1x2x3 gemm:4x5x6", 2},
		{"gemm", "square skinny square 512x512x512", 8},
		{"conv2d", "resnet 1x3x224x224-64,7x7,s2,p3 1x1x1x1-1,1x1", 15},
	} {
		shapes, err := ParseShapes(test.kind, strings.Fields(test.words))
		if err != nil || len(shapes) != test.want {
			t.Errorf("%s %s: %d shapes, %v", test.kind, test.words, len(shapes), err)
		}
	}
	for words, want := range map[string]string{
		"":                   "name a shape, or a workload",
		"squre":              `no workload "squre"`,
		"resnet":             "not a problem for gemm",
		"conv2d:1x1x1-1,1x1": `should be 4 numbers`,
		"1x2":                "should be 3 numbers",
	} {
		if _, err := ParseShapes(GEMMKind, strings.Fields(words)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v does not contain %q", words, err, want)
		}
	}
}
