package kernels

import (
	"testing"

	"github.com/shadercache/shadercache/internal/bench/peers"
)

func TestWithoutSlowest(t *testing.T) {
	shapes, named, err := ParseShapes("gemm", []string{"square", "8192x8192x8192"})
	if err != nil || len(named) != 1 {
		t.Fatal(named, err)
	}
	remaining, left := withoutSlowest(shapes, named)
	if len(remaining) != 4 || left != 1 || remaining[3].String() != "gemm:8192x8192x8192" {
		t.Errorf("%v remain, %d are left out", remaining, left)
	}
}

// A row that is wrong has no ratio, and the worst ratio is named.
func TestCompareAndSummarize(t *testing.T) {
	r := Result{Rows: []Row{{Shape: "a", Millis: 1, Verified: true}, {Shape: "b", Millis: 4, Verified: true}, {Shape: "c"}, {Shape: "d", Millis: 1, Verified: true}}}
	r.compare(peers.Times{"a": {Peer: "p", Millis: 4}, "b": {Peer: "p", Millis: 4, Least: 3}, "c": {Peer: "p", Millis: 4}, "d": {}})
	r.summarize()
	if r.GeomeanRatio != 2 || r.WorstRatio != 1 || r.WorstShape != "b" {
		t.Errorf("%+v", r)
	}
	if r.Rows[1].PeerLeast != 3 || r.Rows[2].Ratio != 0 || r.Rows[2].PeerMillis != 4 || r.Rows[3].Peer != "" {
		t.Errorf("%+v", r.Rows)
	}
	if r.Verdict() == nil {
		t.Error("a wrong row is no failure")
	}
}
