//go:build linux && cgo

package glctx_test

import (
	"math"
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/shader"
)

const sampleAlong = `
layout(local_size_x = 64) in;
layout(binding = 3) uniform sampler2D from;
layout(binding = 4) uniform sampler2DShadow depths;
layout(std430, binding = 0) readonly buffer At { float x[]; };
layout(std430, binding = 1) writeonly buffer Out { vec2 y[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < x.length()) {
        y[i] = vec2(textureLod(from, vec2(x[i], 0.5), 0.0).r, textureLod(depths, vec3(x[i], 0.5, 0.5), 0.0));
    }
}`

// wrapped returns the index of texel i of n, -1 for the border.
func wrapped(w string, i, n int) int {
	switch w {
	case "repeat":
		return ((i % n) + n) % n
	case "mirror":
		i = ((i % (2 * n)) + 2*n) % (2 * n)
		return min(i, 2*n-1-i)
	case "border":
		if i < 0 || i >= n {
			return -1
		}
	}
	return min(max(i, 0), n-1)
}

// TestSamplers reads a row of texels between, at and beyond them, in every way to wrap,
// nearest and linear, and compares depths in every way. Coordinates where rounding
// decides are left out.
func TestSamplers(t *testing.T) {
	c := gltest.Open(t)
	program := compile(t, c, shader.MustSource("along", sampleAlong, nil))[0].ID
	texels := []float32{0.1, 0.9, 0.3, 0.5, 0.7}
	n := len(texels)
	var at []float32
	for x := float32(-1.47); x < 2.5; x += 0.0313 {
		if f := math.Mod(math.Abs(float64(x))*float64(n), 1); f > 0.03 && f < 0.97 && math.Abs(f-0.5) > 0.03 {
			at = append(at, x)
		}
	}
	texelAt := func(w string, i int) float64 {
		if i = wrapped(w, i, n); i < 0 {
			return 0
		}
		return float64(texels[i])
	}
	err := c.Do(func(gl *glctx.GL) error {
		colours, err := gl.NewTexture(texel.Shape{Format: "r32f", Width: n})
		if err != nil {
			return err
		}
		defer gl.DeleteTexture(colours)
		depths, err := gl.NewTexture(texel.Shape{Format: "depth_component32f", Width: n})
		if err != nil {
			return err
		}
		defer gl.DeleteTexture(depths)
		for _, x := range []glctx.Texture{colours, depths} {
			if err := gl.UploadTexture(x, texel.Region{}, glctx.Bytes(texels)); err != nil {
				return err
			}
		}
		in, err := gl.NewBuffer(4*len(at), glctx.Bytes(at))
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(in)
		out, err := gl.NewBuffer(8*len(at), nil)
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(out)
		for _, wrap := range []string{"", "repeat", "mirror", "border"} {
			for _, filter := range []string{"", "linear"} {
				for _, compare := range []string{"never", "<", "==", "<=", ">", "!=", ">=", "always"} {
					got, err := sampleWith(gl, program, colours, depths, in, out, len(at),
						texel.Sampler{Min: filter, Mag: filter}.Wrapped(wrap), texel.Sampler{Compare: compare}.Wrapped(wrap))
					if err != nil {
						return err
					}
					for i, x := range at {
						u := float64(x) * float64(n)
						want := texelAt(wrap, int(math.Floor(u)))
						shadow := compares(compare, 0.5, want)
						if filter == "linear" {
							low := math.Floor(u - 0.5)
							f := u - 0.5 - low
							want = texelAt(wrap, int(low))*(1-f) + texelAt(wrap, int(low)+1)*f
						}
						if d := math.Abs(float64(got[2*i]) - want); !(d < 0.004) {
							t.Errorf("wrap %q, filter %q, at %v: %v, want %v", wrap, filter, x, got[2*i], want)
						}
						if got[2*i+1] != shadow && wrap != "border" {
							t.Errorf("wrap %q, compare %q, at %v: %v, want %v", wrap, compare, x, got[2*i+1], shadow)
						}
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// compares returns 1 where the comparison of a reference with a depth is true.
func compares(c string, reference, depth float64) float32 {
	true1 := map[string]bool{
		"<": reference < depth, "==": reference == depth, "<=": reference <= depth, ">": reference > depth,
		"!=": reference != depth, ">=": reference >= depth, "always": true,
	}[c]
	if true1 {
		return 1
	}
	return 0
}

func sampleWith(gl *glctx.GL, program uint32, colours, depths glctx.Texture, in, out glctx.Buffer, n int, a, b texel.Sampler) ([]float32, error) {
	first, err := gl.NewSampler(a)
	if err != nil {
		return nil, err
	}
	defer gl.DeleteSampler(first)
	second, err := gl.NewSampler(b)
	if err != nil {
		return nil, err
	}
	defer gl.DeleteSampler(second)
	gl.Fill(out, 0x7fc0dead)
	gl.UseProgram(program)
	gl.BindStorage(0, in)
	gl.BindStorage(1, out)
	gl.BindTexture(3, colours, first)
	gl.BindTexture(4, depths, second)
	gl.Dispatch(uint32(n+63)/64, 1, 1)
	gl.MemoryBarrier(glctx.BarrierUpdate)
	got := make([]float32, 2*n)
	gl.Download(out, 0, glctx.Bytes(got))
	return got, gl.Err()
}

func TestSamplerStatesAreChecked(t *testing.T) {
	c := gltest.Open(t)
	err := c.Do(func(gl *glctx.GL) error {
		for _, s := range []texel.Sampler{{Min: "nearest"}, {Mag: "none"}, {Mip: "all"}, {Compare: "less"}, {Wrap: [3]string{"", "clamp", ""}}} {
			if sampler, err := gl.NewSampler(s); err == nil {
				t.Errorf("%+v made a sampler", s)
				gl.DeleteSampler(sampler)
			}
		}
		return gl.Err()
	})
	if err != nil {
		t.Error(err)
	}
}
