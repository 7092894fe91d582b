package executor_test

import (
	"context"
	"fmt"
	"image"
	"log"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/testdata/scenetest"
)

// trailText blurs a frame along its rows and counts the bright pixels. The sampler reads
// between two texels, so that 3 reads see 5 of them.
const trailText = `
layout(local_size_x = 16, local_size_y = 8) in;
layout(binding = 0) uniform sampler2D frame;
layout(rgba8, binding = 0) uniform restrict writeonly image2D filtered;
layout(binding = 0) uniform atomic_uint bright;
uniform vec3 weights; // of the texels at 0, +-1 and +-2
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    ivec2 size = imageSize(filtered);
    if (any(greaterThanEqual(at, size))) return;
    vec2 texel = 1.0 / vec2(size), here = (vec2(at) + 0.5) * texel;
    float both = weights.y + weights.z; // one read between the two
    vec2 step = vec2((1.0 + weights.z / both) * texel.x, 0);
    vec4 c = weights.x * textureLod(frame, here, 0.0)
           + both * (textureLod(frame, here - step, 0.0) + textureLod(frame, here + step, 0.0));
    if (c.r + c.g + c.b > 1.5) atomicCounterIncrement(bright);
    imageStore(filtered, at, vec4(c.rgb, 1));
}`

// A stream of frames goes through textures: while the GPU filters one, the next is copied
// in and the one before is compared with the CPU, pixel by pixel. Three pairs of textures
// keep three frames in flight.
func Example_video() {
	gpu, err := shadercache.Open(shadercache.Options{Cache: cache.Options{MemoryOnly: true}})
	if err != nil {
		log.Fatal(err)
	}
	defer gpu.Close()
	program, err := gpu.Cache.Get(context.Background(), shader.MustSource("trail", trailText, nil))
	if err != nil {
		log.Fatal(err)
	}
	defer program.Release()

	const width, height, frames, inFlight = 96, 64, 12, 3
	weights := []float32{0.4, 0.2, 0.1}
	panorama := scenetest.Render(width+4*frames, height)
	type slot struct {
		in, out  *executor.Texture
		frame    image.Image
		filtered *image.NRGBA
		bright   [1]uint32
		pending  executor.Pending
	}
	var ring [inFlight]slot
	for i := range ring {
		s := &ring[i]
		s.filtered = image.NewNRGBA(image.Rect(0, 0, width, height))
		for _, t := range []**executor.Texture{&s.in, &s.out} {
			if *t, err = gpu.Executor.NewTexture(texel.Shape{Format: "rgba8", Width: width, Height: height}); err != nil {
				log.Fatal(err)
			}
			defer (*t).Release()
		}
	}
	start := func(s *slot, number int) {
		s.frame = panorama.SubImage(image.Rect(4*number, 0, 4*number+width, height))
		err := gpu.Executor.SubmitInto(context.Background(), &job.Job{
			Dispatch: job.Dispatch{
				Program:  program,
				Groups:   [3]uint32{(width + 15) / 16, (height + 7) / 8, 1},
				Textures: []executor.Sampled{{Name: "frame", Texture: s.in, Sampler: texel.Sampler{Min: "linear", Mag: "linear", Mip: "none"}}},
				Images:   []executor.Image{{Name: "filtered", Texture: s.out, Access: "writeonly"}},
				Uniforms: []job.Uniform{job.Floats("weights", weights...)},
			},
			TextureInputs:  []executor.TextureInput{{Texture: s.in, Picture: s.frame}},
			TextureOutputs: []executor.TextureOutput{{Texture: s.out, Picture: s.filtered}},
			Counters:       []executor.Counter{{Binding: 0, To: s.bright[:]}},
		}, &s.pending)
		if err != nil {
			log.Fatal(err)
		}
	}
	right, bright := 0, uint32(0)
	for number := range frames + inFlight {
		s := &ring[number%inFlight]
		if number >= inFlight {
			if err := s.pending.Wait(context.Background()); err != nil {
				log.Fatal(err)
			}
			if err := compareTrail(s.frame, s.filtered, weights); err != nil {
				log.Fatal(err)
			}
			right++
			bright += s.bright[0]
		}
		if number < frames {
			start(s, number)
		}
	}
	fmt.Printf("%d frames of %dx%d are right, bright pixels were counted: %v\n", right, width, height, bright > 0)
	// Output: 12 frames of 96x64 are right, bright pixels were counted: true
}

// compareTrail compares every byte with the CPU's result. Samplers may round their
// weights to 8 bits, and the result is rounded: two levels in all.
func compareTrail(frame image.Image, filtered *image.NRGBA, weights []float32) error {
	in := frame.(*image.NRGBA)
	size := filtered.Rect.Size()
	for i, got := range filtered.Pix {
		x, y, c := i/4%size.X, i/4/size.X, i%4
		sum := float32(0)
		for d := -2; d <= 2; d++ {
			across := min(max(x+d, 0), size.X-1) // the sampler is clamped to the edge
			sum += weights[max(d, -d)] * float32(in.Pix[in.PixOffset(in.Rect.Min.X+across, in.Rect.Min.Y+y)+c])
		}
		if c == 3 {
			sum = 255
		}
		if difference := float32(got) - sum; difference > 2 || difference < -2 {
			return fmt.Errorf("byte %d is %d, want %v", i, got, sum)
		}
	}
	return nil
}
