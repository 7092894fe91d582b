//go:build linux

package executor

import (
	"bytes"
	"fmt"
	"image"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
)

// filterText adds a constant to each texel of a picture, modulo 256, and counts the odd
// ones.
const filterText = `
layout(local_size_x = 8, local_size_y = 8) in;
uniform usampler2D from;
layout(rgba8ui) uniform restrict writeonly uimage2D to;
layout(binding = 0) uniform atomic_uint pixels;
layout(binding = 0, offset = 8) uniform atomic_uint odd;
uniform uvec4 add[2];
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(at, imageSize(to)))) return;
    uvec4 v = texelFetch(from, at, 0) + add[0] + add[1];
    atomicCounterIncrement(pixels);
    if ((v.r & 1u) == 1u) atomicCounterIncrement(odd);
    imageStore(to, at, v & 255u);
}`

// frame is one job of filterText with what it has to compute.
type frame struct {
	width, height int
	in, out       []byte
	add           []uint32 // two uvec4
	counts        [3]uint32
	job           Job
	pending       Pending
}

func newFrame(t testing.TB, h *cache.Handle, from, to *Texture, number uint64) *frame {
	shape := from.Shape()
	random := rand.New(rand.NewPCG(number, 18))
	k := &frame{width: shape.Width, height: shape.Height, in: make([]byte, shape.Bytes()), out: make([]byte, shape.Bytes())}
	for i := range k.in {
		k.in[i] = byte(random.Uint32())
	}
	for range 8 {
		k.add = append(k.add, random.Uint32N(100))
	}
	k.poison()
	k.job = Job{
		Dispatch: Dispatch{
			Program: h, Groups: [3]uint32{uint32(k.width+7) / 8, uint32(k.height+7) / 8, 1},
			Textures: []Sampled{{Name: "from", Texture: from}},
			Images:   []Image{{Name: "to", Texture: to, Access: "writeonly"}},
			Uniforms: []job.Uniform{job.Uints("add", k.add...)},
		},
		Counters:       []Counter{{Binding: 0, Start: []uint32{100, 7}, To: k.counts[:]}},
		TextureInputs:  []TextureInput{{Texture: from, Texels: k.in}},
		TextureOutputs: []TextureOutput{{Texture: to, To: k.out}},
	}
	return k
}

func (k *frame) poison() {
	for i := range k.out {
		k.out[i] = 0xd5
	}
	for i := range k.counts {
		k.counts[i] = poisonWord
	}
}

// verify checks every byte and every counter.
func (k *frame) verify() error {
	odd := uint32(0)
	for i, v := range k.in {
		want := byte(uint32(v) + k.add[i%4] + k.add[4+i%4])
		if k.out[i] != want {
			return fmt.Errorf("byte %d is %d, not %d", i, k.out[i], want)
		}
		if i%4 == 0 && want&1 == 1 {
			odd++
		}
	}
	if want := [3]uint32{100 + uint32(k.width*k.height), 7, odd}; k.counts != want {
		return fmt.Errorf("the counters are %d, not %d", k.counts, want)
	}
	return nil
}

func (f *fixture) texture(shape texel.Shape) *Texture {
	f.t.Helper()
	t, err := f.NewTexture(shape)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(t.Release)
	return t
}

// modes are the ways in which jobs reach the GPU.
var modes = map[string]Options{
	"batches": {SlotBytes: 1 << 16, test: testOptions{poison: true}},
	"alone":   {SlotBytes: 1 << 16, Depth: 1, test: testOptions{poison: true}},
	"inPlace": {SlotBytes: 1 << 16, Depth: 1, test: testOptions{poison: true, inPlace: true}},
	"stages":  {SlotBytes: 1 << 16, Depth: 6, test: testOptions{poison: true, staged: true}},
}

// TestFramesThroughTextures keeps jobs in flight that share one pair of textures, or
// have a ring of them, and compares every texel and counter of each.
func TestFramesThroughTextures(t *testing.T) {
	for mode, options := range modes {
		for _, ring := range []int{1, 3} {
			t.Run(fmt.Sprint(mode, " ", ring), func(t *testing.T) {
				f := newFixture(t, options)
				h := f.program("filter", filterText, nil)
				var from, to []*Texture
				for range ring {
					shape := texel.Shape{Format: "rgba8ui", Width: 37, Height: 21}
					from, to = append(from, f.texture(shape)), append(to, f.texture(shape))
				}
				var frames []*frame
				for i := range 24 {
					k := newFrame(t, h, from[i%ring], to[i%ring], uint64(i))
					if err := f.SubmitInto(t.Context(), &k.job, &k.pending); err != nil {
						t.Fatal(err)
					}
					if frames = append(frames, k); i >= 4 {
						f.wait(&frames[i-4].pending)
					}
				}
				for i, k := range frames {
					if i >= len(frames)-4 {
						f.wait(&k.pending)
					}
					if err := k.verify(); err != nil {
						t.Errorf("frame %d: %v", i, err)
					}
				}
			})
		}
	}
}

