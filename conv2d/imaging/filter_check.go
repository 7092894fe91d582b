package imaging

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/shader"
)

// The picture of the check: no multiple of a work group's 16 by 8 pixels, and with two
// rows above those that are filtered.
const (
	checkWidth, checkHeight = 21, 15
	checkTop, checkRows     = 2, 11
)

// knownAnswer returns the check of the program for filters of a size, for programs that
// were loaded: a picture of random bytes, filtered by random weights of -1, 0 and 1, so
// that each byte of the answer is a whole number and is compared as it is.
func knownAnswer(c *glctx.Context, side int) shader.Check {
	return func(_ context.Context, program uint32) error {
		random := rand.New(rand.NewPCG(1, uint64(side)))
		picture := make([]byte, 4*checkWidth*checkHeight)
		for i := range picture {
			picture[i] = byte(random.Uint32())
		}
		weights := make([]float32, side*side)
		for i := range weights {
			weights[i] = float32(random.IntN(3) - 1)
		}
		got := make([]byte, 4*checkWidth*checkRows)
		err := c.Do(func(gl *glctx.GL) error { return filterKnown(gl, program, picture, weights, got) })
		if err != nil {
			return err
		}
		for i, want := range filteredBytes(picture, weights, side) {
			if got[i] != want {
				return fmt.Errorf("imaging: byte %d of a filtered picture is %d, should be %d", i, got[i], want)
			}
		}
		return nil
	}
}

// filterKnown filters the picture of the check.
func filterKnown(gl *glctx.GL, program uint32, picture []byte, weights []float32, got []byte) error {
	from, err := gl.NewTexture(texel.Shape{Format: "rgba8", Width: checkWidth, Height: checkHeight})
	if err != nil {
		return err
	}
	defer gl.DeleteTexture(from)
	to, err := gl.NewTexture(texel.Shape{Format: "rgba8", Width: checkWidth, Height: checkRows})
	if err != nil {
		return err
	}
	defer gl.DeleteTexture(to)
	whole := texel.Region{Width: checkWidth, Height: checkRows}
	if err := gl.UploadTexture(from, texel.Region{Width: checkWidth, Height: checkHeight}, picture); err != nil {
		return err
	}
	if err := gl.ClearTexture(to, whole, []byte{0xd5, 0x5d, 0xd5, 0x5d}); err != nil {
		return err
	}
	gl.UseProgram(program)
	set := func(name string, t shader.Type, values []byte) {
		gl.SetUniform(gl.UniformLocation(program, name), t, values)
	}
	set("valid", gl.UniformType(program, "valid"), glctx.Bytes([]int32{checkWidth, checkHeight}))
	gl.SetInt(gl.UniformLocation(program, "top"), checkTop)
	gl.SetInt(gl.UniformLocation(program, "rows"), checkRows)
	set("weights", gl.UniformType(program, "weights"), glctx.Bytes(weights))
	gl.BindTexture(0, from, glctx.Sampler{})
	gl.BindImage(0, to, 0, texel.AllLayers, "writeonly", "rgba8")
	gl.Dispatch((checkWidth+15)/16, (checkRows+7)/8, 1)
	gl.MemoryBarrier(glctx.BarrierTextureUpdate)
	if err := gl.DownloadTexture(to, whole, got); err != nil {
		return err
	}
	return gl.Err()
}

// filteredBytes returns what the program makes of the picture of the check.
func filteredBytes(picture []byte, weights []float32, side int) []byte {
	at := func(x, y, channel int) int {
		x, y = min(max(x, 0), checkWidth-1), min(max(y, 0), checkHeight-1)
		return int(picture[4*(y*checkWidth+x)+channel])
	}
	out := make([]byte, 0, 4*checkWidth*checkRows)
	for y := checkTop; y < checkTop+checkRows; y++ {
		for x := range checkWidth {
			for channel := range 3 {
				sum := 0
				for i, weight := range weights {
					sum += int(weight) * at(x+i%side-side/2, y+i/side-side/2, channel)
				}
				out = append(out, byte(min(max(sum, 0), 255)))
			}
			out = append(out, byte(at(x, y, 3)))
		}
	}
	return out
}
