package glctx_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/recording"
	"github.com/shadercache/shadercache/shader"
)

// core is the context of the programs of these tests.
var core = recording.Context{API: recording.OpenGL, Major: 4, Minor: 5, Profile: recording.ProfileCore}

func glsl(kind recording.StageKind, text string) recording.Stage {
	return recording.Stage{Kind: kind, Text: text}
}

const (
	plainVertex = "#version 450\nin vec3 position; in mat2 turn; in ivec2 number; in double far; out vec2 at;\n" +
		"void main() { at = turn * position.xy + vec2(number); gl_Position = vec4(position, far); }"
	plainFragment = "#version 450\nin vec2 at; uniform sampler2D a; uniform usampler3D b[2]; out vec4 colour;\n" +
		"void main() { colour = texture(a, at) + vec4(texture(b[1], at.xyy)); }"
)

// recordedPrograms are programs of each kind that Replay has to link, by what they show.
func recordedPrograms(t testing.TB) map[string]*recording.Program {
	return map[string]*recording.Program{
		"compute": {Context: core, Stages: []recording.Stage{glsl(recording.Compute,
			"#version 430\nlayout(local_size_x = 8) in; layout(std430) buffer B { float b[]; };\nvoid main() { b[gl_GlobalInvocationID.x] += 1.5; }")}},
		"two texts of a stage": {Context: core, Stages: []recording.Stage{
			glsl(recording.Compute, "#version 430\nlayout(local_size_x = 8) in; float more(float); layout(std430) buffer B { float b[]; };\nvoid main() { b[0] = more(b[0]); }"),
			glsl(recording.Compute, "#version 430\nfloat more(float x) { return x + 2.5; }")}},
		"vertex and fragment": {Context: core, Stages: []recording.Stage{glsl(recording.Vertex, plainVertex), glsl(recording.Fragment, plainFragment)},
			Attributes: []recording.Attribute{{Location: 5, Name: "position"}}, Outputs: []recording.Output{{Number: 2, Name: "colour"}}},
		"integers out": {Context: core, Stages: []recording.Stage{
			glsl(recording.Vertex, "#version 450\nvoid main() { gl_Position = vec4(gl_VertexID); }"),
			glsl(recording.Fragment, "#version 450\nout uvec2 a[2]; out ivec4 b; void main() { a[0] = a[1] = uvec2(1); b = ivec4(2); }")}},
		"geometry and feedback": {Context: core, Stages: []recording.Stage{
			glsl(recording.Vertex, "#version 450\nvoid main() { gl_Position = vec4(gl_VertexID); }"),
			glsl(recording.Geometry, "#version 450\nlayout(lines_adjacency) in; layout(points, max_vertices = 1) out; out float caught;\n"+
				"void main() { gl_Position = gl_in[0].gl_Position; caught = 2.0; EmitVertex(); }")},
			Feedback: &recording.Feedback{Mode: 0x8C8C, Varyings: []string{"gl_Position", "caught"}}},
		"tessellation": {Context: core, Stages: []recording.Stage{
			glsl(recording.Vertex, "#version 450\nvoid main() { gl_Position = vec4(gl_VertexID); }"),
			glsl(recording.TessControl, "#version 450\nlayout(vertices = 3) out; void main() { gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;\n"+
				"gl_TessLevelOuter[0] = gl_TessLevelOuter[1] = gl_TessLevelOuter[2] = gl_TessLevelInner[0] = 1.0; }"),
			glsl(recording.TessEvaluation, "#version 450\nlayout(triangles) in; void main() { gl_Position = gl_in[0].gl_Position; }"),
			glsl(recording.Fragment, "#version 450\nout vec4 colour; void main() { colour = vec4(1); }")}},
		"created": {Context: core, Created: true, Separable: true, Stages: []recording.Stage{
			glsl(recording.Compute, "#version 430\nlayout(local_size_x = 8) in; layout(std430) buffer B { float b[]; };\nvoid main() { b[0] += 3.5; }")}},
		"a part of a pipeline": {Context: core, Separable: true, Retrievable: true, Stages: []recording.Stage{
			glsl(recording.Vertex, "#version 450\nout gl_PerVertex { vec4 gl_Position; }; void main() { gl_Position = vec4(gl_VertexID); }")}},
		"a variable group size": {Context: core, Stages: []recording.Stage{glsl(recording.Compute,
			"#version 430\n#extension GL_ARB_compute_variable_group_size : require\nlayout(local_size_variable) in; layout(std430) buffer B { float b[]; };\n"+
				"void main() { b[gl_GlobalInvocationID.x] += 6.5; }")}},
		"SPIR-V": {Context: core, Stages: []recording.Stage{{Kind: recording.Compute, Module: spirvModule(t)}}},
	}
}

