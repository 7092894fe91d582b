package jobtest

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/shadercache/shadercache/internal/raw"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// The programs of the table.
var (
	// scaled has everything that a job binds: y = scale*x + plus*times - minus, or its complement.
	scaled = shader.MustSource("scaled", `
layout(local_size_x = 64) in;
layout(std430, binding = 0) restrict readonly buffer In { uint x[]; };
layout(std430, binding = 1) restrict writeonly buffer Out { uint y[]; };
layout(std140, binding = 2) uniform Params { uint scale; };
uniform int plus;
uniform uint times;
uniform float minus;
uniform bool complement;
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= x.length()) return;
    uint v = scale * x[i] + uint(plus) * times - uint(minus);
    y[i] = complement ? ~v : v;
}`, nil)
	increased = shader.MustSource("increased", `
layout(local_size_x = 64) in;
layout(std430, binding = 0) restrict buffer Values { uint values[]; };
void main() { uint i = gl_GlobalInvocationID.x; if (i < values.length()) values[i] += 1u; }`, nil)
	blocked = shader.MustSource("blocked", `
layout(local_size_x = 64) in;
layout(std430, binding = 0) restrict writeonly buffer To { uint to[]; };
layout(std430, binding = 1) restrict readonly buffer From { uint from[]; };
layout(std140, binding = 1) uniform A { uvec4 a[2500]; };
layout(std140, binding = 2) uniform B { uvec4 b[2500]; };
layout(std140, binding = 3) uniform C { uvec4 c[2500]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < to.length()) to[i] = from[i] + a[i / 4u][i % 4u] + b[i / 4u][i % 4u] + c[i / 4u][i % 4u];
}`, nil)
	tripled = shader.MustSource("tripled", `
layout(local_size_x = 64) in;
layout(std430, binding = 0) restrict readonly buffer From { uint from[]; };
layout(std430, binding = 1) restrict writeonly buffer To { uint to[]; };
void main() { uint i = gl_GlobalInvocationID.x; if (i < to.length()) to[i] = from[i] * 3u; }`, nil)
	half = shader.MustSource("half", `
layout(local_size_x = 64) in;
layout(std430, binding = 1) restrict writeonly buffer Out { uint y[]; };
void main() { uint i = 2u * gl_GlobalInvocationID.x; if (i < y.length()) y[i] = 1u; }`, nil)
	numbered = shader.MustSource("numbered", `
layout(local_size_x = 2, local_size_y = 2, local_size_z = 2) in;
layout(std430, binding = 0) restrict writeonly buffer Out { uint y[]; };
void main() {
    uvec3 size = gl_NumWorkGroups * gl_WorkGroupSize, at = gl_GlobalInvocationID;
    y[(at.z * size.y + at.y) * size.x + at.x] = at.x + 10u * at.y + 100u * at.z;
}`, nil)
	listed = shader.MustSource("listed", `
layout(local_size_x = 1) in;
layout(std430, binding = 0) restrict readonly buffer List { uint count; uint unused; uvec3 items[]; };
layout(std430, binding = 1) restrict writeonly buffer Sum { uint sum; };
void main() { uint s = count; for (int i = 0; i < items.length(); i++) s += items[i].x + items[i].z; sum = s; }`, nil)
	appended = shader.MustSource("appended", `
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer List { uint count; uint list[]; };
uniform uint number;
void main() { list[count] = number; count += 1u; }`, nil)
	slow = shader.MustSource("slow", `
layout(local_size_x = 64) in;
layout(std430, binding = 0) restrict writeonly buffer Out { float to[]; };
uniform int turns;
void main() {
    float v = float(gl_GlobalInvocationID.x);
    for (int i = 0; i < turns; i++) v = fract(sin(v) * 43758.5453);
    to[gl_GlobalInvocationID.x] = v;
}`, nil)
	broken = shader.MustSource("broken", `
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer B { float b[]; };
void main() { b[0] = thereIsNoSuchName; }`, nil)
)

// turnsOfCPU is how often slow turns for some tenths of a second on a CPU: llvmpipe ends loops
// after 65,535 turns.
const turnsOfCPU = 60_000

var turnsOfDevices atomic.Int32 // 0: not measured

