//go:build linux && cgo

package glctx_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// everyUniform has a uniform of each type and writes every component of element 1 of
// arrays.
const everyUniform = `
layout(local_size_x = 1) in;
layout(std430, binding = 0) writeonly buffer Out { float y[]; };
struct Light { vec3 colour; mat2 turn; int kinds[3]; };
uniform float f; uniform vec2 f2; uniform vec3 f3[2]; uniform vec4 f4;
uniform int i; uniform ivec2 i2; uniform ivec3 i3; uniform ivec4 i4[2];
uniform uint u; uniform uvec2 u2[2]; uniform uvec3 u3; uniform uvec4 u4;
uniform bool b; uniform bvec2 b2; uniform bvec3 b3[2]; uniform bvec4 b4;
uniform double d; uniform dvec2 d2; uniform dvec3 d3[2]; uniform dvec4 d4;
uniform mat2 m2; uniform mat3 m3[2]; uniform mat4 m4; uniform mat2x3 m23; uniform mat2x4 m24;
uniform mat3x2 m32; uniform mat3x4 m34; uniform mat4x2 m42; uniform mat4x3 m43;
uniform dmat2 e2; uniform dmat3 e3; uniform dmat4 e4; uniform dmat2x3 e23; uniform dmat2x4 e24;
uniform dmat3x2 e32; uniform dmat3x4 e34; uniform dmat4x2 e42; uniform dmat4x3 e43;
uniform Light lights[2];
int n = 0;
#define PUT(v) y[n++] = float(v);
#define PUT2(v) PUT(v.x) PUT(v.y)
#define PUT3(v) PUT2(v) PUT(v.z)
#define PUT4(v) PUT3(v) PUT(v.w)
void main() {
    PUT(f) PUT2(f2) PUT3(f3[1]) PUT4(f4)
    PUT(i) PUT2(i2) PUT3(i3) PUT4(i4[1])
    PUT(u) PUT2(u2[1]) PUT3(u3) PUT4(u4)
    PUT(b) PUT2(b2) PUT3(b3[1]) PUT4(b4)
    PUT(d) PUT2(d2) PUT3(d3[1]) PUT4(d4)
    for (int c = 0; c < 2; c++) { PUT2(m2[c]) PUT3(m23[c]) PUT4(m24[c]) PUT2(e2[c]) PUT3(e23[c]) PUT4(e24[c]) PUT2(lights[1].turn[c]) }
    for (int c = 0; c < 3; c++) { PUT2(m32[c]) PUT3(m3[1][c]) PUT4(m34[c]) PUT2(e32[c]) PUT3(e3[c]) PUT4(e34[c]) PUT(lights[0].kinds[c]) }
    for (int c = 0; c < 4; c++) { PUT2(m42[c]) PUT3(m43[c]) PUT4(m4[c]) PUT2(e42[c]) PUT3(e43[c]) PUT4(e4[c]) }
    PUT3(lights[0].colour)
}`

// uniformValues returns values for elements of a type, counted from first, as
// GL.SetUniform has them.
func uniformValues(t shader.Type, elements, first int) []byte {
	n := elements * t.Components()
	switch t.Base() {
	case "double":
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(first+i) + 0.25
		}
		return glctx.Bytes(v)
	case "float":
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(first+i) + 0.5
		}
		return glctx.Bytes(v)
	}
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(first + i)
		if t.Base() == "bool" {
			v[i] %= 2
		}
	}
	return glctx.Bytes(v)
}

// component returns what the program writes for a component.
func component(t shader.Type, value int) float32 {
	switch t.Base() {
	case "double":
		return float32(value) + 0.25
	case "float":
		return float32(value) + 0.5
	case "bool":
		return float32(value % 2)
	}
	return float32(value)
}

