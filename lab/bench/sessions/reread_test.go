package sessions

import (
	"context"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// newRereadRun returns a run with a GPU and one millisecond for a row.
func newRereadRun(t *testing.T) *run {
	t.Helper()
	c := gltest.Open(t)
	programs, err := cache.New(c, cache.Options{MemoryOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { programs.Close() })
	return &run{Options: Options{Seconds: 0.001}, ctx: context.Background(), gpu: &cli.GPU{GPU: &shadercache.GPU{Context: c, Cache: programs}},
		bar: (&cli.Options{Stderr: nil}).NewProgress(-1, ""), result: &Result{Verified: true}}
}

// There is a row for each size, four times the one before; the rate is that of the
// fastest batch, so it is not below that of the median.
func TestRereadRows(t *testing.T) {
	r := newRereadRun(t)
	if err := r.reread(); err != nil {
		t.Fatal(err)
	}
	want := []string{"64 KiB", "256 KiB", "1024 KiB", "4096 KiB"}
	if len(r.result.Rows) < len(want) || !r.result.Verified {
		t.Fatalf("got %d rows, verified %v", len(r.result.Rows), r.result.Verified)
	}
	for i, name := range want {
		row, size := r.result.Rows[i], float64(rereadSmallest)*float64(int(1)<<(2*i))
		if row.Workload != "reread" || row.Variant != name || !row.Verified || row.Samples < 3 {
			t.Errorf("row %d is %+v", i, row)
		}
		if ofMedian := size / (1000 * row.MedianMicros); row.GBPerSecond < ofMedian*0.999 || row.MedianMicros > row.MaxMicros {
			t.Errorf("%s: %v GB/s, where the median of %v us makes %v", name, row.GBPerSecond, row.MedianMicros, ofMedian)
		}
	}
}

// A kernel that leaves words out is not verified.
func TestRereadFailsForWordsLeftOut(t *testing.T) {
	r := newRereadRun(t)
	h, err := r.gpu.Cache.Get(r.ctx, shader.MustSource("reread_less", `
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
	row := Row{Verified: true}
	if err := r.gpu.Context.Do(func(gl *glctx.GL) error { return r.rereadSize(gl, h, rereadSmallest, &row) }); err != nil {
		t.Fatal(err)
	}
	if row.Verified {
		t.Errorf("a sum without one vector is verified: %+v", row)
	}
}
