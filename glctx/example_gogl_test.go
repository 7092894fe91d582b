//go:build linux && cgo

package glctx_test

import (
	"fmt"
	"log"
	"unsafe"

	"github.com/go-gl/gl/v4.5-core/gl"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job/texel"
)

// Calls of go-gl work inside a callback, where the context is current: the library has
// loaded the entry points of v4.5-core already. Objects of both are GL names and mix.
func Example_goGL() {
	c, err := glctx.Open(glctx.Options{DriverCacheOff: true})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	err = c.Do(func(ours *glctx.GL) error {
		t, err := ours.NewTexture(texel.Shape{Format: "r8", Width: 2, Height: 2, Levels: 2})
		if err != nil {
			return err
		}
		defer ours.DeleteTexture(t)
		if err := ours.UploadTexture(t, texel.Region{}, []byte{10, 20, 30, 40}); err != nil {
			return err
		}

		// A framebuffer is nothing that this library has. Level 0 is averaged into level 1.
		var framebuffers [2]uint32
		gl.CreateFramebuffers(2, &framebuffers[0])
		defer gl.DeleteFramebuffers(2, &framebuffers[0])
		gl.NamedFramebufferTexture(framebuffers[0], gl.COLOR_ATTACHMENT0, t.ID, 0)
		gl.NamedFramebufferTexture(framebuffers[1], gl.COLOR_ATTACHMENT0, t.ID, 1)
		gl.BlitNamedFramebuffer(framebuffers[0], framebuffers[1], 0, 0, 2, 2, 0, 0, 1, 1, gl.COLOR_BUFFER_BIT, gl.LINEAR)

		// The library sets all pixel store parameters that its transfers need, and leaves
		// GL's defaults, no pixel buffer and no sampler bound.
		gl.PixelStorei(gl.PACK_SWAP_BYTES, 1)
		gl.PixelStorei(gl.PACK_ROW_LENGTH, 7)
		average := make([]byte, 1)
		if err := ours.DownloadTexture(t, texel.Region{Level: 1}, average); err != nil {
			return err
		}
		again := make([]byte, 4)
		gl.GetTextureImage(t.ID, 1, gl.RED, gl.UNSIGNED_BYTE, 4, unsafe.Pointer(&again[0]))
		var packed, unpack int32
		gl.GetIntegerv(gl.PACK_ROW_LENGTH, &packed)
		gl.GetIntegerv(gl.PIXEL_UNPACK_BUFFER_BINDING, &unpack)
		fmt.Println("the average is", average[0], again[0], "row length", packed, "pixel buffer", unpack)
		return ours.Err() // errors of go-gl's calls too
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: the average is 25 25 row length 0 pixel buffer 0
}
