//go:build linux && cgo

package glctx_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/shader"
)

// copyImage copies every texel of an image to another, through the units of its names.
const copyImage = `
layout(local_size_x = 8, local_size_y = 8) in;
layout(FORMAT, binding = 1) uniform restrict readonly IMAGE from;
layout(FORMAT, binding = 4) uniform restrict writeonly IMAGE to;
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (all(lessThan(at, imageSize(from)))) {
        imageStore(to, at, imageLoad(from, at));
    }
}`

var imagePrefix = map[string]string{"float": "", "int": "i", "uint": "u"}

// randomTexels returns texels that every driver passes on bit by bit: no NaN, no
// infinity, no negative zero, no number too small, and no lowest signed number, which is
// one of two for -1.
func randomTexels(f texel.Format, n int, seed uint64) []byte {
	random := rand.New(rand.NewPCG(seed, 18))
	b := make([]byte, n*f.Bytes())
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	switch f {
	case "rgba32f", "rg32f", "r32f", "depth_component32f":
		for i := 3; i < len(b); i += 4 {
			b[i-1], b[i] = b[i-1]&0x7f, 0x3f // 0.5 to 1
		}
	case "rgba16f", "rg16f", "r16f":
		for i := 1; i < len(b); i += 2 {
			b[i] = b[i]&0x3f | 0x04
		}
	case "r11f_g11f_b10f":
		for i := 0; i < len(b); i += 4 {
			word := random.Uint32()&(0x3f|0x3f<<11|0x1f<<22) | 15<<6 | 15<<17 | 15<<27 // 1 to 2
			b[i], b[i+1], b[i+2], b[i+3] = byte(word), byte(word>>8), byte(word>>16), byte(word>>24)
		}
	case "rgba8_snorm", "rg8_snorm", "r8_snorm", "rgba16_snorm", "rg16_snorm", "r16_snorm":
		for i := range b {
			b[i] &= 0x7f
		}
	}
	return b
}

func poisoned(n int) []byte { return bytes.Repeat([]byte{0xd5}, n) }

// TestImageFormats uploads random texels of every format, copies them
// with a program through images, where the format is one of images, and downloads them.
func TestImageFormats(t *testing.T) {
	c := gltest.Open(t)
	const width, height = 13, 9
	images := 0
	for i, f := range texel.Formats() {
		t.Run(string(f), func(t *testing.T) {
			var program uint32
			if !f.Sampled() {
				images++
				defines := shader.Defines{"FORMAT": string(f), "IMAGE": imagePrefix[f.Base()] + "image2D"}
				program = compile(t, c, shader.MustSource("copy", copyImage, defines))[0].ID
			}
			want := randomTexels(f, width*height, uint64(i))
			got := poisoned(len(want))
			err := c.Do(func(gl *glctx.GL) error {
				from, to, err := twoTextures(gl, texel.Shape{Format: f, Width: width, Height: height})
				if err != nil {
					return err
				}
				defer gl.DeleteTexture(from)
				defer gl.DeleteTexture(to)
				if err := gl.UploadTexture(from, texel.Region{}, want); err != nil {
					return err
				}
				if err := gl.ClearTexture(to, texel.Region{}, randomTexels(f, 1, 99)); err != nil {
					return err
				}
				if program == 0 {
					return gl.DownloadTexture(from, texel.Region{}, got)
				}
				gl.UseProgram(program)
				gl.BindImage(1, from, 0, texel.AllLayers, "readonly", f)
				gl.BindImage(4, to, 0, texel.AllLayers, "writeonly", f)
				gl.Dispatch((width+7)/8, (height+7)/8, 1)
				gl.MemoryBarrier(glctx.BarrierTextureUpdate)
				if err := gl.DownloadTexture(to, texel.Region{}, got); err != nil {
					return err
				}
				return gl.Err()
			})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("the texels are\n%x, want\n%x", got, want)
			}
		})
	}
	if images != 39 {
		t.Errorf("%d image formats, GL 4.5 has 39", images)
	}
}

func twoTextures(gl *glctx.GL, shape texel.Shape) (a, b glctx.Texture, err error) {
	if a, err = gl.NewTexture(shape); err != nil {
		return a, b, err
	}
	if b, err = gl.NewTexture(shape); err != nil {
		gl.DeleteTexture(a)
	}
	return a, b, err
}

