//go:build linux

package server_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// rawTexture is a texture by its id in a session.
type rawTexture struct {
	job.Texture
	id uint32
}

func (t rawTexture) ID() uint32 { return t.id }

// pictured is a program with all that jobs bind.
var pictured = shader.MustSource("pictured", `
layout(local_size_x = 1) in;
layout(std430, binding = 0) writeonly buffer Out { uint y[]; };
layout(r32ui, binding = 0) uniform uimage2D picture;
uniform usampler2D from;
uniform uvec2 add;
layout(binding = 1) uniform Block { uint more; };
layout(binding = 0) uniform atomic_uint n;
void main() {
    y[0] = imageLoad(picture, ivec2(0)).r + texelFetch(from, ivec2(0), 0).r + add.y + more + atomicCounterIncrement(n);
}`, nil)

// picturedJob runs pictured, program 1, with texture 1 and buffer 1.
func picturedJob() *wire.Job {
	return &wire.Job{
		Out:      []wire.Binding{{Operand: wire.Operand{Place: wire.PlaceInline, Size: 4}}},
		TexelsIn: []wire.Operand{{Place: wire.PlaceInline, Data: bytes.Repeat([]byte{1}, 4*4*4)}},
		Job: job.Job{
			Dispatch: job.Dispatch{
				Program: rawProgram(1), Groups: [3]uint32{1, 1, 1},
				Images: []job.Image{{Texture: rawTexture{id: 1}}}, Textures: []job.Sampled{{Name: "from", Texture: rawTexture{id: 1}}},
				Uniforms: []job.Uniform{job.Uints("add", 1, 2)}, Blocks: []job.Block{{Binding: 1, Data: make([]byte, 16)}},
			},
			TextureInputs: []job.TextureInput{{Texture: rawTexture{id: 1}}},
			Counters:      []job.Counter{{Start: []uint32{7}, To: make([]uint32, 1)}},
		},
	}
}

