//go:build linux

package conv2d

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
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
// of its model.
func TestShippedTable(t *testing.T) {
	entries := 0
	for model, list := range shippedTable() {
		seen := map[string]bool{}
		for _, e := range list {
			entries++
			if e.shape.String() != e.Problem || seen[e.Problem] {
				t.Errorf("%s: %q is there twice, or not in its canonical form", model, e.Problem)
			}
			seen[e.Problem] = true
			if err := buildsOn(models[strings.Fields(model)[0]], e.shape, e.Choice); err != nil {
				t.Errorf("%s: %s: %v", model, e.Problem, err)
			}
		}
	}
	if want := strings.Count(string(defaultsJSON), `"problem"`); entries != want {
		t.Errorf("%d of %d entries can be read", entries, want)
	}
}

// models are what drivers are known to offer, by the first word of a model.
var models = map[string]device{
	"NVIDIA": {sharedBytes: 48 << 10, maxInvocations: 1024, maxGroups: [3]int32{math.MaxInt32, 65535, 65535}},
	"llvmpipe": {software: true, host: true, sharedBytes: 32 << 10, maxInvocations: 1024, simdBits: 256,
		maxGroups: [3]int32{65535, 65535, 65535}},
}

// A plan takes the entry of its GPU's model, even where that of another one is nearer; one
// of another model of the vendor where its own has none in reach; and none of another
// vendor's.
func TestShippedByModel(t *testing.T) {
	before := shippedTable
	t.Cleanup(func() { shippedTable = before })
	entry := func(problem string, tile int) tableEntry {
		return tableEntry{Problem: problem, Choice: Choice{"gemm_tiled", TiledParams{Tile: tile, Depth: 16, LocalY: 16}}, shape: mustShape(t, problem)}
	}
	shippedTable = func() map[string][]tableEntry {
		return map[string][]tableEntry{
			"NVIDIA A": {entry("gemm:512x512x512", 32), entry("gemm:4096x4096x4096", 64)},
			"NVIDIA B": {entry("gemm:512x512x256", 128)},
			"llvmpipe": {entry("gemm:256x256x256", 32)},
		}
	}
	for _, c := range []struct {
		gpu, problem string
		tile         int // 0: none
	}{
		{"NVIDIA A/PCIe/SSE2", "gemm:512x512x512", 32},
		{"NVIDIA B/PCIe/SSE2", "gemm:512x512x512", 128},
		{"NVIDIA B/PCIe/SSE2", "gemm:4096x4096x4096", 64},
		{"NVIDIA C/PCIe/SSE2", "gemm:512x512x512", 32},
		{"NVIDIA C/PCIe/SSE2", "gemm:256x256x256", 0},
		{"Another", "gemm:512x512x512", 0},
	} {
		info := glctx.Info{GPU: c.gpu, MaxSharedBytes: hardware.sharedBytes, MaxInvocations: int32(hardware.maxInvocations), Limits: job.Limits{MaxGroups: hardware.maxGroups, MaxStorage: 1 << 31}}
		task, err := newTask(mustShape(t, c.problem), info)
		if err != nil {
			t.Fatal(err)
		}
		choice, ok := shipped(task, deviceOf(info))
		params, _ := choice.Params.(TiledParams)
		if ok != (c.tile > 0) || params.Tile != c.tile {
			t.Errorf("%s, %s: %v, %t", c.gpu, c.problem, choice, ok)
		}
	}
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