// TestTexturesOutliveTheirRelease releases textures while jobs use them: they are
// deleted when the GPU has finished, and not before.
func TestTexturesOutliveTheirRelease(t *testing.T) {
	g := newGatedFence()
	f := newFixture(t, Options{test: testOptions{pollFence: g.pollFence}})
	h := f.program("filter", filterText, nil)
	shape := texel.Shape{Format: "rgba8ui", Width: 16, Height: 16}
	var frames []*frame
	for i := range 4 {
		from, err := f.NewTexture(shape)
		if err != nil {
			t.Fatal(err)
		}
		to, err := f.NewTexture(shape)
		if err != nil {
			t.Fatal(err)
		}
		k := newFrame(t, h, from, to, uint64(i))
		if i == 3 { // retained as what the program binds, not for a copy
			k.job.TextureInputs, k.job.TextureOutputs = nil, nil
		}
		k.pending = *f.submit(k.job)
		from.Release()
		to.Release()
		to.Release() // idempotent
		if _, err := f.Submit(t.Context(), k.job); err == nil {
			t.Error("a released texture was taken")
		}
		frames = append(frames, k)
	}
	if n := f.textures(); n != 8 {
		t.Errorf("%d textures live while jobs use them, want 8", n)
	}
	close(g.open)
	for i, k := range frames {
		f.wait(&k.pending)
		if err := k.verify(); err != nil && i != 3 {
			t.Error(err)
		}
	}
	if n := f.textures(); n != 0 {
		t.Errorf("%d textures are left", n)
	}
}

// textures returns the number of textures after what is posted to the GL thread.
func (f *fixture) textures() int64 {
	f.t.Helper()
	if err := f.context.Do(func(*glctx.GL) error { return nil }); err != nil {
		f.t.Fatal(err)
	}
	return f.context.Counters().Textures
}

// TestChainsOfTextures passes a picture through three dispatches, by image, sampler and
// layer, with a barrier where one is needed, and keeps one picture between jobs.
func TestChainsOfTextures(t *testing.T) {
	const double = `
layout(local_size_x = 8, local_size_y = 8) in;
layout(r32ui, binding = 0) uniform restrict readonly uimage2D from;
layout(r32ui, binding = 1) uniform restrict writeonly uimage2D to;
void main() { ivec2 at = ivec2(gl_GlobalInvocationID.xy); imageStore(to, at, imageLoad(from, at) * 2u + uint(at.x)); }`
	const sum = `
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 2) uniform usampler2DArray layers;
layout(r32ui, binding = 3) uniform restrict uimage2D total;
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    uint v = imageLoad(total, at).r;
    for (int i = 0; i < textureSize(layers, 0).z; i++) v += texelFetch(layers, ivec3(at, i), 0).r;
    imageStore(total, at, uvec4(v));
}`
	for mode, options := range modes {
		t.Run(mode, func(t *testing.T) {
			f := newFixture(t, options)
			doubled, summed := f.program("double", double, nil), f.program("sum", sum, nil)
			shape := texel.Shape{Format: "r32ui", Width: 16, Height: 16}
			in, total := f.texture(shape), f.texture(shape)
			shape.Dim, shape.Depth = "2DArray", 3
			layers := f.texture(shape)
			groups := [3]uint32{2, 2, 1}
			stepTo := func(from Image, layer int) Dispatch {
				from.Binding, from.Access = 0, "readonly"
				return Dispatch{Program: doubled, Groups: groups, Images: []Image{from, {Binding: 1, Texture: layers, Layer: layer, Access: "writeonly"}}}
			}
			texels, want, got := make([]uint32, 256), make([]uint32, 256), make([]uint32, 256)
			for number := range uint32(7) {
				for i := range texels {
					texels[i] = uint32(i)*31 + number
					x := uint32(i % 16)
					a := texels[i]*2 + x
					b := a*2 + x
					want[i] += a + b + b*2 + x
					got[i] = poisonWord
				}
				f.wait(f.submit(Job{
					Dispatch: stepTo(Image{Texture: in}, 0),
					Then: []Dispatch{
						stepTo(Image{Texture: layers, Layer: 0}, 1), stepTo(Image{Texture: layers, Layer: 1}, 2),
						{Program: summed, Groups: groups, Textures: []Sampled{{Binding: 2, Texture: layers}}, Images: []Image{{Binding: 3, Texture: total}}},
					},
					TextureInputs:  []TextureInput{{Texture: in, Fill: func(dst []byte) { copy(dst, glctx.Bytes(texels)) }}},
					TextureOutputs: []TextureOutput{{Texture: total, Read: func(src []byte) { copy(glctx.Bytes(got), src) }}},
				}))
				if !slices.Equal(got, want) {
					t.Fatalf("job %d: %v, want %v", number, got[:8], want[:8])
				}
			}
			got[0] = poisonWord
			if err := total.Read(t.Context(), texel.Region{}, glctx.Bytes(got)); err != nil || !slices.Equal(got, want) {
				t.Errorf("downloaded %v, %v", got[:8], err)
			}
		})
	}
}