// TestTexturesThatAreRefused has a request for each field of textures and of what jobs do with
// them: none reaches the driver, and the session goes on.
func TestTexturesThatAreRefused(t *testing.T) {
	const quota = 1 << 20
	f := serve(t, server.Options{Limits: wire.Limits{Buffers: quota, Objects: 4}})
	r := f.rawSession()
	r.share(100, 1, 4096)
	shape := texel.Shape{Dim: "2D", Format: "r32ui", Width: 4, Height: 4, Depth: 1, Levels: 1}
	texture := func(id uint32, change func(*texel.Shape)) request {
		s := shape
		change(&s)
		return rawRequest(wire.TypeTexture, &wire.Texture{ID: id, Shape: s})
	}
	r.pipeline(2,
		rawRequest(wire.TypeProgram, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("pictured"), Text: []byte(pictured.Text())}),
		texture(1, func(*texel.Shape) {}),
		rawRequest(wire.TypeBuffer, &wire.Buffer{ID: 1, Flags: wire.Create, Size: 64}),
		rawRequest(wire.TypeJob, picturedJob()))
	answers := r.answers(4)
	for request, a := range answers {
		if a.Code != 0 {
			t.Fatalf("request %d: %v, %s", request, a.Code, a.body)
		}
	}
	if want := []byte{8, 0, 0, 0, 8, 0, 0, 0, 11, 2, 2, 2}; !bytes.Equal(answers[5].body, want) { // a size, the counter, and the output
		t.Errorf("the reply is %v, want %v", answers[5].body, want)
	}
	inline := wire.Operand{Place: wire.PlaceInline, Data: make([]byte, 4*4*4)}
	texels := wire.Operand{Place: wire.PlaceTexture, ID: 1}
	copied := func(change func(*wire.Copy)) request {
		m := &wire.Copy{From: inline, To: texels}
		change(m)
		return rawRequest(wire.TypeCopy, m)
	}
	region := func(of texel.Region) request { return copied(func(m *wire.Copy) { m.Region = of }) }
	run := func(change func(*wire.Job)) request {
		m := picturedJob()
		change(m)
		return rawRequest(wire.TypeJob, m)
	}
	for name, c := range map[string]struct {
		request
		wire.Code
		says string
	}{
		"an id that is taken":      {texture(1, func(*texel.Shape) {}), wire.CodeExists, "the session has a texture 1 already"},
		"no format":                {texture(2, func(s *texel.Shape) { s.Format = "" }), wire.CodeInvalid, `format "" is not known`},
		"a format of none":         {texture(2, func(s *texel.Shape) { s.Format = "rgba9" }), wire.CodeInvalid, `format "number 255" is not known`},
		"a shape of none":          {texture(2, func(s *texel.Shape) { s.Dim = "4D" }), wire.CodeInvalid, "a texture cannot be number 255"},
		"a negative width":         {texture(2, func(s *texel.Shape) { s.Width = math.MinInt64 }), wire.CodeInvalid, "a size of"},
		"a width beyond the GPU's": {texture(2, func(s *texel.Shape) { s.Width = math.MaxInt64 }), wire.CodeInvalid, "this device allows"},
		"levels that none has":     {texture(2, func(s *texel.Shape) { s.Levels = math.MaxInt64 }), wire.CodeInvalid, "have at most 3"},
		"more than the quota":      {texture(2, func(s *texel.Shape) { s.Width, s.Height = 1024, 1024 }), wire.CodeQuota, "exceed the session's limit"},
		"thin rows": {texture(2, func(s *texel.Shape) {
			s.Dim, s.Format, s.Width, s.Height, s.Depth = "2DArray", "r8", 1, 5, 2048
		}), wire.CodeQuota, "1048576 more exceed"},
		"more with what there is":    {texture(2, func(s *texel.Shape) { s.Width, s.Height = 512, 512 }), wire.CodeQuota, "exceed the session's limit"},
		"texels of no texture":       {copied(func(m *wire.Copy) { m.To.ID = 9 }), wire.CodeNotFound, "the session has no texture 9"},
		"a level that is not there":  {region(texel.Region{Level: 1}), wire.CodeInvalid, "level 1 of 1"},
		"a level before the first":   {region(texel.Region{Level: -1}), wire.CodeInvalid, "level -1 of 1"},
		"texels behind the last":     {region(texel.Region{X: 1, Width: 4}), wire.CodeInvalid, "texels 1,0,0"},
		"texels before the first":    {region(texel.Region{Y: -1, Height: 1}), wire.CodeInvalid, "texels 0,-1,0"},
		"as many as overflow":        {region(texel.Region{X: math.MaxInt32, Width: math.MaxInt32}), wire.CodeInvalid, "texels 2147483647,0,0"},
		"a negative number":          {region(texel.Region{Depth: -1}), wire.CodeInvalid, "texels 0,0,0"},
		"too few bytes":              {copied(func(m *wire.Copy) { m.From.Data = m.From.Data[:60] }), wire.CodeInvalid, "60 bytes, the texels of the region have 64"},
		"bytes of no operand":        {copied(func(m *wire.Copy) { m.From = wire.Operand{} }), wire.CodeInvalid, "nothing to copy from"},
		"texels to a buffer":         {copied(func(m *wire.Copy) { m.From, m.To = texels, wire.Operand{Place: wire.PlaceBuffer, ID: 1, Size: 64} }), wire.CodeInvalid, "a buffer or a texture where bytes are needed"},
		"texels to texels":           {copied(func(m *wire.Copy) { m.From = texels }), wire.CodeInvalid, "a buffer or a texture where bytes are needed"},
		"texels of a version":        {copied(func(m *wire.Copy) { m.Check = true }), wire.CodeInvalid, "a texture has no version"},
		"texels of the next version": {copied(func(m *wire.Copy) { m.Version = 3 }), wire.CodeInvalid, "a texture has no version"},
		"texels in memory beyond": {copied(func(m *wire.Copy) { m.From = wire.Operand{Place: wire.PlaceMemory, ID: 1, Offset: 4064, Size: 64} }),
			wire.CodeInvalid, "64 bytes at 4064 of memory of 4096"},
		"a run to texels": {rawRequest(wire.TypeRun, &wire.Run{Plan: 1, Output: texels}), wire.CodeNotFound, "no plan 1"},

		"an image of no texture":     {run(func(m *wire.Job) { m.Images[0].Texture = rawTexture{id: 9} }), wire.CodeNotFound, "the session has no texture 9"},
		"an image of no level":       {run(func(m *wire.Job) { m.Images[0].Level = -1 }), wire.CodeInvalid, "level -1 of a texture with 1"},
		"an image of a layer":        {run(func(m *wire.Job) { m.Images[0].Layer = -1 }), wire.CodeInvalid, "layer -1"},
		"an image of another format": {run(func(m *wire.Job) { m.Images[0].Format = "rgba9" }), wire.CodeInvalid, "number 255 is not a format of images"},
		"an image of no access":      {run(func(m *wire.Job) { m.Images[0].Access = "read" }), wire.CodeInvalid, `there is no access "number 255"`},
		"no image":                   {run(func(m *wire.Job) { m.Images = nil }), wire.CodeInvalid, "is not bound"},
		"a sampler of no texture":    {run(func(m *wire.Job) { m.Textures[0].Texture = rawTexture{id: 9} }), wire.CodeNotFound, "the session has no texture 9"},
		"a filter of none":           {run(func(m *wire.Job) { m.Textures[0].Sampler.Min = "nearest" }), wire.CodeInvalid, "a sampler cannot have"},
		"a wrap of none":             {run(func(m *wire.Job) { m.Textures[0].Sampler.Wrap[2] = "clamp" }), wire.CodeInvalid, "a sampler cannot have"},
		"a comparison of none":       {run(func(m *wire.Job) { m.Textures[0].Sampler.Compare = "less" }), wire.CodeInvalid, "a sampler cannot have"},
		"a short vector":             {run(func(m *wire.Job) { m.Uniforms[0] = job.Floats("add", 1, 2, 3) }), wire.CodeInvalid, "uniform add is of type uvec2"},
		"a vector of half":           {run(func(m *wire.Job) { m.Uniforms[0] = job.Uints("add", 1, 2, 3) }), wire.CodeInvalid, "uniform add has 1 elements of type uvec2"},
		"a short block":              {run(func(m *wire.Job) { m.Blocks[0].Data = nil }), wire.CodeInvalid, "uniform block Block (binding 1) needs"},
		"a block of no buffer":       {run(func(m *wire.Job) { m.Blocks[0] = job.Block{Buffer: numbered{id: 9}} }), wire.CodeNotFound, "the session has no buffer 9"},
		"a block beyond a buffer": {run(func(m *wire.Job) { m.Blocks[0] = job.Block{Binding: 1, Buffer: numbered{id: 1}, Size: 128} }),
			wire.CodeInvalid, "bytes 0 to 128 of 64"},
		"counters of no buffer":         {run(func(m *wire.Job) { m.Counters[0] = job.Counter{Buffer: numbered{id: 9}} }), wire.CodeNotFound, "the session has no buffer 9"},
		"counters of a program of none": {run(func(m *wire.Job) { m.Counters[0].Binding = math.MaxUint32 }), wire.CodeInvalid, "the atomic counters at binding 0 are not bound"},
		"counters beyond a buffer": {run(func(m *wire.Job) { m.Counters[0] = job.Counter{Buffer: numbered{id: 1}, Offset: math.MaxInt64 - 3} }),
			wire.CodeInvalid, "counters at binding 0"},
		"work groups beyond a buffer": {run(func(m *wire.Job) { m.Indirect = &job.Indirect{Buffer: numbered{id: 1}, Offset: math.MaxInt64 - 3} }),
			wire.CodeInvalid, "indirect work groups at byte"},
		"work groups before a buffer": {run(func(m *wire.Job) { m.Indirect = &job.Indirect{Buffer: numbered{id: 1}, Offset: math.MinInt64} }),
			wire.CodeInvalid, "indirect work groups at byte"},
		"a size of work groups":      {run(func(m *wire.Job) { m.GroupSize = [3]uint32{math.MaxUint32, 1, 1} }), wire.CodeInvalid, "has a GroupSize and the program declares its own"},
		"texels to no texture":       {run(func(m *wire.Job) { m.TextureInputs[0].Texture = rawTexture{id: 9} }), wire.CodeNotFound, "the session has no texture 9"},
		"texels to no level":         {run(func(m *wire.Job) { m.TextureInputs[0].Region.Level = 1 }), wire.CodeInvalid, "level 1 of 1"},
		"less than the texels":       {run(func(m *wire.Job) { m.TexelsIn[0].Data = m.TexelsIn[0].Data[1:] }), wire.CodeInvalid, "63 bytes, the texels of the region have 64"},
		"texels of no operand":       {run(func(m *wire.Job) { m.TexelsIn[0] = wire.Operand{} }), wire.CodeInvalid, "has 0 of a slice"},
		"texels of a texture":        {run(func(m *wire.Job) { m.TexelsIn[0] = texels }), wire.CodeInvalid, "a buffer or a texture where bytes are needed"},
		"texels of a buffer of none": {run(func(m *wire.Job) { m.TexelsIn[0] = wire.Operand{Place: wire.PlaceBuffer, ID: 9} }), wire.CodeNotFound, "the session has no buffer 9"},
		"texels beyond a buffer": {run(func(m *wire.Job) { m.TexelsIn[0] = wire.Operand{Place: wire.PlaceBuffer, ID: 1, Offset: 4} }),
			wire.CodeInvalid, "texture input 0: bytes 4 to 68 of 64"},
		"texels before a buffer": {run(func(m *wire.Job) { m.TexelsIn[0] = wire.Operand{Place: wire.PlaceBuffer, ID: 1, Offset: 1<<64 - 64} }),
			wire.CodeInvalid, "texture input 0: offset -64"},
		"more texels than a reply has": {run(func(m *wire.Job) {
			m.TextureOutputs = []job.TextureOutput{{Texture: rawTexture{id: 1}}}
			m.TexelsOut = []wire.Operand{{Place: wire.PlaceInline, Size: wire.MaxBody}}
		}), wire.CodeInvalid, "a reply of"},
	} {
		r.pipeline(10, c.request)
		a := r.answers(1)[10]
		if a.Code != c.Code || !strings.Contains(string(a.body), c.says) {
			t.Errorf("%s: %v: %.150q, want %v, %s", name, a.Code, a.body, c.Code, c.says)
		}
	}
	// Another session has no texture of this one, and none of its bytes.
	other := f.rawSession()
	other.pipeline(10, copied(func(m *wire.Copy) {}), texture(1, func(*texel.Shape) {}), copied(func(m *wire.Copy) { m.From, m.To = texels, wire.Operand{Place: wire.PlaceInline, Size: 64} }))
	answers = other.answers(3)
	if answers[10].Code != wire.CodeNotFound || !bytes.Equal(answers[12].body[12:], make([]byte, 64)) {
		t.Errorf("another session got %v and %v", answers[10].Code, answers[12].body)
	}
	// What is released can be used again.
	for range 3 {
		r.pipeline(20, texture(2, func(s *texel.Shape) { s.Width, s.Height = 500, 500 }), rawRequest(wire.TypeRelease, &wire.Release{Kind: wire.KindTexture, ID: 2}), run(func(*wire.Job) {}))
		for request, a := range r.answers(3) {
			if a.Code != 0 {
				t.Errorf("request %d: %v, %s", request, a.Code, a.body)
			}
		}
	}
	r.pipeline(30, texture(2, func(*texel.Shape) {}), texture(3, func(*texel.Shape) {}), texture(4, func(*texel.Shape) {}), texture(5, func(*texel.Shape) {}))
	if a := r.answers(4)[33]; a.Code != wire.CodeQuota || !strings.Contains(string(a.body), "as many objects of this kind") {
		t.Errorf("the fifth texture: %v, %s", a.Code, a.body)
	}
}
