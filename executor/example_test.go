package executor_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/testdata/scenetest"
)

// edges marks where the brightness of a picture changes.
const edges = `
layout(local_size_x = 8, local_size_y = 8) in;
layout(std430, binding = 0) readonly buffer Picture { uint pixels[]; };
layout(std430, binding = 1) writeonly buffer Edges { uint edges[]; };
uniform int width, height;

float brightness(ivec2 at) {
    at = clamp(at, ivec2(0), ivec2(width - 1, height - 1));
    return dot(unpackUnorm4x8(pixels[at.y * width + at.x]).rgb, vec3(0.299, 0.587, 0.114));
}

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (at.x < width && at.y < height) {
        float across = brightness(at + ivec2(1, 0)) - brightness(at - ivec2(1, 0));
        float down = brightness(at + ivec2(0, 1)) - brightness(at - ivec2(0, 1));
        edges[at.y * width + at.x] = packUnorm4x8(vec4(vec3(abs(across) + abs(down)), 1.0));
    }
}`

// Three frames of a sequence are in flight at any time: one is written in mapped
// memory, one is on the GPU, one is read. The frames are a camera's pan over a drawn
// scene.
func Example() {
	const width, height, frames = 96, 64, 8
	const frameBytes = 4 * width * height
	gpu, err := shadercache.Open(shadercache.Options{
		Cache:    cache.Options{MemoryOnly: true},
		Executor: executor.Options{SlotBytes: frameBytes, SlotJobs: 1},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer gpu.Close()
	program, err := gpu.Cache.Get(context.Background(), shader.MustSource("edges", edges, nil))
	if err != nil {
		log.Fatal(err)
	}
	defer program.Release()

	panorama := scenetest.Render(width+frames, height)
	strongest := make([]byte, frames)
	submit := func(frame int) (*executor.Pending, error) {
		return gpu.Executor.Submit(context.Background(), job.Job{
			Dispatch: job.Dispatch{
				Program:  program,
				Groups:   [3]uint32{(width + 7) / 8, (height + 7) / 8, 1},
				Uniforms: []job.Uniform{job.Int("width", width), job.Int("height", height)},
			},
			Inputs: []job.Input{{Binding: 0, Size: frameBytes, Fill: func(dst []byte) {
				for y := range height { // the only copy of the frame
					copy(dst[4*width*y:][:4*width], panorama.Pix[y*panorama.Stride+4*frame:])
				}
			}}},
			Outputs: []job.Output{{Binding: 1, Size: frameBytes, Read: func(src []byte) {
				for i := 0; i < len(src); i += 4 {
					strongest[frame] = max(strongest[frame], src[i])
				}
			}}},
		})
	}
	var inFlight []*executor.Pending
	finish := func() {
		if err := inFlight[0].Wait(context.Background()); err != nil {
			log.Fatal(err)
		}
		inFlight = inFlight[1:]
	}
	for frame := range frames {
		if len(inFlight) == 3 {
			finish()
		}
		p, err := submit(frame)
		if err != nil {
			log.Fatal(err)
		}
		inFlight = append(inFlight, p)
	}
	for len(inFlight) > 0 {
		finish()
	}
	found := 0
	for _, edge := range strongest {
		if edge > 128 {
			found++
		}
	}
	fmt.Println(found, "of", frames, "frames have a strong edge")
	// Output: 8 of 8 frames have a strong edge
}