// TestPicturesOfJobs copies a part of a picture in, brightens it, and gets a picture out.
func TestPicturesOfJobs(t *testing.T) {
	const brighten = `
layout(local_size_x = 8, local_size_y = 8) in;
layout(rgba8, binding = 0) uniform restrict image2D picture;
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (all(lessThan(at, imageSize(picture)))) imageStore(picture, at, 1.0 - imageLoad(picture, at));
}`
	f := newFixture(t, Options{})
	h := f.program("brighten", brighten, nil)
	in, out := image.NewNRGBA(image.Rect(5, 5, 25, 18)), image.NewNRGBA(image.Rect(0, 0, 20, 13))
	for i := range in.Pix {
		in.Pix[i], out.Pix[i] = byte(i*7), 0xd5
	}
	x := f.texture(texel.Shape{Format: "rgba8", Width: 20, Height: 13})
	f.wait(f.submit(Job{
		Dispatch:       Dispatch{Program: h, Groups: [3]uint32{3, 2, 1}, Images: []Image{{Texture: x}}},
		TextureInputs:  []TextureInput{{Texture: x, Picture: in}},
		TextureOutputs: []TextureOutput{{Texture: x, Picture: out}},
	}))
	for i, v := range in.Pix {
		if out.Pix[i] != 255-v {
			t.Fatalf("byte %d is %d, want %d", i, out.Pix[i], 255-v)
		}
	}
	// A job without work groups changes nothing.
	same := image.NewNRGBA(out.Rect)
	f.wait(f.submit(Job{
		Dispatch:       Dispatch{Program: h, Groups: [3]uint32{}, Images: []Image{{Texture: x}}},
		TextureOutputs: []TextureOutput{{Texture: x, Picture: same}},
	}))
	if !bytes.Equal(same.Pix, out.Pix) {
		t.Error("a job without work groups changed the texture")
	}
	// A picture that shrinks while the job runs is an error of Wait.
	p := f.submit(Job{
		Dispatch:       Dispatch{Program: h, Groups: [3]uint32{3, 2, 1}, Images: []Image{{Texture: x}}},
		TextureOutputs: []TextureOutput{{Texture: x, Picture: out}},
	})
	out.Rect.Max.X--
	wantError(t, p.Wait(t.Context()), "takes")
}

// TestUniformBlocksAndCountersInMemory binds three blocks of two dispatches, one of them
// device memory that a kernel of the same job has written, and counters that go on
// counting from job to job.
func TestUniformBlocksAndCountersInMemory(t *testing.T) {
	const write = `
layout(local_size_x = 4) in;
layout(std430, binding = 0) writeonly buffer To { uint to[]; };
uniform uint from;
void main() { to[gl_GlobalInvocationID.x] = from + gl_GlobalInvocationID.x; }`
	const add = `
layout(local_size_x = 4) in;
layout(std140, binding = 1) uniform A { uvec4 a; };
layout(std140, binding = 2) uniform B { uvec4 b; } more[2];
layout(std140, binding = 5) uniform C { uvec4 c; };
layout(binding = 1, offset = 4) uniform atomic_uint runs;
layout(std430, binding = 3) writeonly buffer Out { uint y[4]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    y[i] = a[i] + 10u * more[0].b[i] + 100u * more[1].b[i] + 1000u * c[i];
    atomicCounterIncrement(runs);
}`
	for mode, options := range modes {
		t.Run(mode, func(t *testing.T) {
			f := newFixture(t, options)
			writes, adds := f.program("write", write, nil), f.program("add", add, nil)
			align := f.info.UniformAlignment
			device, err := f.NewMemory(align + 16)
			if err != nil {
				t.Fatal(err)
			}
			defer device.Release()
			counters := f.buffer([]uint32{5, 6, 7})
			for number := range uint32(5) {
				got := []uint32{poisonWord, poisonWord, poisonWord, poisonWord}
				block := func(v uint32) []byte { return glctx.Bytes([]uint32{v, v + 1, v + 2, v + 3}) }
				job := Job{
					Dispatch: Dispatch{
						Program: writes, Groups: [3]uint32{1, 1, 1}, Uniforms: []job.Uniform{job.Uint("from", number)},
						Buffers: []Bound{{Binding: 0, Buffer: device, Offset: max(align, f.info.StorageAlignment) / align * align}},
					},
					Then: []Dispatch{{
						Program: adds, Groups: [3]uint32{1, 1, 1}, Params: block(1), ParamsBinding: 1,
						Blocks: []Block{{Binding: 2, Data: block(2)}, {Binding: 3, Data: block(number)}, {Binding: 5, Buffer: device, Offset: align}},
					}},
					Counters: []Counter{{Binding: 1, Buffer: counters.Memory}},
					Outputs:  []Output{{Binding: 3, To: glctx.Bytes(got)}},
				}
				f.wait(f.submit(job))
				for i := range uint32(4) {
					if want := 1 + i + 10*(2+i) + 100*(number+i) + 1000*(number+i); got[i] != want {
						t.Errorf("job %d: word %d is %d, want %d", number, i, got[i], want)
					}
				}
			}
			got := make([]uint32, 3)
			if err := counters.Download(t.Context(), 0, got); err != nil || !slices.Equal(got, []uint32{5, 6 + 20, 7}) {
				t.Errorf("the counters are %d, %v", got, err)
			}
		})
	}
}

