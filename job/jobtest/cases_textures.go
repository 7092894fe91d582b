package jobtest

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"slices"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/shader"
)

// foreignTexture is of no device.
type foreignTexture struct{ job.Texture }

// texture returns a texture that is released with the test.
func (r *run) texture(s texel.Shape) job.Texture {
	r.Helper()
	t, err := r.NewTexture(r.Context(), s)
	r.ok(err)
	r.Cleanup(t.Release)
	return t
}

// beside returns a buffer of n bytes on the GPU of a group that has a texture.
func (r *run) beside(t job.Texture, n int, values ...uint32) job.Buffer {
	r.Helper()
	for range 8 {
		b := r.buffer(n/4, values...)
		j := r.imageJob(t)
		j.Groups, j.Buffers = [3]uint32{}, []job.Bound{{Binding: 9, Buffer: b, ReadOnly: true}}
		if err := r.Device.Run(r.Context(), j); err == nil {
			return b
		}
	}
	r.Fatal("no buffer is beside the texture")
	return nil
}

// texels returns those of a level.
func (r *run) texels(t job.Texture, level int) []byte {
	r.Helper()
	n, err := t.Shape().RegionBytes(texel.Region{Level: level})
	r.ok(err)
	got := bytes.Repeat([]byte{0xA5}, n)
	r.ok(t.Read(r.Context(), texel.Region{Level: level}, got))
	return got
}

// numbers returns n bytes that differ from their neighbours.
func numbers(n int) []byte {
	list := make([]byte, n)
	for i := range list {
		list[i] = byte(3*i + i>>8 + 1)
	}
	return list
}

// shapes have a texture of each kind.
var shapes = []texel.Shape{
	{Dim: "1D", Format: "r32ui", Width: 5},
	{Format: "rgba8", Width: 7, Height: 5, Levels: 3},
	{Dim: "3D", Format: "rg16f", Width: 4, Height: 3, Depth: 5, Levels: 2},
	{Dim: "Cube", Format: "r32f", Width: 4, Height: 4},
	{Dim: "1DArray", Format: "r8i", Width: 9, Depth: 3},
	{Dim: "2DArray", Format: "rgb10_a2ui", Width: 3, Height: 2, Depth: 4, Levels: 2},
	{Dim: "CubeArray", Format: "rgba32f", Width: 2, Height: 2, Depth: 2},
	{Format: "depth_component32f", Width: 4, Height: 4},
	{Format: "srgb8_alpha8", Width: 300, Height: 200},
}

// imageJob adds 1 to each texel of an r32ui image of 16 by 8.
func (r *run) imageJob(t job.Texture) *job.Job {
	return &job.Job{Dispatch: job.Dispatch{
		Program: r.get(shader.MustSource("pictured", `
layout(local_size_x = 8, local_size_y = 8) in;
layout(r32ui, binding = 2) uniform uimage2D picture;
void main() { ivec2 at = ivec2(gl_GlobalInvocationID.xy); imageStore(picture, at, imageLoad(picture, at) + 1u); }`, nil)),
		Groups: [3]uint32{2, 1, 1}, Images: []job.Image{{Name: "picture", Texture: t}},
	}}
}