// manyTurns returns how often slow has to turn for some tenths of a second.
func (r *run) manyTurns() int32 {
	if turnsOfDevices.Load() == 0 {
		j, _ := r.slowJob(turnsOfCPU)
		r.ok(r.Device.Run(r.Context(), j)) // compiles
		start := time.Now()
		r.ok(r.Device.Run(r.Context(), j))
		turns := int32(turnsOfCPU)
		if took := time.Since(start); took < 50*time.Millisecond { // a GPU
			turns = int32(min(turnsOfCPU*float64(300*time.Millisecond)/float64(took), 1<<30))
		}
		turnsOfDevices.Store(turns)
	}
	return turnsOfDevices.Load()
}

// bytesOf returns words as bytes.
func bytesOf(words []uint32) []byte { return raw.Bytes(words) }

// counted returns n words of a pattern.
func counted(n int) []uint32 {
	list := make([]uint32, n)
	for i := range list {
		list[i] = uint32(i) * 2654435761
	}
	return list
}

// poisoned returns n words that no program computes.
func poisoned(n int) []uint32 { return slices.Repeat([]uint32{0xA5A5A5A5}, n) }

// groups returns the work groups of n invocations.
func groups(n int) [3]uint32 { return [3]uint32{uint32(n+63) / 64, 1, 1} }

// params are those of scaled, with a scale of 5.
func params() []byte { return append(bytesOf([]uint32{5}), make([]byte, 12)...) }

// scaledJob is scaled over n words.
func scaledJob(p job.Program, n int) (j *job.Job, got, want []uint32) {
	in := counted(n)
	got, want = poisoned(n), make([]uint32, n)
	for i := range want {
		want[i] = 5*in[i] + 3*7 - 11
	}
	return &job.Job{
		Dispatch: job.Dispatch{
			Program: p, Groups: groups(n), Params: params(), ParamsBinding: 2,
			Uniforms: []job.Uniform{job.Int("plus", 3), job.Uint("times", 7), job.Float("minus", 11), job.Bool("complement", false)},
		},
		Inputs:  []job.Input{{Binding: 0, Data: bytesOf(in)}},
		Outputs: []job.Output{{Binding: 1, To: bytesOf(got)}},
	}, got, want
}

// scale runs scaledJob, and fails the test where it is wrong.
func (r *run) scale(n int) {
	r.Helper()
	r.scaleWith(n, func(*job.Job) {})
}

// scaleWith is scale of a job that is changed, but not its result.
func (r *run) scaleWith(n int, change func(*job.Job)) {
	r.Helper()
	j, got, want := scaledJob(r.get(scaled), n)
	change(j)
	r.do(j)
	r.same(got, want)
}

// same fails the test where words are not those that are wanted.
func (r *run) same(got, want []uint32) {
	r.Helper()
	if len(got) != len(want) {
		r.Fatalf("%d words, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			r.Fatalf("word %d of %d is %#x, want %#x", i, len(got), got[i], want[i])
		}
	}
}

// increase is a job that adds 1 to the words of a buffer.
func (r *run) increase(b job.Bound) *job.Job {
	return &job.Job{Dispatch: job.Dispatch{Program: r.get(increased), Groups: [3]uint32{4, 1, 1}, Buffers: []job.Bound{b}}}
}

// slowJob is a job of 1024 invocations that turn.
func (r *run) slowJob(turns int32) (*job.Job, []uint32) {
	out := poisoned(1 << 10)
	return &job.Job{
		Dispatch: job.Dispatch{Program: r.get(slow), Groups: groups(len(out)), Uniforms: []job.Uniform{job.Int("turns", turns)}},
		Outputs:  []job.Output{{Binding: 0, To: bytesOf(out)}},
	}, out
}

// summed adds the words of several inputs, from the binding first on, to the output at 0, whose words are 0
// before the first.
func summed(first, inputs int) *shader.Source {
	text, sum := "layout(local_size_x = 64) in;\nlayout(std430, binding = 0) buffer Out { uint sum[]; };\n", "0u"
	if first > 1 {
		sum = "sum[i]"
	}
	for k := first; k < first+inputs; k++ {
		text += fmt.Sprintf("layout(std430, binding = %d) readonly buffer In%d { uint in%d[]; };\n", k, k, k)
		sum += fmt.Sprintf(" + in%d[i]", k)
	}
	return shader.MustSource(fmt.Sprintf("summed%d", first), text+"void main() { uint i = gl_GlobalInvocationID.x; if (i < sum.length()) sum[i] = "+sum+"; }", nil)
}