// TestUniformsReachTheirDispatch sets vectors, matrices, arrays and members of structs.
func TestUniformsReachTheirDispatch(t *testing.T) {
	const text = `
layout(local_size_x = 1) in;
layout(std430, binding = 0) writeonly buffer Out { float y[]; };
struct Light { vec3 colour; ivec2 at; };
uniform Light lights[2];
uniform mat3x2 m; uniform dmat2 d; uniform bvec3 flags; uniform float weights[5]; uniform bool on; uniform uvec2 u;
void main() {
    int n = 0;
    for (int i = 0; i < 2; i++) for (int c = 0; c < 3; c++) y[n++] = lights[i].colour[c];
    for (int i = 0; i < 2; i++) for (int c = 0; c < 2; c++) y[n++] = lights[i].at[c];
    for (int c = 0; c < 3; c++) for (int r = 0; r < 2; r++) y[n++] = m[c][r];
    for (int c = 0; c < 2; c++) for (int r = 0; r < 2; r++) y[n++] = float(d[c][r]);
    for (int c = 0; c < 3; c++) y[n++] = float(flags[c]);
    for (int i = 0; i < 5; i++) y[n++] = weights[i];
    y[n++] = float(on); y[n++] = u.x; y[n++] = u.y;
}`
	f := newFixture(t, Options{})
	h := f.program("uniforms", text, nil)
	want := []float32{1, 2, 3, 4, 5, 6, -7, 8, 9, -10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 1, 0, 1, 21, 22, 23, 24, 25, 1, 26, 27}
	got := make([]float32, len(want)+1)
	for i := range got {
		got[i] = -1
	}
	f.wait(f.submit(Job{
		Dispatch: Dispatch{Program: h, Groups: [3]uint32{1, 1, 1}, Uniforms: []job.Uniform{
			job.Floats("lights[0].colour", 1, 2, 3), job.Floats("lights[1].colour", 4, 5, 6), job.Ints("lights[0].at", -7, 8), job.Ints("lights[1].at", 9, -10),
			job.Floats("m", 11, 12, 13, 14, 15, 16), job.Doubles("d", 17, 18, 19, 20), job.Bools("flags", true, false, true),
			job.Floats("weights[0]", 21, 22, 23, 24, 25, 99), job.Bool("on", true), job.Uints("u", 26, 27),
		}},
		Inputs:  nil,
		Outputs: []Output{{Binding: 0, To: glctx.Bytes(got)}},
	}))
	if !slices.Equal(got[:len(want)], want) {
		t.Errorf("%v, want %v", got[:len(want)], want)
	}
}

