//go:build linux

package tune

import (
	"strings"
	"testing"

	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/glctx"
)

func TestAddToTable(t *testing.T) {
	result := func(problem, name string) Result {
		return Result{Problem: problem, Best: Candidate{Choice: conv2d.Choice{Algorithm: name, Params: conv2d.UnknownParams{"b": 2, "a": 1}}}}
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
	want := `  "NVIDIA H200": [
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
	if _, err := AddToTable(nil, glctx.Info{GPU: "Another"}); err == nil || !strings.Contains(err.Error(), "no model for Another") {
		t.Errorf("error is %v", err)
	}
}
