package executor_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/testdata/scenetest"
)

// Every frame of a sequence is convolved with a filter that stays on the device.
// The frames are a camera's pan over a drawn scene. While one is on the GPU the
// next is unpacked, and the one before is compared with the CPU's result, pixel by
// pixel.
func Example_frames() {
	gpu, err := shadercache.Open(shadercache.Options{Cache: cache.Options{MemoryOnly: true}})
	if err != nil {
		log.Fatal(err)
	}
	defer gpu.Close()

	const width, height, frames = 96, 64, 12
	emboss := conv2d.Problem{N: 1, C: 3, H: height, W: width, K: 3, R: 3, S: 3, PadH: 1, PadW: 1}
	filter := make([]float32, emboss.WeightsLen())
	for colour := range 3 { // each output channel uses its own input channel
		copy(filter[(3*colour+colour)*9:], []float32{-2, -1, 0, -1, 1, 1, 0, 1, 2})
	}
	plan, err := conv2d.NewPlan(context.Background(), gpu.Executor, gpu.Cache, []conv2d.Layer{{Shape: emboss.Shape()}}, conv2d.PlanOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Release()
	if _, err := plan.SetWeights(context.Background(), 1, filter, nil); err != nil {
		log.Fatal(err)
	}

	panorama := scenetest.Render(width+frames, height)
	type frame struct {
		input, output []float32
		pending       *executor.Pending
	}
	start := func(number int) *frame {
		f := &frame{input: make([]float32, emboss.InputLen()), output: make([]float32, emboss.OutputLen())}
		for i := range width * height {
			x, y := i%width, i/width
			pixel := panorama.NRGBAAt(x+number, y)
			for colour, value := range []uint8{pixel.R, pixel.G, pixel.B} {
				f.input[colour*width*height+i] = float32(value) / 255
			}
		}
		job, err := plan.Job(f.input, f.output)
		if err != nil {
			log.Fatal(err)
		}
		if f.pending, err = gpu.Executor.Submit(context.Background(), job); err != nil {
			log.Fatal(err)
		}
		return f
	}
	right := 0
	finish := func(f *frame) {
		if err := f.pending.Wait(context.Background()); err != nil {
			log.Fatal(err)
		}
		want := conv2d.ReferenceConv2D(emboss, f.input, filter, nil)
		if conv2d.Compare(f.output, want, plan.Info().Layers[0].Tolerance).OK() {
			right++
		}
	}
	var inFlight []*frame
	for number := range frames {
		if inFlight = append(inFlight, start(number)); len(inFlight) == 3 {
			finish(inFlight[0])
			inFlight = inFlight[1:]
		}
	}
	for _, f := range inFlight {
		finish(f)
	}
	fmt.Println(right, "of", frames, "frames are right in every pixel")
	// Output: 12 of 12 frames are right in every pixel
}