// TestCheckNamesTheTexture changes one thing of a valid job at a time. Nothing may be
// queued.
func TestCheckNamesTheTexture(t *testing.T) {
	const text = `
layout(local_size_x = 1) in;
layout(rgba8, binding = 2) uniform image2D pictures[2];
layout(r32f, binding = 1) uniform writeonly image3D volume;
layout(binding = 3) uniform sampler2D colours;
layout(binding = 4) uniform sampler2DArrayShadow shadows;
layout(binding = 5) uniform isampler2D ids;
layout(binding = 0) uniform atomic_uint counter;
layout(std140, binding = 6) uniform Block { vec4 b[2]; };
layout(std430, binding = 1) writeonly buffer Out { uint y[]; };
uniform vec4 tint; uniform mat3 turn; uniform float list[4];
void main() {
    vec4 v = imageLoad(pictures[0], ivec2(0)) + texture(colours, vec2(0)) + texture(shadows, vec4(0)) + vec4(texture(ids, vec2(0))) + tint + b[1];
    imageStore(pictures[1], ivec2(0), v * turn[2][1] * list[3] * list[0]); imageStore(volume, ivec3(0), v);
    y[0] = atomicCounterIncrement(counter);
}`
	f := newFixture(t, Options{SlotBytes: 4096})
	h := f.program("binds", text, nil)
	make1 := func(s texel.Shape) *Texture { return f.texture(s) }
	picture := make1(texel.Shape{Format: "rgba8", Width: 8, Height: 8, Levels: 2})
	words := make1(texel.Shape{Format: "r32ui", Width: 8, Height: 8})
	layers := make1(texel.Shape{Dim: "2DArray", Format: "rgba8", Width: 8, Height: 8, Depth: 3})
	volume := make1(texel.Shape{Dim: "3D", Format: "r32f", Width: 4, Height: 4, Depth: 4})
	depths := make1(texel.Shape{Dim: "2DArray", Format: "depth_component32f", Width: 4, Height: 4, Depth: 2})
	ids := make1(texel.Shape{Format: "r16i", Width: 4, Height: 4})
	released, err := f.NewTexture(texel.Shape{Format: "rgba8", Width: 8, Height: 8})
	if err != nil {
		t.Fatal(err)
	}
	released.Release()
	other, err := New(f.context, f.cache, Options{SlotBytes: 4096})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	others := (&fixture{Executor: other, t: t}).texture(texel.Shape{Format: "rgba8", Width: 8, Height: 8})
	memory := f.buffer(make([]uint32, 64))
	compare := texel.Sampler{Compare: "<"}
	linear := texel.Sampler{Min: "linear", Mag: "linear"}
	out := make([]byte, 4)
	texels := make([]byte, 8*8*4)
	valid := func() Job {
		return Job{
			Dispatch: Dispatch{
				Program: h, Groups: [3]uint32{1, 1, 1},
				Images:   []Image{{Name: "pictures", Texture: picture}, {Binding: 3, Texture: layers, Layer: 2}, {Name: "volume", Texture: volume}},
				Textures: []Sampled{{Name: "colours", Texture: picture, Sampler: linear}, {Binding: 4, Texture: depths, Sampler: compare}, {Name: "ids", Texture: ids}},
				Uniforms: []job.Uniform{job.Floats("tint", 1, 2, 3, 4), job.Floats("turn", make([]float32, 9)...), job.Floats("list", make([]float32, 4)...)},
				Blocks:   []Block{{Binding: 6, Data: make([]byte, 32)}},
			},
			Counters:       []Counter{{Binding: 0}},
			Outputs:        []Output{{Binding: 1, To: out}},
			TextureInputs:  []TextureInput{{Texture: picture, Texels: texels}},
			TextureOutputs: []TextureOutput{{Texture: picture, Region: texel.Region{Level: 1}, To: make([]byte, 64)}},
		}
	}
	f.wait(f.submit(valid()))
	byName, byUnit := valid(), valid()
	byName.Images[0].Name, byUnit.Images[0] = "pictures[0]", Image{Binding: 2, Texture: picture}
	f.wait(f.submit(byName))
	f.wait(f.submit(byUnit))
	before := f.Stats().Jobs
	for _, test := range []struct {
		want   string
		change func(j *Job)
	}{
		{`image pictures[0] (image2D, unit 2) is not bound: Dispatch.Images needs an Image with the Name "pictures[0]" or the Binding 2`, func(j *Job) { j.Images = j.Images[1:] }},
		{"image pictures[1] (image2D, unit 3) is not bound", func(j *Job) { j.Images[1].Binding = 9 }},
		{"image pictures[0] (image2D, unit 2) is bound twice", func(j *Job) { j.Images[1].Binding = 2 }},
		{"unit 2): there is no texture", func(j *Job) { j.Images[0].Texture = nil }},
		{"belongs to another executor", func(j *Job) { j.Images[0].Texture = others }},
		{"the texture was released", func(j *Job) { j.Images[0].Texture = released }},
		{"level 2 of a texture with 2", func(j *Job) { j.Images[0].Level = 2 }},
		{"level -1 of", func(j *Job) { j.Images[0].Level = -1 }},
		{"layer 3 of 3", func(j *Job) { j.Images[1].Layer = 3 }},
		{"layer -1 of 3", func(j *Job) { j.Images[1].Layer = -1 }},
		{"layer 1: the image has all layers", func(j *Job) { j.Images[2].Layer = 1 }},
		{"volume (image3D, unit 1): the texture is 2DArray", func(j *Job) { j.Images[2].Texture = layers }},
		{`there is no access "read"`, func(j *Job) { j.Images[0].Access = "read" }},
		{"declares rgba8 and the image is r32ui; Image.Format can read its bits as rgba8", func(j *Job) { j.Images[0].Texture = words }},
		{"declares rgba8 and the image is r8", func(j *Job) { j.Images[0].Format = "r8" }},
		{"depth_component32f is not a format of images", func(j *Job) { j.Images[0].Format = "depth_component32f" }},
		{"texels of r16i cannot be read as rgba8", func(j *Job) { j.Images[0].Texture, j.Images[0].Format = ids, "rgba8" }},
		{`sampler colours (sampler2D, unit 3) is not bound: Dispatch.Textures needs a Sampled with the Name "colours"`, func(j *Job) { j.Textures = j.Textures[1:] }},
		{"sampler colours (sampler2D, unit 3) is bound twice", func(j *Job) { j.Textures[1].Binding = 3 }},
		{"unit 3): the texture is 3D", func(j *Job) { j.Textures[0].Texture = volume }},
		{"unit 3): the texture's r16i is a format of int", func(j *Job) { j.Textures[0].Texture = ids }},
		{"unit 3): shadow samplers, and no others, need", func(j *Job) { j.Textures[0].Sampler = compare }},
		{"unit 4): shadow samplers, and no others, need", func(j *Job) { j.Textures[1].Sampler = linear }},
		{"unit 4): a shadow sampler needs a texture of depths, not of rgba8", func(j *Job) { j.Textures[1].Texture = layers }},
		{"unit 5): integers cannot be filtered", func(j *Job) { j.Textures[2].Sampler = linear }},
		{"a sampler cannot have", func(j *Job) { j.Textures[0].Sampler.Mip = "all" }},
		{"the atomic counters at binding 0 are not bound: Job.Counters needs", func(j *Job) { j.Counters = nil }},
		{"the atomic counters at binding 0 are bound twice", func(j *Job) { j.Counters = append(j.Counters, j.Counters[0]) }},
		{"counters at binding 0: has a Buffer beside", func(j *Job) { j.Counters[0] = Counter{Buffer: memory.Memory, To: []uint32{0}} }},
		{"counters at binding 0: offset 2", func(j *Job) { j.Counters[0] = Counter{Buffer: memory.Memory, Offset: 2} }},
		{"counters at binding 3: no program", func(j *Job) { j.Counters = append(j.Counters, Counter{Binding: 3}) }},
		{"uniform block Block (binding 6) has no Params and is not among Blocks", func(j *Job) { j.Blocks = nil }},
		{"uniform block Block (binding 6) is bound twice", func(j *Job) { j.Params, j.ParamsBinding = make([]byte, 32), 6 }},
		{"uniform block Block (binding 6) needs 32 bytes and is bound to 16", func(j *Job) { j.Blocks[0].Data = make([]byte, 16) }},
		{"has both Data and Buffer", func(j *Job) { j.Blocks[0].Buffer = memory.Memory }},
		{"offset 4 is not a multiple", func(j *Job) { j.Blocks[0] = Block{Binding: 6, Buffer: memory.Memory, Offset: 4} }},
		{"uniform tint has 1 elements of type vec4, 4 components, and was given 3", func(j *Job) { j.Uniforms[0] = job.Floats("tint", 1, 2, 3) }},
		{"uniform tint has 1 elements of type vec4, 4 components, and was given 8", func(j *Job) { j.Uniforms[0] = job.Floats("tint", make([]float32, 8)...) }},
		{"uniform tint is of type vec4 and was given int components", func(j *Job) { j.Uniforms[0] = job.Ints("tint", 1, 2, 3, 4) }},
		{"uniform turn has 1 elements of type mat3, 9 components, and was given 12", func(j *Job) { j.Uniforms[1] = job.Floats("turn", make([]float32, 12)...) }},
		{"uniform list[0] has 4 elements of type float, 4 components, and was given 3", func(j *Job) { j.Uniforms[2] = job.Floats("list", 1, 2, 3) }},
		{"uniform list[0] is not set; it is of type float", func(j *Job) { j.Uniforms = j.Uniforms[:2] }},
		{"texture input 0: there is no texture", func(j *Job) { j.TextureInputs[0].Texture = nil }},
		{"texture input 0: has 0 of a slice, a picture, a function and a buffer", func(j *Job) { j.TextureInputs[0].Texels = nil }},
		{"texture input 0: has 2 of", func(j *Job) { j.TextureInputs[0].Picture = image.NewGray(image.Rect(0, 0, 8, 8)) }},
		{"texture input 0: 255 bytes, the texels of the region have 256", func(j *Job) { j.TextureInputs[0].Texels = texels[1:] }},
		{"level 2 of 2", func(j *Job) { j.TextureInputs[0].Region.Level = 2 }},
		{"texels 1,0,0 and 8 by", func(j *Job) { j.TextureInputs[0].Region = texel.Region{X: 1, Width: 8} }},
		{"a picture of 9 by 8 pixels for a region of 8 by 0", func(j *Job) {
			j.TextureInputs[0] = TextureInput{Texture: picture, Picture: image.NewGray(image.Rect(0, 0, 9, 8)), Region: texel.Region{Width: 8}}
		}},
		{"r16i does not hold pictures", func(j *Job) {
			j.TextureInputs[0] = TextureInput{Texture: ids, Picture: image.NewGray(image.Rect(0, 0, 4, 4))}
		}},
		{"texture output 0: 63 bytes", func(j *Job) { j.TextureOutputs[0].To = make([]byte, 63) }},
		{"a slot has 4096 each way: raise SlotBytes", func(j *Job) { j.TextureInputs = slices.Repeat(j.TextureInputs, 17) }},
		{"has a GroupSize and the program declares its own", func(j *Job) { j.GroupSize = [3]uint32{8, 1, 1} }},
	} {
		j := valid()
		test.change(&j)
		_, err := f.Submit(t.Context(), j)
		wantError(t, err, test.want)
	}
	if n := f.Stats().Jobs - before; n != 0 {
		t.Errorf("%d jobs were queued", n)
	}
	f.wait(f.submit(valid()))
}