// textures are cases of textures, images and samplers.
func textures() (list []testCase) {
	for _, s := range shapes {
		list = append(list, testCase{name: fmt.Sprintf("a %s texture of %s", s.WithDefaults().Dim, s.Format), do: func(r *run) { r.transfers(s) }})
	}
	return append(list, []testCase{
		{name: "an image", do: func(r *run) {
			t := r.texture(texel.Shape{Format: "r32ui", Width: 16, Height: 8})
			j := r.imageJob(t)
			j.Then = []job.Dispatch{j.Dispatch}
			r.do(j)
			r.ok(t.Write(r.Context(), texel.Region{X: 1, Y: 2, Width: 2, Height: 1}, bytesOf([]uint32{40, 50})))
			r.do(j)
			want := slices.Repeat([]uint32{4}, 16*8)
			want[2*16+1], want[2*16+2] = 42, 52
			if !bytes.Equal(r.texels(t, 0), bytesOf(want)) {
				r.Errorf("the texels are %x", r.texels(t, 0))
			}
		}},
		{name: "an image by its unit as another format", do: func(r *run) {
			t := r.texture(texel.Shape{Format: "rgba8", Width: 16, Height: 8})
			j := r.imageJob(t)
			j.Images = []job.Image{{Binding: 2, Texture: t, Format: "r32ui"}}
			r.do(j)
			r.note("%x", r.texels(t, 0)[:8])
			j.Images[0].Format = ""
			r.refuse(j, job.ErrInvalid, "image picture (uimage2D, unit 2): the program declares r32ui and the image is rgba8; Image.Format can read its bits as r32ui")
			j.Images[0].Format = "r16ui"
			r.refuse(j, job.ErrInvalid, "the program declares r32ui and the image is r16ui")
		}},
		{name: "levels and layers as images", do: func(r *run) {
			t := r.texture(texel.Shape{Dim: "2DArray", Format: "r32ui", Width: 32, Height: 16, Depth: 3, Levels: 2})
			j := r.imageJob(t)
			j.Images[0].Level, j.Images[0].Layer = 1, 2
			r.do(j)
			r.note("%x %x", r.texels(t, 0)[:8], r.texels(t, 1)[2*16*8*4-8:2*16*8*4+8])
			j.Images[0].Layer = 3
			r.refuse(j, job.ErrInvalid, "layer 3 of 3")
			j.Images[0].Layer, j.Images[0].Level = 0, 2
			r.refuse(j, job.ErrInvalid, "level 2 of a texture with 2")
			j.Images[0].Level, j.Images[0].Access = 0, "read"
			r.refuse(j, job.ErrInvalid, `there is no access "read"`)
		}},
		{name: "a sampler", do: func(r *run) {
			t := r.texture(texel.Shape{Format: "rgba8", Width: 2, Height: 1})
			r.ok(t.Write(r.Context(), texel.Region{}, []byte{0, 0, 0, 0, 200, 100, 0, 255}))
			j, got := r.job(4, "uniform sampler2D from;", `for (int i = 0; i < 4; i++) y[i] = uint(textureLod(from, vec2(float(i) * 0.25 + 0.25, 0.5), 0.0).r * 255.0 + 0.5);`)
			j.Textures = []job.Sampled{{Name: "from", Texture: t}}
			r.do(j)
			r.note("nearest %v", got)
			j.Textures[0].Sampler = texel.Sampler{Min: "linear", Mag: "linear"}.Wrapped("repeat")
			r.do(j)
			r.same(got, []uint32{0, 100, 200, 100})
			j.Textures[0].Sampler.Wrap[0] = "border"
			r.do(j)
			r.note("at the border %v", got)
			j.Textures[0].Sampler.Wrap[1] = "clamp"
			r.refuse(j, job.ErrInvalid, "a sampler cannot have")
			j.Textures[0].Sampler = texel.Sampler{Compare: "<"}
			r.refuse(j, job.ErrInvalid, "shadow samplers, and no others, need Sampler.Compare")
			j.Textures = nil
			r.refuse(j, job.ErrInvalid, `sampler from (sampler2D, unit 0) is not bound: Dispatch.Textures needs a Sampled with the Name "from" or the Binding 0`)
		}},
		{name: "samplers at one unit", do: func(r *run) {
			t := r.texture(texel.Shape{Format: "r8", Width: 1, Height: 1})
			r.ok(t.Write(r.Context(), texel.Region{}, []byte{2}))
			j, got := r.job(2, "layout(binding = 3) uniform sampler2D a, b;",
				"y[0] = uint(texelFetch(a, ivec2(0), 0).r * 255.0 + 0.5); y[1] = uint(texelFetch(b, ivec2(0), 0).r * 255.0 + 0.5);")
			j.Textures = []job.Sampled{{Name: "a", Texture: t}, {Name: "b", Texture: t}}
			r.refuse(j, job.ErrInvalid, "(sampler2D, unit 3) shares its unit with another")
			j.Textures = []job.Sampled{{Binding: 3, Texture: t}}
			r.do(j)
			r.same(got, []uint32{2, 2})
		}},
		{name: "more states of samplers than a device keeps", do: func(r *run) {
			t := r.texture(texel.Shape{Format: "rgba8", Width: 1, Height: 1})
			r.ok(t.Write(r.Context(), texel.Region{}, []byte{255, 0, 0, 0}))
			j, got := r.job(2, "uniform sampler2D border, other;", "y[0] = uint(textureLod(border, vec2(1.5, 0.5), 0.0).r); y[1] = uint(textureLod(other, vec2(0.5), 0.0).r);")
			first, second := job.Sampled{Name: "border", Texture: t}, job.Sampled{Name: "other", Texture: t}
			first.Sampler = first.Sampler.Wrapped("border")
			filters, wraps := []string{"", "linear", "none"}, []string{"", "repeat", "mirror", "border"}
			for i := range 260 {
				second.Sampler = texel.Sampler{Min: filters[i>>6&1], Mag: filters[i>>7&1], Mip: filters[i>>8]}
				second.Sampler.Wrap = [3]string{wraps[i&3], wraps[i>>2&3], wraps[i>>4&3]}
				j.Textures = []job.Sampled{first, second}
				r.do(j)
				r.same(got, []uint32{0, 1})
			}
		}},
		{name: "a shadow sampler and one of integers", do: func(r *run) {
			t := r.texture(texel.Shape{Format: "depth_component32f", Width: 1, Height: 1})
			r.ok(t.Write(r.Context(), texel.Region{}, bytesOf([]uint32{0x3f000000}))) // 0.5
			j, got := r.job(2, "uniform sampler2DShadow depth;", "y[0] = uint(textureLod(depth, vec3(0.5, 0.5, 0.25), 0.0)); y[1] = uint(textureLod(depth, vec3(0.5, 0.5, 0.75), 0.0));")
			j.Textures = []job.Sampled{{Texture: t, Sampler: texel.Sampler{Compare: "<"}}}
			r.do(j)
			r.same(got, []uint32{1, 0})
			ids := r.texture(texel.Shape{Format: "r16i", Width: 2, Height: 1})
			r.ok(ids.Write(r.Context(), texel.Region{}, []byte{1, 0, 0xFE, 0xFF}))
			j, got = r.job(2, "uniform isampler2D ids[1];", "y[0] = uint(texelFetch(ids[0], ivec2(0), 0).r); y[1] = uint(texelFetch(ids[0], ivec2(1, 0), 0).r);")
			j.Textures = []job.Sampled{{Name: "ids[0]", Texture: ids}}
			r.do(j)
			r.same(got, []uint32{1, ^uint32(1)})
			j.Textures[0].Sampler.Mag = "linear"
			r.refuse(j, job.ErrInvalid, "integers cannot be filtered: take the nearest texel")
		}},
		{name: "texels of a job", do: func(r *run) { r.texelsOfJob() }},
		{name: "texels of a buffer", do: func(r *run) {
			t := r.texture(texel.Shape{Format: "r32ui", Width: 16, Height: 8})
			b := r.beside(t, 4*(16*8+256), counted(16*8)...)
			j := r.imageJob(t)
			add := r.increase(job.Bound{Buffer: b})
			j.Then = []job.Dispatch{j.Dispatch}
			j.Dispatch = add.Dispatch // which writes no texel
			j.TextureInputs = []job.TextureInput{{Texture: t, Buffer: b}}
			j.TextureOutputs = []job.TextureOutput{{Texture: t, Buffer: b, Offset: 1024 - 4}}
			r.do(j)
			r.do(r.increase(job.Bound{Buffer: b}))
			r.contents(b, 0, 16)
			r.contents(b, 1020, 16)
			j.TextureInputs[0].Offset = 4*16*8 + 4
			j.TextureOutputs[0].Offset = 1024 + 4
			r.refuse(j, job.ErrInvalid, "texture output 0: bytes 1028 to 1540 of 1536")
			j.TextureInputs[0].Offset = 2
			r.refuse(j, job.ErrInvalid, "texture input 0: offset 2 is not a multiple of 4")
			j.TextureInputs[0].Buffer = foreignBuffer{b}
			r.refuse(j, job.ErrInvalid, "the texture input 0 is not of this device")
		}},
		{name: "a picture through an image", do: func(r *run) {
			t := r.texture(texel.Shape{Format: "rgba8", Width: 16, Height: 8})
			in, out := image.NewNRGBA(image.Rect(0, 0, 16, 8)), image.NewNRGBA(image.Rect(0, 0, 16, 8))
			copy(in.Pix, numbers(len(in.Pix)))
			j := r.imageJob(t)
			j.Images[0].Format = "r32ui"
			j.TextureInputs = []job.TextureInput{{Texture: t, Picture: in}}
			j.TextureOutputs = []job.TextureOutput{{Texture: t, Picture: out}}
			r.do(j)
			r.note("%v %v", in.NRGBAAt(3, 4), out.NRGBAAt(3, 4))
			if want := (color.NRGBA{in.Pix[0] + 1, in.Pix[1], in.Pix[2], in.Pix[3]}); out.NRGBAAt(0, 0) != want {
				r.Errorf("got %v, want %v", out.NRGBAAt(0, 0), want)
			}
			j.TextureOutputs[0].Picture = image.NewNRGBA(image.Rect(0, 0, 17, 8))
			r.refuse(j, job.ErrInvalid, "texture output 0: the texels cannot be transferred")
		}},
		{name: "textures that the GPU has not", do: func(r *run) {
			for _, s := range []texel.Shape{
				{}, {Format: "rgba9"}, {Format: "r8", Width: -1}, {Format: "r8", Width: 1 << 40}, {Format: "r8", Width: 1<<32 + 1, Height: 1},
				{Format: "r8", Width: 4, Height: 4, Levels: 4}, {Dim: "Cube", Format: "r8", Width: 4, Height: 2}, {Dim: "2d", Format: "r8"},
				{Dim: "2DRect", Format: "r8"}, {Dim: "3D", Format: "depth_component16"}, {Dim: "1D", Format: "r8", Height: 2},
				{Format: "r8", Depth: 1 << 62},
			} {
				_, err := r.NewTexture(r.Context(), s)
				r.fails("NewTexture", err, job.ErrInvalid, "the device has no such texture")
			}
		}},
		{name: "textures that a job cannot bind", do: func(r *run) {
			t := r.texture(texel.Shape{Format: "r32ui", Width: 16, Height: 8})
			j := r.imageJob(foreignTexture{t})
			r.refuse(j, job.ErrInvalid, "the texture of image 0 is not of this device")
			j.Images[0].Texture = nil
			r.refuse(j, job.ErrInvalid, "the texture of image 0 is not of this device")
			j.Images[0].Texture, j.Textures = t, []job.Sampled{{Texture: foreignTexture{t}}}
			r.refuse(j, job.ErrInvalid, "the texture of sampler 0 is not of this device")
			j.Textures, j.TextureInputs = nil, []job.TextureInput{{Texture: foreignTexture{t}}}
			r.refuse(j, job.ErrInvalid, "the texture input 0 is not of this device")
			j.TextureInputs, j.TextureOutputs = nil, []job.TextureOutput{{}}
			r.refuse(j, job.ErrInvalid, "the texture output 0 is not of this device")
			j.TextureOutputs, j.Images[0].Texture = nil, r.texture(texel.Shape{Dim: "1D", Format: "r32ui", Width: 16})
			r.refuse(j, job.ErrInvalid, "the texture is 1D")
			j.Images[0].Texture = t
			t.Release()
			t.Release()
			r.refuse(j, job.ErrReleased, "texture of image 0")
			r.fails("Read", t.Read(r.Context(), texel.Region{}, make([]byte, 16*8*4)), job.ErrReleased)
			r.fails("Write", t.Write(r.Context(), texel.Region{}, make([]byte, 16*8*4)), job.ErrReleased)
		}},
	}...)
}

