package kernels

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/lab/bench/peers"
)

func TestMain(m *testing.M) { gltest.Main(m) }

// Rows are verified and compared with the peer, after each row as after all.
func TestRun(t *testing.T) {
	script := filepath.Join(t.TempDir(), "peer.sh")
	text := "for s; do printf '%s\"%s\": {\"peer\": \"p\", \"ms\": 1}' \"$c\" \"$s\"; c=,; done | sed '1s/^/{/; $s/$/}/'\n"
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, each := range []bool{false, true} {
		b := Options{PeerCommand: "sh " + script, PeerEach: each}
		var err error
		if b.Shapes, b.Named, err = ParseShapes("gemm", []string{"4x4x4", "8x8x8,relu"}); err != nil {
			t.Fatal(err)
		}
		r, err := Run(clitest.Options(t), b)
		if err != nil {
			t.Fatal(err)
		}
		clitest.Print(t, r, "gemm:8x8x8,relu", "geometric mean of the ratios", "every result was compared with the CPU's")
		if len(r.Rows) != 2 || r.Timer == "" {
			t.Fatalf("%+v", r)
		}
		for _, row := range r.Rows {
			if row.Millis <= 0 || row.Ratio != 1/row.Millis || row.Peer != "p" || row.Check == "" {
				t.Errorf("%+v", row)
			}
		}
		r.Interrupted = true
		if err := r.Verdict(); !errors.Is(err, context.Canceled) {
			t.Errorf("after an interrupt: %v", err)
		}
	}
	if _, err := Run(clitest.Options(t), Options{PeerFile: script + "x"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file of a peer: %v", err)
	}
}

func TestValidate(t *testing.T) {
	for want, o := range map[string]Options{
		"exclude each other":   {PeerFile: "a", PeerCommand: "b"},
		"needs --peer-command": {PeerEach: true},
	} {
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not contain %q", err, want)
		}
	}
}

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