// TestTexturesRefuse checks the methods of a texture on their own.
func TestTexturesRefuse(t *testing.T) {
	f := newFixture(t, Options{})
	if _, err := f.NewTexture(texel.Shape{Format: "r8", Width: 1 << 30}); err == nil {
		t.Error("a texture of 2^30 texels was made")
	}
	x, err := f.NewTexture(texel.Shape{Format: "r8", Width: 4, Height: 2})
	if err != nil {
		t.Fatal(err)
	}
	want, got := []byte{1, 2, 3, 4, 5, 6, 7, 8}, bytes.Repeat([]byte{0xd5}, 8)
	if err := x.Write(t.Context(), texel.Region{}, want); err != nil {
		t.Fatal(err)
	}
	wantError(t, x.Write(t.Context(), texel.Region{}, want[1:]), "take 8 bytes")
	if err := x.Read(t.Context(), texel.Region{}, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	x.Release()
	wantError(t, x.Read(t.Context(), texel.Region{}, got), "was released")
}

// TestNewTexturesAreZero reads every level of textures whose memory was poisoned.
func TestNewTexturesAreZero(t *testing.T) {
	f := newFixture(t, Options{test: testOptions{poison: true}})
	for _, shape := range []texel.Shape{
		{Format: "rgba8", Width: 9, Height: 5, Levels: 4}, {Dim: "3D", Format: "r32f", Width: 3, Height: 3, Depth: 3, Levels: 2},
		{Dim: "1DArray", Format: "rg16i", Width: 5, Depth: 3}, {Dim: "CubeArray", Format: "rgb10_a2ui", Width: 2, Height: 2, Depth: 2},
		{Format: "depth_component16", Width: 3, Height: 3}, {Format: "srgb8_alpha8", Width: 3, Height: 3}, {Dim: "1D", Format: "r8", Width: 7},
	} {
		x := f.texture(shape)
		for level := range x.Shape().Levels {
			n, _ := x.Shape().RegionBytes(texel.Region{Level: level})
			got := bytes.Repeat([]byte{0xd5}, n)
			if err := x.Read(t.Context(), texel.Region{Level: level}, got); err != nil || !bytes.Equal(got, make([]byte, n)) {
				t.Errorf("%s, level %d: %v, %v", x.Shape().Dim, level, got, err)
			}
		}
	}
}

// TestTexturesAllocateNothing counts allocations of jobs with textures, counters and
// uniforms.
func TestTexturesAllocateNothing(t *testing.T) {
	f := newFixture(t, Options{SlotBytes: 1 << 16})
	shape := texel.Shape{Format: "rgba8ui", Width: 8, Height: 8}
	k := newFrame(t, f.program("filter", filterText, nil), f.texture(shape), f.texture(shape), 1)
	allocations := leastAllocations(200, func() {
		if err := f.SubmitInto(t.Context(), &k.job, &k.pending); err != nil {
			panic(err)
		}
		if err := k.pending.Wait(t.Context()); err != nil {
			panic(err)
		}
	})
	if allocations != 0 && !raceDetector {
		t.Errorf("%v allocations a job", allocations)
	}
	if err := k.verify(); err != nil {
		t.Error(err)
	}
}

// BenchmarkTextures measures jobs that copy texels in and out, in MB of texels a second,
// many in flight, with as many pairs of textures as the name has.
func BenchmarkTextures(b *testing.B) {
	for _, size := range []int{16, 256, 1024} {
		for _, ring := range []int{1, 3} {
			b.Run(fmt.Sprintf("%dx%d/%d", size, size, ring), func(b *testing.B) {
				f := newFixture(b, Options{SlotBytes: max(1<<20, size*size*4+4096)})
				h := f.program("filter", filterText, nil)
				var frames []*frame
				for i := range 6 {
					shape := texel.Shape{Format: "rgba8ui", Width: size, Height: size}
					if i < ring {
						frames = append(frames, newFrame(b, h, f.texture(shape), f.texture(shape), uint64(i)))
						continue
					}
					last := frames[i-ring].job
					frames = append(frames, newFrame(b, h, last.TextureInputs[0].Texture.(*Texture), last.TextureOutputs[0].Texture.(*Texture), uint64(i)))
				}
				b.SetBytes(int64(2 * size * size * 4))
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					k := frames[i%len(frames)]
					if k.pending.batch != nil {
						f.wait(&k.pending)
					}
					if err := f.SubmitInto(b.Context(), &k.job, &k.pending); err != nil {
						b.Fatal(err)
					}
				}
				for _, k := range frames {
					if k.pending.batch != nil {
						f.wait(&k.pending)
					}
					if err := k.verify(); err != nil {
						b.Error(err)
					}
				}
			})
		}
	}
}

