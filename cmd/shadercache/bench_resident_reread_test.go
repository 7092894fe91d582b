package main

import (
	"context"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/cli"
	"github.com/shadercache/shadercache/shader"
)

// rereading is a bench with a GPU, for one millisecond a row.
func rereading(t *testing.T) *residentBench {
	t.Helper()
	c := gltest.Open(t)
	programs, err := cache.New(c, cache.Options{MemoryOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { programs.Close() })
	return &residentBench{seconds: 0.001, ctx: context.Background(), gpu: &cli.GPU{GPU: &shadercache.GPU{Context: c, Cache: programs}},
		bar: (&cli.Options{Stderr: nil}).NewProgress(-1, ""), result: &residentResult{Verified: true}}
}

// A row for each size, four times the one before; the rate is of the fastest batch,
// so it is not below that of the median.
func TestRereadRows(t *testing.T) {
	b := rereading(t)
	if err := b.reread(); err != nil {
		t.Fatal(err)
	}
	want := []string{"64 KiB", "256 KiB", "1024 KiB", "4096 KiB"}
	if len(b.result.Rows) < len(want) || !b.result.Verified {
		t.Fatalf("got %d rows, verified %v", len(b.result.Rows), b.result.Verified)
	}
	for i, name := range want {
		r, size := b.result.Rows[i], float64(rereadSmallest)*float64(int(1)<<(2*i))
		if r.Workload != "reread" || r.Variant != name || !r.Verified || r.Samples < 3 {
			t.Errorf("row %d is %+v", i, r)
		}
		if ofMedian := size / (1000 * r.MedianMicros); r.GBPerSecond < ofMedian*0.999 || r.MedianMicros > r.MaxMicros {
			t.Errorf("%s: %v GB/s, where the median of %v us makes %v", name, r.GBPerSecond, r.MedianMicros, ofMedian)
		}
	}
}

// A kernel that leaves words out is found out.
func TestRereadNoticesWordsLeftOut(t *testing.T) {
	b := rereading(t)
	h, err := b.gpu.Cache.Get(b.ctx, shader.MustSource("reread_less", `
layout(local_size_x = 256) in;
layout(std430, binding = 0) restrict readonly buffer Words { uvec4 words[]; };
layout(std430, binding = 1) restrict buffer Sum { uint sum; };
uniform uint vectors;
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i > 0u && i < vectors) { // not the first
        atomicAdd(sum, words[i].x + words[i].y + words[i].z + words[i].w);
    }
}`, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Release()
	row := residentRow{Verified: true}
	if err := b.gpu.Context.Do(func(gl *glctx.GL) error { return b.rereadSize(gl, h, rereadSmallest, &row) }); err != nil {
		t.Fatal(err)
	}
	if row.Verified {
		t.Errorf("a sum without one vector was taken for right: %+v", row)
	}
}