// spirvModule compiles a kernel whose constant 7 is specialized.
func spirvModule(t testing.TB) *recording.Module {
	compiler, err := exec.LookPath("glslangValidator")
	if err != nil {
		t.Skip("glslangValidator is not installed")
	}
	dir := t.TempDir()
	text := "#version 450\nlayout(constant_id = 7) const int N = 1; layout(local_size_x = 8) in;\n" +
		"layout(std430, binding = 0) buffer B { float b[]; }; void main() { b[0] += float(N) + 4.5; }"
	source, module := filepath.Join(dir, "k.comp"), filepath.Join(dir, "k.spv")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(compiler, "-G", "-o", module, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	code, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	return &recording.Module{Code: code, EntryPoint: "main", Constants: []recording.Constant{{Index: 7, Value: 5}}}
}

func TestReplay(t *testing.T) {
	c := gltest.Open(t)
	want := map[string]glctx.Priming{"a part of a pipeline": glctx.NotPrimed, "compute": glctx.Dispatched, "two texts of a stage": glctx.Dispatched,
		"a variable group size": glctx.Dispatched,
		"created":               glctx.Dispatched, "SPIR-V": glctx.Dispatched}
	before := c.Counters()
	for name, p := range recordedPrograms(t) {
		needs := map[string]string{"SPIR-V": "GL_ARB_gl_spirv", "a variable group size": "GL_ARB_compute_variable_group_size"}[name]
		if needs != "" && !c.Info().Has(needs) {
			continue
		}
		r, err := c.Replay(context.Background(), p)
		primed, listed := want[name]
		if !listed {
			primed = glctx.Drawn
		}
		if err != nil || r.Primed != primed || r.LinkNanos <= 0 || r.PrimeNanos <= 0 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if after := c.Counters(); after.Programs != before.Programs || after.Buffers != before.Buffers {
		t.Errorf("%+v, before %+v", after, before)
	}
}

func TestReplayReportsTheStageThatDoesNotCompile(t *testing.T) {
	c := gltest.Open(t)
	vertex := glsl(recording.Vertex, "#version 450\nvoid main() { gl_Position = vec4(0); }")
	for reason, stages := range map[string][]recording.Stage{
		"does not compile: vertex": {glsl(recording.Vertex, "#version 450\nvoid main() { wrong(); }"), glsl(recording.Fragment, plainFragment)},
		"does not compile: fragm":  {vertex, glsl(recording.Fragment, "#version 450\nvoid main() { wrong }")},
		"shader \"vertex":          {vertex, glsl(recording.Fragment, plainFragment)}, // reads what the vertex stage lacks
	} {
		p := &recording.Program{Context: core, Stages: stages}
		_, err := c.Replay(context.Background(), p)
		if !errors.As(err, new(*shader.CompileError)) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q is not in %v", reason, err)
		}
	}
	created := &recording.Program{Context: core, Created: true, Stages: []recording.Stage{glsl(recording.Compute, "wrong")}}
	if _, err := c.Replay(context.Background(), created); !errors.As(err, new(*shader.CompileError)) {
		t.Error(err)
	}
	if _, err := c.Replay(context.Background(), recordedPrograms(t)["compute"]); err != nil {
		t.Errorf("the context is of no use afterwards: %v", err)
	}
}