// TestVariableGroupSize runs a program with work groups of several sizes, where the driver
// has them, and checks what is refused.
func TestVariableGroupSize(t *testing.T) {
	const text = `#version 450 core
#extension GL_ARB_compute_variable_group_size : require
layout(local_size_variable) in;
layout(std430, binding = 0) writeonly buffer Out { uint y[]; };
void main() { if (gl_GlobalInvocationID.x < y.length()) y[gl_GlobalInvocationID.x] = gl_LocalGroupSizeARB.x * 1000u + gl_LocalInvocationIndex; }`
	f := newFixture(t, Options{})
	if !f.info.VariableGroups {
		t.Skip("the driver has no GL_ARB_compute_variable_group_size")
	}
	h := f.program("variable", text, nil)
	if h.WorkGroup() != [3]uint32{} {
		t.Errorf("the work group is %d", h.WorkGroup())
	}
	got := make([]uint32, 100)
	job := Job{Dispatch: Dispatch{Program: h}, Outputs: []Output{{Binding: 0, To: glctx.Bytes(got)}}}
	for _, size := range []uint32{1, 7, 64, 100} {
		for i := range got {
			got[i] = poisonWord
		}
		job.Groups, job.GroupSize = [3]uint32{(100 + size - 1) / size, 1, 1}, [3]uint32{size, 1, 1}
		f.wait(f.submit(job))
		for i, v := range got {
			if want := size*1000 + uint32(i)%size; v != want {
				t.Fatalf("groups of %d: word %d is %d, want %d", size, i, v, want)
			}
		}
	}
	for want, change := range map[string]func(j *Job){
		"a GroupSize of 0 along x": func(j *Job) { j.GroupSize = [3]uint32{} },
		"along y":                  func(j *Job) { j.GroupSize[1] = 1 << 30 },
		"invocations, this device": func(j *Job) {
			j.GroupSize = [3]uint32{uint32(f.info.MaxVariableSize[0]), uint32(f.info.MaxVariableSize[1]), 1}
		},
		"cannot be dispatched": func(j *Job) { j.Indirect = &Indirect{Buffer: f.buffer(make([]uint32, 3)).Memory} },
	} {
		j := job
		change(&j)
		_, err := f.Submit(t.Context(), j)
		wantError(t, err, want)
	}
}

