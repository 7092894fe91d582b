//go:build linux

package server_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// bound is a program that binds what pictured does not: a layer of an image, a cube map array with a
// comparison, an array without a length, structs, matrices and doubles.
var bound = shader.MustSource("bound", `
layout(local_size_x = 1) in;
struct Light { vec3 colour; float far[2]; };
layout(std430, binding = 0) buffer Out { uint n; uvec2 pad; dvec2 tail[]; };
layout(std430, binding = 1) readonly buffer In { uint x[]; };
layout(std430, binding = 2) buffer InOut { uint z[8]; };
layout(rgba8, binding = 3) writeonly uniform image2D layer;
layout(r32i) uniform iimage2DArray layers;
layout(binding = 5) uniform samplerCubeArrayShadow shadows;
uniform sampler3D solid[2];
uniform Light lights[2];
uniform mat3x2 m;
uniform double d;
uniform bvec3 b;
layout(std140, binding = 4) uniform Block { mat4 more; vec3 last; };
layout(binding = 1, offset = 4) uniform atomic_uint counted[2];
void main() {
    imageStore(layer, ivec2(0), vec4(1));
    imageAtomicMin(layers, ivec3(0), 1);
    float f = texture(shadows, vec4(1), 0.5) + texture(solid[1], vec3(0)).r + lights[1].colour.x + lights[1].far[1] + m[1].x + more[1].y + last.z;
    n = min(x[0] + uint(f) + uint(d) + uint(b.z), 1u);
    z[7] = min(z[1], 1u);
    atomicCounterIncrement(counted[1]);
}`, nil)

// boundJob runs bound, program 2, with textures 2 to 5 and buffers 1 to 3.
func boundJob() *wire.Job {
	return &wire.Job{
		In:        []wire.Binding{{Binding: 1, Operand: wire.Operand{Place: wire.PlaceInline, Data: make([]byte, 4)}}},
		Out:       []wire.Binding{{Operand: wire.Operand{Place: wire.PlaceInline, Size: 32}}, {Binding: 2, Operand: wire.Operand{Place: wire.PlaceMemory, ID: 1, Size: 32}}},
		TexelsIn:  []wire.Operand{{Place: wire.PlaceBuffer, ID: 1}},
		TexelsOut: []wire.Operand{{Place: wire.PlaceMemory, ID: 1, Offset: 256, Size: 64}},
		Job: job.Job{
			Dispatch: job.Dispatch{
				Program: rawProgram(2), Groups: [3]uint32{1, 1, 1},
				Images:   []job.Image{{Binding: 3, Texture: rawTexture{id: 2}, Layer: 1, Access: "writeonly"}, {Name: "layers", Texture: rawTexture{id: 3}}},
				Textures: []job.Sampled{{Binding: 5, Texture: rawTexture{id: 4}, Sampler: texel.Sampler{Compare: "never"}}, {Name: "solid[0]", Texture: rawTexture{id: 5}}, {Name: "solid[1]", Texture: rawTexture{id: 5}, Sampler: texel.Sampler{Min: "linear"}}},
				Uniforms: []job.Uniform{
					job.Floats("lights[0].colour", 1, 2, 3), job.Floats("lights[1].colour", 1, 2, 3), job.Floats("lights[0].far", 1, 2), job.Floats("lights[1].far", 1, 2),
					job.Floats("m", 1, 2, 3, 4, 5, 6), job.Doubles("d", 1), job.Ints("b", 1, 0, 1),
				},
				Blocks:  []job.Block{{Binding: 4, Buffer: numbered{id: 2}}},
				Buffers: []job.Bound{{Binding: 2, Buffer: numbered{id: 1}, Offset: 256, Zero: true}, {Binding: 1, Buffer: numbered{id: 1}, ReadOnly: true}},
			},
			Counters:       []job.Counter{{Binding: 1, Buffer: numbered{id: 2}, Offset: 4}},
			TextureInputs:  []job.TextureInput{{Texture: rawTexture{id: 3}, Region: texel.Region{Z: 1, Depth: 1}}},
			TextureOutputs: []job.TextureOutput{{Texture: rawTexture{id: 2}, Region: texel.Region{Width: 4, Height: 4, Depth: 1}}},
		},
	}
}

// then adds a dispatch that has its groups in buffer 3, which is zero and stays so.
func then(m *wire.Job) *wire.Job {
	next := m.Dispatch
	next.Indirect = &job.Indirect{Buffer: numbered{id: 3}}
	m.Then = append(m.Then, next)
	return m
}

