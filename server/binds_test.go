//go:build linux

package server_test

import (
	"strings"
	"testing"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/shader"
)

// TestJobsThatTheProtocolCannotBindAreRefused runs programs with an image, a sampler,
// counters and a vector: the error names them, and the session still works.
func TestJobsThatTheProtocolCannotBindAreRefused(t *testing.T) {
	f := serve(t, server.Options{})
	c := f.dial()
	for declaration, want := range map[string]string{
		"layout(r32ui, binding = 0) uniform uimage2D picture; uint use() { return imageLoad(picture, ivec2(0)).r; }": "image picture",
		"uniform sampler2D from; uint use() { return uint(texelFetch(from, ivec2(0), 0).r); }":                       "sampler from",
		"layout(binding = 0) uniform atomic_uint n; uint use() { return atomicCounterIncrement(n); }":                "atomic counters",
		"uniform vec4 tint; uint use() { return uint(tint.x + tint.w); }":                                            "uniform tint, a vec4",
		"uniform float list[3]; uint use() { return uint(list[gl_LocalInvocationIndex] + list[2]); }":                "uniform list[0], a float",
	} {
		text := "layout(local_size_x = 1) in;\nlayout(std430, binding = 1) writeonly buffer Out { uint y[]; };\n" + declaration + "\nvoid main() { y[0] = use(); }"
		p := program(t, c, shader.MustSource("binds", text, nil))
		job := &job.Job{Dispatch: job.Dispatch{Program: p, Groups: [3]uint32{1, 1, 1}}, Outputs: []job.Output{{Binding: 1, To: make([]byte, 4)}}}
		pending, err := c.Submit(t.Context(), job)
		if err == nil {
			err = pending.Wait(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "jobs bind storage blocks, one uniform block and scalar uniforms") {
			t.Errorf("%s: %v", want, err)
		}
	}
	testSizes(t, c)
}