// shapes has a texture of each kind, with levels where there can be some.
var shapes = []texel.Shape{
	{Dim: "1D", Width: 37, Levels: 3},
	{Dim: "2D", Width: 23, Height: 14, Levels: 2},
	{Dim: "3D", Width: 9, Height: 7, Depth: 6, Levels: 2},
	{Dim: "Cube", Width: 8, Height: 8, Levels: 2},
	{Dim: "1DArray", Width: 17, Depth: 5, Levels: 2},
	{Dim: "2DArray", Width: 11, Height: 6, Depth: 4, Levels: 2},
	{Dim: "CubeArray", Width: 4, Height: 4, Depth: 2, Levels: 2},
}

// TestTransfers writes a part of a level of each kind of texture, from host memory and
// from a buffer, and reads the level both ways: every byte is compared with a model.
func TestTransfers(t *testing.T) {
	c := gltest.Open(t)
	for _, format := range []texel.Format{"rgba8", "r16ui", "rg32f", "r8"} {
		for _, shape := range shapes {
			shape.Format = format
			t.Run(fmt.Sprint(shape.Dim, " ", format), func(t *testing.T) {
				if err := c.Do(func(gl *glctx.GL) error { return transfers(t, gl, shape) }); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

func transfers(t *testing.T, gl *glctx.GL, shape texel.Shape) error {
	x, err := gl.NewTexture(shape)
	if err != nil {
		return err
	}
	defer gl.DeleteTexture(x)
	size := x.Format.Bytes()
	for level := range x.Levels {
		w, h, d := x.LevelSize(level)
		whole := texel.Region{Level: level}
		model := randomTexels(x.Format, w*h*d, uint64(level))
		if err := gl.UploadTexture(x, whole, model); err != nil {
			return err
		}
		part := texel.Region{Level: level, X: w / 3, Y: h / 3, Z: d / 3, Width: w - w/3 - w/4, Height: max(1, h-h/3-h/4), Depth: max(1, d-d/3-d/4)}
		texels := randomTexels(x.Format, 4*w*h*d+64, 100)
		for _, throughBuffer := range []bool{false, true} {
			if err := put(gl, x, part, texels, throughBuffer); err != nil {
				return err
			}
			place(model, part, w, h, size, texels)
			texels = texels[size:] // other values for the other way
			for _, download := range []func(*glctx.GL, glctx.Texture, texel.Region, []byte) error{direct, throughPixelBuffer} {
				got := poisoned(len(model))
				if err := download(gl, x, whole, got); err != nil {
					return err
				}
				if !bytes.Equal(got, model) {
					t.Errorf("level %d, buffer %v: other texels", level, throughBuffer)
				}
			}
			got := poisoned(len(texels))
			if err := gl.DownloadTexture(x, part, got); err != nil {
				return err
			}
			checkPart(t, model, part, w, h, size, got)
		}
	}
	return gl.Err()
}

func put(gl *glctx.GL, x glctx.Texture, r texel.Region, texels []byte, throughBuffer bool) error {
	if !throughBuffer {
		return gl.UploadTexture(x, r, texels)
	}
	const offset = 64
	b, err := gl.NewBuffer(offset+len(texels), nil)
	if err != nil {
		return err
	}
	defer gl.DeleteBuffer(b)
	gl.Upload(b, offset, texels)
	return gl.CopyToTexture(x, r, b, offset)
}

func direct(gl *glctx.GL, x glctx.Texture, r texel.Region, dst []byte) error {
	return gl.DownloadTexture(x, r, dst)
}

func throughPixelBuffer(gl *glctx.GL, x glctx.Texture, r texel.Region, dst []byte) error {
	const offset = 128
	b, err := gl.NewBuffer(offset+len(dst), nil)
	if err != nil {
		return err
	}
	defer gl.DeleteBuffer(b)
	gl.Upload(b, 0, poisoned(b.Size))
	if err := gl.CopyFromTexture(x, r, b, offset); err != nil {
		return err
	}
	gl.MemoryBarrier(glctx.BarrierUpdate)
	gl.Download(b, offset, dst)
	return nil
}

// rows calls fn with each row of a region: its offset in the level and in memory.
func rows(r texel.Region, w, h, size int, fn func(at, there int)) {
	for z := range r.Depth {
		for y := range r.Height {
			fn((((r.Z+z)*h+r.Y+y)*w+r.X)*size, (z*r.Height+y)*r.Width*size)
		}
	}
}

func place(model []byte, r texel.Region, w, h, size int, texels []byte) {
	rows(r, w, h, size, func(at, there int) { copy(model[at:at+r.Width*size], texels[there:]) })
}

// checkPart compares a region in memory and that all else is still poisoned.
func checkPart(t *testing.T, model []byte, r texel.Region, w, h, size int, got []byte) {
	t.Helper()
	want := poisoned(len(got))
	rows(r, w, h, size, func(at, there int) { copy(want[there:there+r.Width*size], model[at:]) })
	if !bytes.Equal(got, want) {
		t.Errorf("%+v: the part differs", r)
	}
}

// TestWrongTexturesReachNoDriver gives shapes and regions that are wrong in one way each:
// the errors are typed, and GL has raised none.
func TestWrongTexturesReachNoDriver(t *testing.T) {
	c := gltest.Open(t)
	l := c.Info().Textures
	err := c.Do(func(gl *glctx.GL) error {
		for _, shape := range []texel.Shape{
			{}, {Format: "rgba9", Width: 1}, {Format: "r8", Width: -1}, {Format: "r8", Width: l.Size + 1, Height: 1},
			{Format: "r8", Width: 1, Depth: 2}, {Format: "r8", Dim: "1D", Width: 1, Height: 2},
			{Format: "r8", Dim: "Cube", Width: 4, Height: 5}, {Format: "r8", Dim: "Buffer", Width: 4},
			{Format: "r8", Dim: "2DArray", Width: 4, Height: 4, Depth: l.Layers + 1}, {Format: "r8", Width: 8, Height: 8, Levels: 5},
			{Format: "depth_component32f", Dim: "3D", Width: 4, Height: 4, Depth: 4},
		} {
			if x, err := gl.NewTexture(shape); !errors.Is(err, texel.ErrShape) {
				t.Errorf("%+v: %v", shape, err)
				gl.DeleteTexture(x)
			}
		}
		x, err := gl.NewTexture(texel.Shape{Format: "rgba8", Width: 8, Height: 4})
		if err != nil {
			return err
		}
		defer gl.DeleteTexture(x)
		b, err := gl.NewBuffer(8*4*4, nil)
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(b)
		texels := make([]byte, 8*4*4)
		for name, err := range map[string]error{
			"level":     gl.UploadTexture(x, texel.Region{Level: 1}, texels),
			"width":     gl.UploadTexture(x, texel.Region{X: 1, Width: 8}, texels),
			"negative":  gl.UploadTexture(x, texel.Region{Y: -1, Height: 1}, texels),
			"layer":     gl.UploadTexture(x, texel.Region{Z: 1}, texels),
			"bytes":     gl.UploadTexture(x, texel.Region{}, texels[:127]),
			"download":  gl.DownloadTexture(x, texel.Region{}, texels[:127]),
			"offset":    gl.CopyToTexture(x, texel.Region{}, b, 4),
			"no offset": gl.CopyToTexture(x, texel.Region{Width: 1, Height: 1}, b, -4),
			"clear":     gl.ClearTexture(x, texel.Region{}, texels[:3]),
		} {
			if !errors.Is(err, texel.ErrRegion) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if x.Aliases("rg8") || x.Aliases("srgb8_alpha8") || x.Aliases("") || !x.Aliases("rgba8ui") {
			t.Error("the formats that RGBA8 aliases are wrong")
		}
		return gl.Err()
	})
	if err != nil {
		t.Error(err)
	}
}

// TestClearTexture checks every texel after a clear of all and of a part.
func TestClearTexture(t *testing.T) {
	c := gltest.Open(t)
	err := c.Do(func(gl *glctx.GL) error {
		for _, shape := range shapes {
			shape.Format, shape.Levels = "rgba8", 1
			x, err := gl.NewTexture(shape)
			if err != nil {
				return err
			}
			w, h, d := x.LevelSize(0)
			all, other := []byte{1, 2, 3, 4}, []byte{5, 6, 7, 8}
			want := bytes.Repeat(all, w*h*d)
			part := texel.Region{X: 1, Y: min(1, h-1), Z: min(1, d-1), Width: 3, Height: max(1, h/2), Depth: max(1, d/2)}
			rows(part, w, h, 4, func(at, _ int) { copy(want[at:], bytes.Repeat(other, part.Width)) })
			got := poisoned(len(want))
			err = errors.Join(gl.ClearTexture(x, texel.Region{}, all), gl.ClearTexture(x, part, other),
				gl.DownloadTexture(x, texel.Region{}, got), gl.Err())
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %v", shape.Dim, err)
			}
			gl.DeleteTexture(x)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
