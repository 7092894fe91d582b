package sessions

import (
	"fmt"
	"slices"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// rereadText adds up all words of a buffer, four at a time in each invocation.
const rereadText = `
layout(local_size_x = 256) in;
layout(std430, binding = 0) restrict readonly buffer Words { uvec4 words[]; };
layout(std430, binding = 1) restrict buffer Sum { uint sum; };
uniform uint vectors;
void main() {
    uvec4 mine = uvec4(0u);
    for (uint i = gl_GlobalInvocationID.x; i < vectors; i += gl_NumWorkGroups.x * 256u) { // bounded by the host
        mine += words[i];
    }
    atomicAdd(sum, mine.x + mine.y + mine.z + mine.w);
}`

const (
	rereadGroups   = 1056
	rereadSmallest = 64 << 10
	rereadLargest  = 256 << 20
	rereadSoftware = 4 << 20 // about the cache that one CPU has to itself
	rereadBatch    = 20
)

// reread measures how fast a working set is read again in the next dispatch, by its
// size: the rate drops where the caches cannot hold it.
func (r *run) reread() error {
	h, err := r.gpu.Cache.Get(r.ctx, shader.MustSource("bench_reread", rereadText, nil))
	if err != nil {
		return err
	}
	defer h.Release()
	most := rereadLargest
	if r.gpu.Context.Info().Software() {
		most = rereadSoftware
	}
	for size := rereadSmallest; size <= most; size *= 4 {
		row := Row{Workload: "reread", Strategy: "none", Got: "none", Variant: fmt.Sprintf("%d KiB", size>>10)}
		err := r.gpu.Context.Do(func(gl *glctx.GL) error { return r.rereadSize(gl, h, size, &row) })
		if err != nil {
			return err
		}
		r.addRow(row)
	}
	return nil
}

// rereadSize times batches of dispatches over size bytes, in which each word is 3.
func (r *run) rereadSize(gl *glctx.GL, h *cache.Handle, size int, row *Row) error {
	words, err := gl.NewBuffer(size, nil)
	if err != nil {
		return err
	}
	defer gl.DeleteBuffer(words)
	sum, err := gl.NewBuffer(16, make([]byte, 16))
	if err != nil {
		return err
	}
	defer gl.DeleteBuffer(sum)
	gl.Fill(words, 3)
	gl.UseProgram(h.Program())
	gl.BindStorage(0, words)
	gl.BindStorage(1, sum)
	gl.SetUint(gl.UniformLocation(h.Program(), "vectors"), uint32(size/16))
	var times []time.Duration
	reads := uint32(0)
	for began := time.Now(); len(times) < 3 || time.Since(began) < r.warm+r.rowTime()/4; {
		gl.Finish()
		start := time.Now()
		for range rereadBatch {
			gl.Dispatch(rereadGroups, 1, 1)
			gl.MemoryBarrier(glctx.BarrierStorage)
		}
		gl.Finish()
		times = append(times, time.Since(start)/rereadBatch)
		reads += rereadBatch
	}
	var got [4]uint32
	gl.MemoryBarrier(glctx.BarrierUpdate)
	gl.Download(sum, 0, glctx.Bytes(got[:]))
	row.Verified = got[0] == reads*3*uint32(size/4)
	row.GBPerSecond = float64(size) / float64(slices.Min(times).Nanoseconds())
	row.setTimes(times)
	return gl.Err()
}
