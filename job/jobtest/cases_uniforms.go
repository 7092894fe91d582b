package jobtest

import (
	"math"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// program returns one of a work group that writes words to the block at binding 1.
func (r *run) program(declarations, body string) job.Program {
	r.Helper()
	return r.get(shader.MustSource("binds", "layout(local_size_x = 1) in;\nlayout(std430, binding = 1) writeonly buffer Out { uint y[]; };\n"+
		declarations+"\nvoid main() {\n"+body+"\n}", nil))
}

// job returns one of a program that writes n words.
func (r *run) job(n int, declarations, body string) (*job.Job, []uint32) {
	r.Helper()
	out := poisoned(n)
	return &job.Job{
		Dispatch: job.Dispatch{Program: r.program(declarations, body), Groups: [3]uint32{1, 1, 1}},
		Outputs:  []job.Output{{Binding: 1, To: bytesOf(out)}},
	}, out
}

// uniforms are cases of uniforms of several components, and of uniform blocks.
func uniforms() (list []testCase) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		declaration, value string // of the uniform u, and of the word
		uniform            job.Uniform
		want               uint32
	}{
		{"vec2 u", "uint(u.x + 10.0 * u.y)", job.Floats("u", 1, 2), 21},
		{"vec4 u", "uint(u.x + 10.0 * u.w)", job.Floats("u", 1, 2, 3, 4), 41},
		{"vec3 u", "isinf(u.z) ? 1u : 0u", job.Floats("u", 1, 2, inf), 1},
		{"ivec3 u", "uint(u.x * u.y - u.z)", job.Ints("u", -3, -5, 7), 8},
		{"uvec4 u", "u.x ^ u.w", job.Uints("u", 1<<31, 2, 3, 5), 1<<31 | 5},
		{"bvec2 u", "u.y && !u.x ? 7u : 0u", job.Bools("u", false, true), 7},
		{"bvec3 u", "u.z && !u.y ? 7u : 0u", job.Ints("u", 1, 0, -4), 7},
		{"mat2 u", "uint(u[0].y + 10.0 * u[1].x)", job.Floats("u", 1, 2, 3, 4), 32},
		{"mat3 u", "uint(u[2].x + 10.0 * u[0].z)", job.Floats("u", 1, 2, 3, 4, 5, 6, 7, 8, 9), 37},
		{"mat4x2 u", "uint(u[3].x + 10.0 * u[3].y)", job.Floats("u", 1, 2, 3, 4, 5, 6, 7, 8), 87},
		{"float u[3]", "uint(u[0] + 10.0 * u[2])", job.Floats("u", 1, 2, 3), 31},
		{"ivec2 u[2]", "uint(u[0].x + 10 * u[1].y)", job.Ints("u[0]", 1, 2, 3, 4), 41},
		{"double u", "uint(u * 4.0lf)", job.Doubles("u", 1.25), 5},
		{"dvec2 u", "uint(u.y - u.x)", job.Doubles("u", 1, 9), 8},
		{"dmat2 u", "uint(u[0].y + u[1].y)", job.Doubles("u", 1, 2, 3, 4), 6},
		{"struct { vec2 b; } u", "uint(u.b.y) + uint(u.b.x)", job.Floats("u.b", 3, 4), 7},
	} {
		list = append(list, testCase{name: "a uniform " + c.declaration, do: func(r *run) {
			j, got := r.job(1, "uniform "+c.declaration+";", "y[0] = "+c.value+";")
			j.Uniforms = []job.Uniform{c.uniform, job.Floats("not there")}
			r.do(j)
			r.same(got, []uint32{c.want})
			one := 1.0
			j.Uniforms[0] = job.Doubles("u", one, one, one, one, one, one, one, one, one, one) // of another type, or too many
			r.refuse(j, job.ErrInvalid, "uniform u")
			j.Uniforms = nil
			r.refuse(j, job.ErrInvalid, "uniform u", "is not set; it is of type")
		}})
	}
	const blocks = "layout(binding = 3) uniform A { uint a; }; layout(binding = 4) uniform B { uint b; };"
	return append(list, []testCase{
		{name: "a double in a struct", do: func(r *run) {
			for _, of := range []string{"double", "dvec2", "dmat3"} {
				j, _ := r.job(1, "uniform struct { uint a; "+of+" b; } u[2];", "y[0] = "+of+"(2.0lf) == u[0].b ? 1u : u[0].a;")
				j.Uniforms = []job.Uniform{job.Uint("u[0].a", 7), job.Doubles("u[0].b", 1.25)}
				r.refuse(j, job.ErrInvalid, "uniform u[0].b is a double in a struct")
			}
		}},
		{name: "two uniform blocks", do: func(r *run) {
			j, got := r.job(1, blocks, "y[0] = a * 10u + b;")
			j.Params, j.ParamsBinding = params(), 3
			j.Blocks = []job.Block{{Binding: 4, Data: append(bytesOf([]uint32{7}), make([]byte, 12)...)}}
			r.do(j)
			r.same(got, []uint32{57})
			j.Blocks = nil
			r.refuse(j, job.ErrInvalid, "uniform block B (binding 4) has no Params and is not among Blocks")
		}},
		{name: "uniform blocks of a buffer", do: func(r *run) {
			b := r.buffer(128, counted(128)...)
			j, got := r.job(1, blocks, "y[0] = a ^ b;")
			j.Blocks = []job.Block{{Binding: 4, Buffer: b, Offset: 256}, {Binding: 3, Buffer: b, Size: 16}}
			r.do(j)
			r.same(got, []uint32{counted(128)[64]})
			r.contents(b, 0, 16) // and its version, which is that of its upload
			j.Blocks[0].Offset = 512
			r.refuse(j, job.ErrInvalid, "uniform block B (binding 4): bytes 512 to 512 of 512")
			j.Blocks[0] = job.Block{Binding: 4, Buffer: b, Data: make([]byte, 16)}
			r.refuse(j, job.ErrInvalid, "uniform block B (binding 4): has both Data and Buffer")
			j.Blocks[0] = job.Block{Binding: 4, Buffer: foreignBuffer{b}}
			r.refuse(j, job.ErrInvalid, "the buffer of the uniform block at binding 4 is not of this device")
		}},
	}...)
}