// transfers writes and reads parts of a texture, which is zero at first, and what is around stays.
func (r *run) transfers(s texel.Shape) {
	for range 2 { // the second has the memory of the first, on some drivers
		t, err := r.NewTexture(r.Context(), s)
		r.ok(err)
		s := t.Shape()
		for level := range s.Levels {
			if got := r.texels(t, level); !bytes.Equal(got, make([]byte, len(got))) {
				r.Fatalf("level %d of a new texture is %x", level, got[:min(64, len(got))])
			}
			w, h, d := s.LevelSize(level)
			whole := numbers(len(r.texels(t, level)))
			r.ok(t.Write(r.Context(), texel.Region{Level: level}, whole))
			part := texel.Region{Level: level, X: w / 2, Y: h / 2, Z: d / 2}
			n, err := s.RegionBytes(part)
			r.ok(err)
			r.ok(t.Write(r.Context(), part, bytes.Repeat([]byte{0x22}, n)))
			got := make([]byte, n)
			r.ok(t.Read(r.Context(), part, got))
			r.note("level %d has %d bytes: %.40x, and a part %.16x", level, len(whole), r.texels(t, level), got)
			part.Width = w + 1
			r.fails("Read beyond", t.Read(r.Context(), part, got), job.ErrInvalid, "texels")
			part = texel.Region{Level: level, X: -1}
			r.fails("Write before", t.Write(r.Context(), part, got), job.ErrInvalid, "texels -1,0,0")
			r.fails("Write less", t.Write(r.Context(), texel.Region{Level: level}, whole[1:]), job.ErrInvalid, "bytes, the texels of the region have")
			r.fails("Read more", t.Read(r.Context(), texel.Region{Level: level}, make([]byte, len(whole)+1)), job.ErrInvalid, "bytes, the texels of the region have")
		}
		r.fails("Read", t.Read(r.Context(), texel.Region{Level: s.Levels}, make([]byte, 4)), job.ErrInvalid, "level")
		t.Release()
	}
}