// TestBarriersFollowStores counts barriers: one before a job that samples what another has
// stored, none where nothing was, and one before an image is stored to again.
func TestBarriersFollowStores(t *testing.T) {
	const text = `
layout(local_size_x = 1) in;
layout(binding = 0) uniform usampler2D from;
layout(r32ui, binding = 0) uniform restrict writeonly uimage2D to;
void main() { imageStore(to, ivec2(0), texelFetch(from, ivec2(0), 0) + 1u); }`
	f := newFixture(t, Options{})
	h := f.program("step", text, nil)
	var x [6]*Texture
	for i := range x {
		x[i] = f.texture(texel.Shape{Format: "r32ui", Width: 1, Height: 1})
	}
	step := func(from, to *Texture) uint64 {
		before := f.Stats().Barriers
		f.wait(f.submit(Job{Dispatch: Dispatch{
			Program: h, Groups: [3]uint32{1, 1, 1},
			Textures: []Sampled{{Texture: from}}, Images: []Image{{Texture: to, Access: "writeonly"}},
		}}))
		return f.Stats().Barriers - before
	}
	step(x[5], x[4]) // the first job with textures has a barrier of all kinds
	for i, s := range []struct {
		from, to int
		barriers uint64
	}{{0, 1, 0}, {1, 2, 1}, {0, 3, 0}, {3, 5, 1}, {0, 4, 0}, {0, 4, 1}} {
		if n := step(x[s.from], x[s.to]); n != s.barriers {
			t.Errorf("step %d: %d barriers, want %d", i, n, s.barriers)
		}
	}
	got := []uint32{poisonWord}
	if err := x[5].Read(t.Context(), texel.Region{}, glctx.Bytes(got)); err != nil || got[0] != 2 {
		t.Errorf("the end of the chain is %d, %v", got[0], err)
	}
}
