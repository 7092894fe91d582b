//go:build linux

package conv2d

import (
	"math"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/glctx"
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

func TestAddToTable(t *testing.T) {
	result := func(problem, name string) TuneResult {
		return TuneResult{Problem: problem, Best: Candidate{Choice: Choice{Algorithm: name, Params: Params{"b": 2, "a": 1}}}}
	}
	nvidia, llvmpipe := glctx.Info{GPU: "NVIDIA H200/PCIe/SSE2"}, glctx.Info{GPU: "llvmpipe (LLVM 15.0.6, 256 bits)"}
	data, err := AddToTable(nil, nvidia, result("gemm:2x2x2", "x"), result("gemm:1x1x1", "y"))
	if err == nil {
		data, err = AddToTable(data, nvidia, result("gemm:2x2x2", "z"))
	}
	if err == nil && llvmpipe.Software() {
		data, err = AddToTable(data, llvmpipe, result("gemm:1x1x1", "w"))
	}
	if err != nil {
		t.Fatal(err)
	}
	want := `  "nvidia": [
    {"problem":"gemm:1x1x1","choice":{"algorithm":"y","params":{"a":1,"b":2}}},
    {"problem":"gemm:2x2x2","choice":{"algorithm":"z","params":{"a":1,"b":2}}}
  ]
}
`
	if !strings.HasSuffix(string(data), want) {
		t.Errorf("got %s", data)
	}
	if _, err := AddToTable([]byte("{"), nvidia); err == nil {
		t.Error("no error for half a table")
	}
	if _, err := AddToTable(nil, glctx.Info{GPU: "Another"}); err == nil || !strings.Contains(err.Error(), "no family for Another") {
		t.Errorf("error is %v", err)
	}
}