func TestUniformsOfEveryType(t *testing.T) {
	c := gltest.Open(t)
	p := compile(t, c, shader.MustSource("every uniform", everyUniform, nil))[0]
	first, types := map[string]int{}, map[string]shader.Type{}
	seen := map[shader.Type]bool{}
	const room = 1024
	got := make([]float32, room)
	for i := range got {
		got[i] = float32(math.NaN())
	}
	err := c.Do(func(gl *glctx.GL) error {
		out, err := gl.NewBuffer(4*room, glctx.Bytes(got))
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(out)
		gl.UseProgram(p.ID)
		next := 1
		for _, r := range p.Interface.Resources {
			if r.Kind != shader.Uniform {
				continue
			}
			if found := gl.UniformType(p.ID, r.Name); found != r.Type || !found.Known() {
				t.Errorf("%s is %s, the interface has %s", r.Name, found, r.Type)
			}
			gl.SetUniform(r.Binding, r.Type, uniformValues(r.Type, int(r.Bytes), next))
			first[r.Name], types[r.Name], seen[r.Type] = next, r.Type, true
			next += int(r.Bytes) * r.Type.Components()
		}
		gl.BindStorage(0, out)
		gl.Dispatch(1, 1, 1)
		gl.MemoryBarrier(glctx.BarrierUpdate)
		gl.Download(out, 0, glctx.Bytes(got))
		return gl.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) != 4*5+2*9 {
		t.Errorf("%d types of uniforms were set, there are 38", len(seen))
	}
	at := 0
	check := func(name string, from, n int) {
		for k := range n {
			if want := component(types[name], first[name]+from+k); got[at] != want {
				t.Errorf("word %d, component %d of %s, is %v, want %v", at, from+k, name, got[at], want)
			}
			at++
		}
	}
	for _, s := range []struct {
		letter string
		array  int // rows of the one that is an array
	}{{"f", 3}, {"i", 4}, {"u", 2}, {"b", 3}, {"d", 3}} {
		for n := 1; n <= 4; n++ {
			name := s.letter
			if n > 1 {
				name = fmt.Sprint(s.letter, n)
			}
			if n == s.array {
				check(name+"[0]", n, n) // element 1
			} else {
				check(name, 0, n)
			}
		}
	}
	name := func(letter string, columns, rows int) string {
		if columns == rows {
			return fmt.Sprint(letter, columns)
		}
		return fmt.Sprintf("%s%d%d", letter, columns, rows)
	}
	for columns := 2; columns <= 4; columns++ {
		for c := range columns {
			for _, letter := range []string{"m", "e"} {
				for rows := 2; rows <= 4; rows++ {
					if letter == "m" && columns == 3 && rows == 3 {
						check("m3[0]", 9+3*c, 3)
						continue
					}
					check(name(letter, columns, rows), c*rows, rows) // column by column
				}
			}
			switch columns {
			case 2:
				check("lights[1].turn", 2*c, 2)
			case 3:
				check("lights[0].kinds[0]", c, 1)
			}
		}
	}
	check("lights[0].colour", 0, 3)
	if at < 200 || !math.IsNaN(float64(got[at])) {
		t.Errorf("%d words were checked, and the next is %v", at, got[at])
	}
}

func TestSetUniformRefusesHalfElements(t *testing.T) {
	c := gltest.Open(t)
	err := c.Do(func(gl *glctx.GL) error {
		for _, wrong := range []struct {
			t     shader.Type
			bytes int
		}{{0x8B51, 16}, {0x8B5B, 48}, {0x140A, 4}, {0x8B5E, 4}, {12345, 4}} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%d bytes were taken for %s", wrong.bytes, wrong.t)
					}
				}()
				gl.SetUniform(0, wrong.t, make([]byte, wrong.bytes))
			}()
		}
		return gl.Err()
	})
	if err != nil {
		t.Error(err)
	}
}

// threeAtUnit0 declares no units: samplers of different types at unit 0 are an error of
// each dispatch.
const threeAtUnit0 = `
layout(local_size_x = 1) in;
uniform sampler2D colours;
uniform usampler2D ids[2];
layout(binding = 1) uniform sampler3D volume;
layout(rgba32f) uniform writeonly image2D a;
layout(rgba32f) uniform writeonly image2D b;
layout(rgba32f, binding = 5) uniform writeonly image2D c[2];
void main() {
    vec4 v = texelFetch(colours, ivec2(0), 0) + vec4(texelFetch(ids[0], ivec2(0), 0)) + vec4(texelFetch(ids[1], ivec2(0), 0)) + texelFetch(volume, ivec3(0), 0);
    imageStore(a, ivec2(0), v); imageStore(b, ivec2(1), v); imageStore(c[0], ivec2(1), v); imageStore(c[1], ivec2(1), v);
}`

func TestUnitsWithoutBindingDoNotCollide(t *testing.T) {
	c := gltest.Open(t)
	p := compile(t, c, shader.MustSource("units", threeAtUnit0, nil))[0] // primed
	check := func(p shader.Program) {
		t.Helper()
		for _, r := range p.Interface.Resources {
			if want := (map[string]int32{"colours": 0, "ids[0]": 2, "volume": 1, "a": 0, "b": 1, "c[0]": 5})[r.Name]; r.Unit != want {
				t.Errorf("%s is at unit %d, want %d", r.Name, r.Unit, want)
			}
		}
	}
	check(p)
	format, payload, err := c.Binary(context.Background(), p.ID)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := c.Load(context.Background(), format, payload)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Delete(loaded.ID)
	check(loaded)
	if loaded.Interface.Digest() != p.Interface.Digest() {
		t.Error("the loaded program has another interface")
	}
}

// TestUniformsBetweenPrograms dispatches two programs in turn whose uniforms decide where
// they branch: each dispatch has its own values. On zink they were an earlier dispatch's.
func TestUniformsBetweenPrograms(t *testing.T) {
	c := gltest.Open(t)
	if err := c.CheckUniforms(); err != nil {
		t.Fatal(err)
	}
	branch := func(step int) *shader.Source {
		return shader.MustSource("branch", fmt.Sprintf(`layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Out { uint y[]; };
uniform uint way;
void main() { if (way == 0u) { y[0] += %du; } else { y[1] += %[1]du; } }`, step), nil)
	}
	programs := compile(t, c, branch(1), branch(100))
	var want [2]uint32
	got := make([]uint32, 2)
	err := c.Do(func(gl *glctx.GL) error {
		b, err := gl.NewBuffer(8, make([]byte, 8))
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(b)
		gl.BindStorage(0, b)
		for _, way := range []uint32{0, 0, 1, 1, 0, 1} {
			for i, p := range programs {
				gl.UseProgram(p.ID)
				gl.SetUint(gl.UniformLocation(p.ID, "way"), way)
				gl.Dispatch(1, 1, 1)
				gl.MemoryBarrier(glctx.BarrierAllKinds)
				want[way] += []uint32{1, 100}[i]
			}
		}
		gl.Download(b, 0, glctx.Bytes(got))
		return gl.Err()
	})
	if err != nil || [2]uint32(got) != want {
		t.Errorf("sums %d, %v, and not %d", got, err, want)
	}
}
