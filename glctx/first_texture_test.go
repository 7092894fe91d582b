//go:build linux && cgo

package glctx_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/shader"
)

// BenchmarkFirstCombination measures dispatches of a primed program with a sampler and an
// image: the first and the second with one format, the first with another format, with
// another sampler, with sizes that are no powers of two, and with one that DispatchNone has
// prepared. A driver that makes machine code for them takes longer for those.
func BenchmarkFirstCombination(b *testing.B) {
	c := gltest.Open(b)
	total := map[string]time.Duration{}
	for i := 0; b.Loop(); i++ {
		text := fmt.Sprintf(`
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0) uniform sampler2D from;
layout(binding = 0) uniform restrict writeonly image2D to;
void main() {
    vec4 sum = vec4(%d.0);
    for (int i = 0; i < 9; i++) sum += textureLod(from, (vec2(gl_GlobalInvocationID.xy) + float(i)) / 64.0, 0.0);
    imageStore(to, ivec2(gl_GlobalInvocationID.xy), sum);
}`, time.Now().UnixNano()%1e9+int64(i))
		var p shader.Program
		c.Compile(b.Context(), []*shader.Source{shader.MustSource("first", text, nil)}, func(_ int, made shader.Program, err error) {
			if err != nil {
				b.Fatal(err)
			}
			p = made
		})
		total["prime"] += time.Duration(p.PrimeNanos)
		err := c.Do(func(gl *glctx.GL) error {
			linear, err := gl.NewSampler(texel.Sampler{Min: "linear", Mag: "linear"})
			if err != nil {
				return err
			}
			defer gl.DeleteSampler(linear)
			for _, step := range []struct {
				name    string
				format  texel.Format
				side    int
				sampler glctx.Sampler
			}{
				{"first", "rgba8", 64, glctx.Sampler{}}, {"second", "rgba8", 64, glctx.Sampler{}}, {"format", "rgba16f", 64, glctx.Sampler{}},
				{"sampler", "rgba8", 64, linear}, {"size", "rgba8", 60, glctx.Sampler{}}, {"prepared", "r8", 64, glctx.Sampler{}},
			} {
				from, to, err := twoTextures(gl, texel.Shape{Format: step.format, Width: step.side, Height: step.side})
				if err != nil {
					return err
				}
				gl.UseProgram(p.ID)
				gl.BindTexture(0, from, step.sampler)
				gl.BindImage(0, to, 0, texel.AllLayers, "writeonly", step.format)
				if step.name == "prepared" {
					gl.DispatchNone()
				}
				gl.Finish()
				began := time.Now()
				gl.Dispatch(8, 8, 1)
				gl.Finish()
				total[step.name] += time.Since(began)
				gl.DeleteTexture(from)
				gl.DeleteTexture(to)
			}
			return gl.Err()
		})
		if err != nil {
			b.Fatal(err)
		}
		c.Delete(p.ID)
	}
	for name, d := range total {
		b.ReportMetric(float64(d.Microseconds())/1000/float64(b.N), name+"-ms")
	}
}