// texelsOfJob copies texels to a texture and from it with a job: small and large ones, in each way.
func (r *run) texelsOfJob() {
	for _, height := range []int{8, 4 << 10} { // 512 bytes, and more than goes inline
		t := r.texture(texel.Shape{Format: "r32ui", Width: 16, Height: height})
		in, out := counted(16*height), poisoned(16*height)
		j := r.imageJob(t)
		j.Groups[1] = uint32(height / 8)
		j.TextureInputs = []job.TextureInput{{Texture: t, Texels: bytesOf(in)}}
		half := poisoned(8 * height)
		j.TextureOutputs = []job.TextureOutput{{Texture: t, To: bytesOf(out)}, {Texture: t, Region: texel.Region{Y: height / 2}, To: bytesOf(half)}}
		r.do(j)
		for i := range in {
			in[i]++
		}
		r.same(out, in)
		r.same(half, in[8*height:])
		filled, read := 0, 0
		j.TextureInputs[0] = job.TextureInput{Texture: t, Fill: func(dst []byte) { filled += copy(dst, bytesOf(in)) }}
		j.TextureOutputs = []job.TextureOutput{{Texture: t, Read: func(src []byte) { read += copy(bytesOf(out), src) }}}
		r.do(j)
		for i := range in {
			in[i]++
		}
		r.same(out, in)
		r.note("%d bytes filled, %d read", filled, read)
		j.TextureInputs[0].Texels = bytesOf(in)
		r.refuse(j, job.ErrInvalid, "texture input 0: has 2 of a slice, a picture, a function and a buffer, and needs one")
		j.TextureInputs[0] = job.TextureInput{Texture: t, Texels: bytesOf(in)[4:]}
		r.refuse(j, job.ErrInvalid, "texture input 0", "bytes, the texels of the region have")
		j.TextureInputs[0] = job.TextureInput{Texture: t, Texels: bytesOf(in), Region: texel.Region{X: 1 << 31}}
		r.refuse(j, job.ErrInvalid, "texture input 0: the texels cannot be transferred")
	}
}
