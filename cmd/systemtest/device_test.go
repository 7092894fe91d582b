//go:build linux

package systemtest_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// The programs of the operations that every Device has.
var (
	scaled = shader.MustSource("scaled", `
layout(local_size_x = 64) in;
layout(std430, binding = 0) restrict readonly buffer In { float x[]; };
layout(std430, binding = 1) restrict writeonly buffer Out { float y[]; };
layout(std140, binding = 2) uniform Params { float scale; };
uniform int plus;
uniform uint times;
uniform float minus;
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < x.length()) y[i] = scale * x[i] + float(plus) * float(times) - minus;
}`, nil)
	increased = shader.MustSource("increased", `
layout(local_size_x = 64) in;
layout(std430, binding = 0) restrict buffer Values { uint values[]; };
void main() { values[gl_GlobalInvocationID.x] += 1u; }`, nil)
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

// record is what an operation observes: equal for both kinds of device.
type record struct {
	t     *testing.T
	d     shadercache.Device
	lines []string
}

func (r *record) add(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// fails records the kind of an error, which has to be one that callers can match.
func (r *record) fails(what string, err error) {
	r.t.Helper()
	r.add("%s: %s", what, kindOf(err))
	if err == nil || kindOf(err) == "another" {
		r.t.Errorf("%s: got the error %v", what, err)
	}
}

func kindOf(err error) string {
	if failure, ok := errors.AsType[*shader.CompileError](err); ok {
		return "compile: " + failure.Error()
	}
	for _, k := range []struct {
		name string
		err  error
	}{
		{"nil", nil}, {"closed", shadercache.ErrClosed}, {"released", shadercache.ErrReleased}, {"lost", shadercache.ErrLost},
		{"not found", shadercache.ErrNotFound}, {"exists", shadercache.ErrExists}, {"conflict", shadercache.ErrConflict},
		{"deadline", context.DeadlineExceeded}, {"cancelled", context.Canceled}, {"invalid", shadercache.ErrInvalid},
		{"out of memory", shader.ErrOutOfMemory},
	} {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	return "another"
}

// must fails the test for an error.
func must[T any](v T, err error) func(*record) T {
	return func(r *record) T {
		r.t.Helper()
		if err != nil {
			r.t.Fatal(err)
		}
		return v
	}
}

func (r *record) get(s *shader.Source) shadercache.Program {
	r.t.Helper()
	return must(r.d.Get(r.t.Context(), s))(r)
}

func (r *record) run(j *shadercache.Job) {
	r.t.Helper()
	if err := r.d.Run(r.t.Context(), j); err != nil {
		r.t.Fatal(err)
	}
}

// poisoned returns n elements that no program computes.
func poisoned(n int) []float32 {
	return slices.Repeat([]float32{math.Float32frombits(0x7fc0dead)}, n)
}

// scaledJob is scaled over n elements: y = 0.5 x + 3*7 - 1.25.
func scaledJob(p shadercache.Program, n int) (job *shadercache.Job, got, want []float32) {
	in := make([]float32, n)
	want, got = make([]float32, n), poisoned(n)
	for i := range in {
		in[i] = float32(i % 4096)
		want[i] = 0.5*in[i] + 21 - 1.25
	}
	return &shadercache.Job{
		Dispatch: shadercache.Dispatch{
			Program: p, Groups: [3]uint32{uint32(n+63) / 64, 1, 1}, ParamsBinding: 2,
			Params:   append(binary.LittleEndian.AppendUint32(nil, math.Float32bits(0.5)), make([]byte, 12)...), // std140: 16 bytes
			Uniforms: []shadercache.Uniform{shadercache.Int("plus", 3), shadercache.Uint("times", 7), shadercache.Float("minus", 1.25)},
		},
		Inputs:  []shadercache.Input{{Binding: 0, Data: glctx.Bytes(in)}},
		Outputs: []shadercache.Output{{Binding: 1, To: glctx.Bytes(got)}},
	}, got, want
}

// deviceOperations are those that both kinds of device have, beside what package jobtest has
// of jobs and buffers.
var deviceOperations = []struct {
	name string
	do   func(ctx context.Context, r *record)
}{
	{"jobs of all sizes", func(_ context.Context, r *record) {
		p := r.get(scaled)
		defer p.Release()
		for _, n := range []int{1, 64, 1000, 1 << 14, 1<<16 + 1, 1 << 20} { // up to 4 MiB: beyond a slot
			job, got, want := scaledJob(p, n)
			r.run(job)
			if !slices.Equal(got, want) {
				r.t.Errorf("%d elements are wrong", n)
			}
			r.add("%d: %x", n, sha256.Sum256(glctx.Bytes(got)))
		}
	}},
	{"compile error", func(ctx context.Context, r *record) {
		_, err := r.d.Get(ctx, broken)
		r.fails("get", err)
		if !strings.Contains(err.Error(), "thereIsNoSuchName") {
			r.t.Errorf("the source is not in %v", err)
		}
		results, err := r.d.Preload(ctx, []*shader.Source{scaled, broken}, nil)
		if err != nil {
			r.t.Error(err)
		}
		for _, each := range results {
			r.add("%s %v %s", each.Name, each.Key, kindOf(each.Err))
		}
	}},
	{"convolution", func(ctx context.Context, r *record) {
		shape := conv2d.Problem{N: 2, C: 3, H: 17, W: 19, K: 5, R: 3, S: 3, PadH: 1, PadW: 1, Bias: true, Activation: conv2d.ReLU}.Shape()
		weights, bias := conv2d.RandomValues(5*3*3*3, 1), conv2d.RandomValues(5, 2)
		r.plan(ctx, []conv2d.Layer{{Name: "conv", Shape: shape, Weights: weights, Bias: bias}})
	}},
	{"matrix product", func(ctx context.Context, r *record) {
		shape := conv2d.GEMMProblem{M: 33, N: 65, K: 129}.Shape()
		r.plan(ctx, []conv2d.Layer{{Name: "gemm", Shape: shape, Weights: conv2d.RandomValues(65*129, 3)}})
	}},
	{"network", func(ctx context.Context, r *record) { r.plan(ctx, conv2d.SampleNetwork(2)) }},
	{"product that is added to a buffer", func(ctx context.Context, r *record) {
		problem := conv2d.GEMMProblem{M: 16, N: 24, K: 40, Factors: conv2d.AlphaBeta(0.5, 2)}
		a, b, c := conv2d.RandomValues(16*40, 1), conv2d.RandomValues(40*24, 2), conv2d.RandomValues(16*24, 3)
		p := must(conv2d.OpenPlan(ctx, r.d, conv2d.DevicePlanOptions{}, problem.Shape()))(r)
		defer p.Release()
		must(p.SetWeights(ctx, 1, b, nil))(r)
		r.fails("without a buffer", p.Run(ctx, a, slices.Clone(c)))
		input, output := must(r.d.NewBuffer(ctx, 4*len(a)))(r), must(r.d.NewBuffer(ctx, 4*len(c)))(r)
		defer input.Release()
		defer output.Release()
		must(input.Write(ctx, 0, glctx.Bytes(a)))(r)
		must(output.Write(ctx, 0, glctx.Bytes(c)))(r)
		for range 2 {
			pending := must(p.SubmitBuffers(ctx, input, output))(r)
			if err := pending.Wait(ctx); err != nil {
				r.t.Fatal(err)
			}
			got := poisoned(len(c))
			r.add("version %d", must(output.Read(ctx, 0, glctx.Bytes(got)))(r))
			want := conv2d.ReferenceGEMM(problem, conv2d.GEMMTensors{A: a, B: b, C: c})
			if report := conv2d.Compare(got, want, p.Info().Layers[0].Tolerance); !report.OK() {
				r.t.Error(report)
			}
			c = got
		}
		r.add("%x", sha256.Sum256(glctx.Bytes(c)))
		_, err := p.SubmitBuffers(ctx, output, input) // too small
		r.fails("buffers of other sizes", err)
		_, err = p.SubmitBuffers(ctx, input, nil)
		r.fails("no buffer", err)
		input.Release()
		_, err = p.SubmitBuffers(ctx, input, output)
		r.fails("a buffer that was released", err)
	}},
	{"invalid plans", func(ctx context.Context, r *record) {
		gemm := func(m, n, k int) conv2d.Shape { return conv2d.GEMMProblem{M: m, N: n, K: k}.Shape() }
		for name, layers := range map[string][]conv2d.Shape{
			"no layers": nil, "no size": {gemm(0, 1, 1)}, "do not fit": {gemm(8, 8, 8), gemm(9, 9, 9)},
			"no problem": {{}}, "beta before the last": {conv2d.GEMMProblem{M: 8, N: 8, K: 8, Factors: conv2d.AlphaBeta(1, 1)}.Shape(), gemm(8, 8, 8)},
		} {
			if _, err := conv2d.OpenPlan(ctx, r.d, conv2d.DevicePlanOptions{}, layers...); kindOf(err) != "invalid" {
				r.t.Errorf("%s: got the error %v", name, err)
			}
		}
		p := must(conv2d.OpenPlan(ctx, r.d, conv2d.DevicePlanOptions{Exact: true}, gemm(8, 8, 8)))(r)
		defer p.Release()
		in, out := make([]float32, 64), make([]float32, 64)
		r.fails("no weights", p.Run(ctx, in, out))
		_, err := p.SetWeights(ctx, 0, in, nil)
		r.fails("version 0", err)
		_, err = p.SetWeights(ctx, 1, in[1:], nil)
		r.fails("short weights", err)
		must(p.SetWeights(ctx, 1, in, nil))(r)
		r.fails("short input", p.Run(ctx, in[1:], out))
		r.fails("short output", p.Run(ctx, in, out[1:]))
		p.Release()
		r.fails("released", p.Run(ctx, in, out))
	}},
}

// plan runs a plan of layers and compares every element with the CPU's.
func (r *record) plan(ctx context.Context, layers []conv2d.Layer) {
	r.t.Helper()
	var shapes []conv2d.Shape
	var weights, bias []float32
	for _, l := range layers {
		shapes = append(shapes, l.Shape)
		weights, bias = append(weights, l.Weights...), append(bias, l.Bias...)
	}
	p := must(conv2d.OpenPlan(ctx, r.d, conv2d.DevicePlanOptions{}, shapes...))(r)
	defer p.Release()
	r.add("%d %d %d %d", p.Info().Input, p.Info().Weights, p.Info().Bias, p.Info().Output)
	var tolerances []float64
	for _, l := range p.Info().Layers {
		r.add("%s by %s, %g", l.Algorithm, l.Basis, l.Tolerance)
		tolerances = append(tolerances, l.Tolerance)
	}
	for _, used := range p.Info().Programs {
		r.add("%s", used.Name)
	}
	for _, want := range []bool{true, false} {
		if uploaded := must(p.SetWeights(ctx, 7, weights, bias))(r); uploaded != want {
			r.t.Errorf("uploaded: %t", uploaded)
		}
	}
	input, output := conv2d.RandomValues(p.Info().Input, 9), poisoned(p.Info().Output)
	if err := p.Run(ctx, input, output); err != nil {
		r.t.Fatal(err)
	}
	if report := conv2d.Compare(output, conv2d.ReferenceLayers(layers, tolerances, input), 1); !report.OK() {
		r.t.Error(report)
	}
	r.add("%x", sha256.Sum256(glctx.Bytes(output)))
}

// Every operation has the same results, errors and counters with a GPU of this process and
// with a server process.
func TestBothKindsOfDeviceDoTheSame(t *testing.T) {
	server := startServer(t)
	lines := map[string][]string{}
	for _, name := range []string{"off", server.path} {
		d, err := shadercache.Connect(t.Context(), shadercache.Options{Dir: t.TempDir(), Server: name})
		if err != nil {
			t.Fatal(err)
		}
		served := name != "off"
		var compiles [2]uint64
		for round := range compiles { // compiled, and resident
			for _, o := range deviceOperations {
				t.Run(fmt.Sprintf("%s/served=%t", o.name, served), func(t *testing.T) {
					r := &record{t: t, d: d}
					o.do(t.Context(), r)
					key := fmt.Sprintf("%s/%t", o.name, served)
					lines[key] = append(lines[key], r.lines...)
				})
			}
			compiles[round] = checkCounters(t, d, served)
		}
		if compiles[1] != compiles[0] {
			t.Errorf("served %t: %d compiles when every program was resident", served, compiles[1]-compiles[0])
		}
		if gpu, err := d.Local(); served != errors.Is(err, shadercache.ErrServed) || served != (gpu == nil) {
			t.Errorf("served %t: Local returns %v, %v", served, gpu, err)
		}
		checkClosed(t, d)
	}
	for _, o := range deviceOperations {
		own, served := lines[o.name+"/false"], lines[o.name+"/true"]
		if !slices.Equal(own, served) {
			t.Errorf("%s: in this process\n%s\nin a server\n%s", o.name, strings.Join(own, "\n"), strings.Join(served, "\n"))
		}
	}
}

// checkCounters gets programs again: nothing is compiled, and nothing is in use. It returns
// the number of compiles.
func checkCounters(t *testing.T, d shadercache.Device, served bool) (compiles uint64) {
	t.Helper()
	before, err := d.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*shader.Source{scaled} {
		p, err := d.Get(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if p.Origin() != job.Resident {
			t.Errorf("%s is %v", s.Name(), p.Origin())
		}
		p.Release()
	}
	after, err := d.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if after.Cache.Compiles != before.Cache.Compiles || after.Server != served || before.Cache.Compiles == 0 {
		t.Errorf("%d compiles, %d before; server: %t", after.Cache.Compiles, before.Cache.Compiles, after.Server)
	}
	for start := time.Now(); after.Cache.InUse != 0; after, _ = d.Stats(t.Context()) { // jobs that timed out end
		if time.Since(start) > 20*time.Second {
			t.Fatalf("%d programs are in use", after.Cache.InUse)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return after.Cache.Compiles
}

// checkClosed closes a device and uses it.
func checkClosed(t *testing.T, d shadercache.Device) {
	t.Helper()
	r := &record{t: t, d: d}
	held := r.get(scaled) // that a program is in use is an error of Close
	defer held.Release()
	p := r.get(increased)
	b := must(d.NewBuffer(t.Context(), 64))(r)
	b.Release()
	p.Release()
	gpu, own := d.Local()
	if err := d.Close(); (own == nil) != isInUse(err) {
		t.Errorf("Close with a program that is in use: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	if own == nil {
		if _, err := gpu.Cache.Get(t.Context(), scaled); !errors.Is(err, shader.ErrClosed) {
			t.Errorf("the cache after Close: %v", err)
		}
	}
	job, _, _ := scaledJob(p, 1)
	_, get := d.Get(t.Context(), scaled)
	_, preload := d.Preload(t.Context(), []*shader.Source{scaled}, nil)
	_, buffer := d.NewBuffer(t.Context(), 64)
	_, named := d.NamedBuffer(t.Context(), "n", 64)
	for what, err := range map[string]error{
		"Get": get, "Preload": preload, "NewBuffer": buffer, "NamedBuffer": named, "DeleteBuffer": d.DeleteBuffer(t.Context(), "n"),
	} {
		if kindOf(err) != "closed" {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
	if err := d.Run(t.Context(), job); err == nil {
		t.Error("a job ran after Close")
	}
}

// isMapped reports whether a process has a file mapped whose path contains part.
func isMapped(t *testing.T, pid int, part string) bool {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(maps), part)
}

// isInUse reports whether an error says that programs are in use.
func isInUse(err error) bool {
	_, is := errors.AsType[*cache.InUseError](err)
	return is
}