// change changes one field of a job at random: to a number at the edge of something, to one element
// less or more, or to another object.
func change(m *wire.Job, random *rand.Rand) {
	var changes []func()
	add := func(f func()) { changes = append(changes, f) }
	var walk func(v reflect.Value, name string)
	walk = func(v reflect.Value, name string) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() && f.Name != "Objects" && f.Name != "Deadline" && f.Name != "Operations" && f.Name != "Inputs" && f.Name != "Outputs" {
					walk(v.Field(i), f.Name)
				}
			}
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem(), "Indirect")
			}
		case reflect.Array:
			for i := range v.Len() {
				walk(v.Index(i), name)
			}
		case reflect.Slice:
			for i := 0; i < v.Len() && v.Type().Elem().Kind() != reflect.Uint8; i++ {
				walk(v.Index(i), name)
			}
			if n := v.Len(); n > 0 {
				add(func() { v.Set(v.Slice(0, n-1)) })
				at := random.IntN(n)
				add(func() { v.Set(reflect.Append(v.Slice3(0, n, n), v.Index(at))) })
			}
		case reflect.Interface:
			id := uint32(random.IntN(7))
			switch {
			case v.Type() == reflect.TypeFor[job.Texture]():
				add(func() { v.Set(reflect.ValueOf(rawTexture{id: id})) })
			case v.Type() == reflect.TypeFor[job.Program]():
				add(func() { v.Set(reflect.ValueOf(rawProgram(id % 4))) })
			case name != "Indirect" && !v.IsNil():
				add(func() { v.Set(reflect.ValueOf(numbered{id: id % 3})) })
			}
		case reflect.Bool:
			add(func() { v.SetBool(!v.Bool()) })
		case reflect.String:
			names := []string{"", "x", "from", "solid", "solid[0]", "solid[1]", "solid[2]", "lights", "lights[1].far[0]", "m", "d", "Block", "n", "layers", "gl_NumWorkGroups"}
			add(func() { v.SetString(names[random.IntN(len(names))]) })
		case reflect.Int, reflect.Int32, reflect.Int64:
			edges := []int64{0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 20, 31, 60, 64, 128, 252, 256, 1020, 1024, 4096, math.MaxInt32, math.MinInt32, -1, -4}
			add(func() { v.SetInt(edges[random.IntN(len(edges))]) })
		case reflect.Uint8, reflect.Uint32, reflect.Uint64:
			edges := []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 31, 32, 63, 64, 96, 192, 252, 255, 256, 1024, 65536, 1 << 20, math.MaxUint32, math.MaxInt64, math.MaxUint64}
			if name == "Groups" || name == "GroupSize" {
				edges = []uint64{0, 1, 2, 3, 1025, 1 << 31, math.MaxUint32}
			}
			add(func() { v.SetUint(edges[random.IntN(len(edges))]) })
		}
	}
	walk(reflect.ValueOf(m).Elem(), "")
	changes[random.IntN(len(changes))]()
}

// TestRandomJobs sends jobs of which up to three fields are changed, many at once, beside a session
// whose jobs stay right: each is done or refused by what it has, and none is a fault of the server.
func TestRandomJobs(t *testing.T) {
	f := serve(t, server.Options{})
	good := f.dial()
	p := program(t, good, affine)
	r := f.rawSession()
	r.share(100, 1, 4096)
	texture := func(id uint32, s texel.Shape) request {
		return rawRequest(wire.TypeTexture, &wire.Texture{ID: id, Shape: s.WithDefaults()})
	}
	setUp := []request{
		rawRequest(wire.TypeProgram, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("pictured"), Text: []byte(pictured.Text())}),
		rawRequest(wire.TypeProgram, &wire.Program{ID: 2, Form: wire.FormFinal, Name: []byte("bound"), Text: []byte(bound.Text())}),
		rawRequest(wire.TypeProgram, &wire.Program{ID: 3, Form: wire.FormFinal, Name: []byte("affine"), Text: []byte(affine.Text())}),
		texture(1, texel.Shape{Format: "r32ui", Width: 4, Height: 4}),
		texture(2, texel.Shape{Dim: "2DArray", Format: "rgba8", Width: 4, Height: 4, Depth: 2}),
		texture(3, texel.Shape{Dim: "2DArray", Format: "r32i", Width: 4, Height: 4, Depth: 2, Levels: 2}),
		texture(4, texel.Shape{Dim: "CubeArray", Format: "depth_component32f", Width: 4, Height: 4, Depth: 2}),
		texture(5, texel.Shape{Dim: "3D", Format: "r8", Width: 3, Height: 3, Depth: 3}),
	}
	for id := range uint32(3) {
		setUp = append(setUp, rawRequest(wire.TypeBuffer, &wire.Buffer{ID: id + 1, Flags: wire.Create, Size: 1024}))
	}
	r.pipeline(2, setUp...)
	for request, a := range r.answers(len(setUp)) {
		if a.Code != 0 {
			t.Fatalf("request %d: %v, %s", request, a.Code, a.body)
		}
	}
	rounds, seed := 60, uint64(1)
	if os.Getenv("SHADERCACHE_SOAK") != "" {
		rounds, seed = 3_000, rand.Uint64()
	}
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	done, refused := 0, 0
	number := uint64(1000)
	for round := range rounds {
		jobs := map[uint64]string{}
		var frames [][]byte
		for len(frames) < 32 {
			m := []func() *wire.Job{picturedJob, boundJob, func() *wire.Job { return validJob(4, 3) }}[random.IntN(3)]()
			if random.IntN(4) == 0 {
				m = then(m)
			}
			for range random.IntN(4) {
				change(m, random)
			}
			b, err := wire.AppendFrame(nil, wire.TypeJob, number, m)
			if err != nil || wire.Decode(b[wire.HeaderSize:], new(wire.Job)) != nil {
				continue // what is malformed ends the session
			}
			frames, jobs[number] = append(frames, b), fmt.Sprintf("%+v", m)
			number++
		}
		if err := r.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		r.send(bytes.Join(frames, nil))
		if err := run(t.Context(), good, p, 100, 3, 4); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for request, a := range r.answers(len(frames)) {
			switch a.Code {
			case 0:
				done++
			case wire.CodeInvalid, wire.CodeNotFound:
				refused++
			default:
				t.Errorf("%v: %s, of %s", a.Code, a.body, jobs[request])
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d jobs were done, %d refused", done, refused)
	if done < refused/20 || refused < done/20 {
		t.Error("too few of one of the two")
	}
}
