package jobtest

import (
	"slices"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// counting counts its invocations, by two counters.
const counting = "layout(binding = 0, offset = 0) uniform atomic_uint n; layout(binding = 0, offset = 4) uniform atomic_uint m;"

// counters are cases of atomic counters, of work groups whose number is in a buffer or whose size
// the job has, and of a buffer that is zeroed.
func counters() []testCase {
	return []testCase{
		{name: "atomic counters", do: func(r *run) {
			j, _ := r.job(1, counting, "y[0] = atomicCounterIncrement(n) + atomicCounterIncrement(m);")
			j.Groups = [3]uint32{5, 2, 1}
			j.Then = []job.Dispatch{j.Dispatch}
			to := poisoned(2)
			j.Counters = []job.Counter{{Binding: 0, Start: []uint32{100}, To: to}}
			r.do(j)
			r.same(to, []uint32{120, 20})
			one := poisoned(1)
			j.Counters = []job.Counter{{Binding: 0, To: one}}
			r.do(j)
			r.same(one, []uint32{20})
			j.Counters = append(j.Counters, job.Counter{Binding: 3})
			r.refuse(j, job.ErrInvalid, "counters at binding 3: no program of the job has a counter there")
			j.Counters = []job.Counter{{Binding: 0}, {Binding: 0}}
			r.refuse(j, job.ErrInvalid, "the atomic counters at binding 0 are bound twice")
			j.Counters = nil
			r.refuse(j, job.ErrInvalid, "the atomic counters at binding 0 are not bound")
		}},
		{name: "atomic counters of a buffer", do: func(r *run) {
			b := r.buffer(4, 1, 2, 3, 4)
			j, _ := r.job(1, counting, "y[0] = atomicCounterIncrement(n) + atomicCounterDecrement(m);")
			j.Groups[0] = 7
			j.Counters = []job.Counter{{Binding: 0, Buffer: b, Offset: 4}}
			r.do(j)
			r.do(j)
			r.contents(b, 0, 16)
			j.Counters[0].Offset = 12
			r.refuse(j, job.ErrInvalid, "the atomic counters at binding 0 need 8 bytes and are bound to 4")
			j.Counters[0].Offset = -4
			r.refuse(j, job.ErrInvalid, "counters at binding 0: offset -4")
			j.Counters[0] = job.Counter{Buffer: b, Start: []uint32{1}}
			r.refuse(j, job.ErrInvalid, "counters at binding 0: has a Buffer beside Start or To")
			j.Counters[0] = job.Counter{Buffer: foreignBuffer{b}}
			r.refuse(j, job.ErrInvalid, "the buffer of the counters at binding 0 is not of this device")
		}},
		{name: "indirect work groups", do: func(r *run) {
			counts := r.buffer(6, 9, 2, 1, 3, 0, 1)
			j, got := r.job(1, "layout(std430, binding = 2) buffer Sum { uint sum; };", "atomicAdd(sum, 1u); if (gl_GlobalInvocationID == uvec3(0)) y[0] = gl_NumWorkGroups.x;")
			j.Indirect, j.Groups = &job.Indirect{Buffer: counts}, [3]uint32{}
			sum := poisoned(1)
			j.Outputs = append(j.Outputs, job.Output{Binding: 2, To: bytesOf(sum)})
			r.do(j)
			r.same(slices.Concat(got, sum), []uint32{9, 18})
			j.Indirect.Offset = 12 // of which one is 0
			r.do(j)
			r.same(slices.Concat(got, sum), []uint32{0, 0})
			for _, offset := range []int{-4, 2, 16, 1<<63 - 4} {
				j.Indirect.Offset = offset
				r.refuse(j, job.ErrInvalid, "indirect work groups at byte", "three words at a multiple of 4 are needed")
			}
			j.Indirect.Buffer = foreignBuffer{counts}
			r.refuse(j, job.ErrInvalid, "is not of this device")
		}},
		{name: "a size of work groups", do: func(r *run) {
			s := shader.MustSource("sized", `
#extension GL_ARB_compute_variable_group_size : require
layout(local_size_variable) in;
layout(std430, binding = 0) writeonly buffer Out { uint y[]; };
void main() { if (gl_LocalInvocationIndex == 0u) y[0] = gl_LocalGroupSizeARB.x * 100u + gl_LocalGroupSizeARB.y; }`, nil)
			p, err := r.Get(r.Context(), s)
			if err != nil {
				r.note("the driver has no such extension")
				return
			}
			defer p.Release()
			out := poisoned(1)
			j := &job.Job{
				Dispatch: job.Dispatch{Program: p, Groups: [3]uint32{1, 1, 1}, GroupSize: [3]uint32{4, 3, 1}},
				Outputs:  []job.Output{{Binding: 0, To: bytesOf(out)}},
			}
			r.do(j)
			r.same(out, []uint32{403})
			j.GroupSize[2] = 0
			r.refuse(j, job.ErrInvalid, "a GroupSize of 0 along z")
		}},
		{name: "a buffer that is zeroed", do: func(r *run) {
			b := r.buffer(256, counted(256)...)
			r.do(r.increase(job.Bound{Buffer: b, Offset: 256, Size: 512, Zero: true}))
			r.contents(b, 248, 16)
			r.contents(b, 760, 16)
		}},
		{name: "a buffer that is zeroed and used otherwise", do: func(r *run) {
			b := r.buffer(128, slices.Repeat([]uint32{100}, 128)...)
			j, got := r.job(1, "layout(std140, binding = 3) uniform Block { uvec4 x; };", "y[0] = x.w;")
			j.Blocks = []job.Block{{Binding: 3, Buffer: b}}
			j.Then = []job.Dispatch{r.increase(job.Bound{Buffer: b, Zero: true}).Dispatch}
			r.do(j)
			now := poisoned(128)
			_, err := b.Read(r.Context(), 0, bytesOf(now))
			r.ok(err)
			r.same(slices.Concat(got, now), append([]uint32{100}, slices.Repeat([]uint32{1}, 128)...))
			j, got = r.job(1, "layout(std430, binding = 0) readonly buffer A { uint a[]; }; layout(std430, binding = 2) readonly buffer C { uint c[]; };",
				"y[0] = a[0] + c[0];")
			j.Buffers = []job.Bound{{Binding: 0, Buffer: b}, {Binding: 2, Buffer: b, Zero: true}}
			r.do(j)
			r.same(got, []uint32{0})
		}},
	}
}
