//go:build linux && cgo

package glctx

import (
	"fmt"
	"math"
	"unsafe"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
	"github.com/shadercache/shadercache/job/texel"
)

// inMemory returns a region without zeros. Its texels are in memory of n bytes from offset on,
// without padding.
func (t Texture) inMemory(r texel.Region, offset, n int) (texel.Region, error) {
	r, err := t.Within(r)
	if err != nil {
		return r, fmt.Errorf("glctx: %w", err)
	}
	if bytes := r.Width * r.Height * r.Depth * t.Format.Bytes(); offset < 0 || bytes > n-offset {
		return r, fmt.Errorf("glctx: %w: the texels take %d bytes from byte %d, there are %d", texel.ErrRegion, bytes, offset, n)
	}
	return r, nil
}

// UploadTexture copies texels without padding to a region, in order with other commands. It
// returns texel.ErrRegion, wrapped, for a region that is not in the texture, and for too few
// bytes.
func (gl *GL) UploadTexture(t Texture, r texel.Region, texels []byte) error {
	r, err := t.inMemory(r, 0, len(texels))
	if err != nil {
		return err
	}
	gl45.BindBuffer(gl45.PIXEL_UNPACK_BUFFER, 0)
	gl.unpack(t, r, unsafe.Pointer(unsafe.SliceData(texels)), 0)
	return nil
}

// DownloadTexture copies a region to dst without padding, after all earlier commands. It blocks
// the GL thread. After a program stored to the texture, a MemoryBarrier with
// BarrierTextureUpdate has to come first. It returns texel.ErrRegion, wrapped, as UploadTexture
// does.
func (gl *GL) DownloadTexture(t Texture, r texel.Region, dst []byte) error {
	r, err := t.inMemory(r, 0, len(dst))
	if err != nil {
		return err
	}
	count(gl.c, &gl.c.counted.Readbacks, 1)
	gl45.BindBuffer(gl45.PIXEL_PACK_BUFFER, 0)
	gl.pack(t, r, len(dst), unsafe.Pointer(unsafe.SliceData(dst)), 0)
	return nil
}

// CopyToTexture copies texels without padding from a buffer to a region on the device. offset is
// a multiple of 4. After a program wrote the buffer, a MemoryBarrier with
// BarrierTextureUpdate has to come first. Errors: see UploadTexture.
func (gl *GL) CopyToTexture(t Texture, r texel.Region, from Buffer, offset int) error {
	r, err := t.inBuffer(r, offset, from)
	if err != nil {
		return err
	}
	gl45.BindBuffer(gl45.PIXEL_UNPACK_BUFFER, from.ID)
	gl.unpack(t, r, nil, offset)
	gl45.BindBuffer(gl45.PIXEL_UNPACK_BUFFER, 0)
	return nil
}

// CopyFromTexture copies a region to a buffer on the device, without padding. offset is a
// multiple of 4. After a program stored to the texture, a MemoryBarrier with
// BarrierTextureUpdate has to come first. Errors: see UploadTexture.
func (gl *GL) CopyFromTexture(t Texture, r texel.Region, to Buffer, offset int) error {
	r, err := t.inBuffer(r, offset, to)
	if err != nil {
		return err
	}
	gl45.BindBuffer(gl45.PIXEL_PACK_BUFFER, to.ID)
	gl.pack(t, r, to.Size-offset, nil, offset)
	gl45.BindBuffer(gl45.PIXEL_PACK_BUFFER, 0)
	return nil
}

// inBuffer is inMemory for a buffer.
func (t Texture) inBuffer(r texel.Region, offset int, b Buffer) (texel.Region, error) {
	if offset%t.Format.Datum() != 0 {
		return r, fmt.Errorf("glctx: %w: texels of %s from byte %d: a multiple of %d is needed", texel.ErrRegion, t.Format, offset, t.Format.Datum())
	}
	return t.inMemory(r, offset, b.Size)
}

// pixelStore has the names of one direction's parameters: that of the alignment, and those that
// are 0 for texels without padding.
type pixelStore struct {
	alignment uint32
	others    [7]uint32
}

var (
	unpackStore = pixelStore{gl45.UNPACK_ALIGNMENT, [...]uint32{gl45.UNPACK_ROW_LENGTH, gl45.UNPACK_IMAGE_HEIGHT, gl45.UNPACK_SKIP_PIXELS,
		gl45.UNPACK_SKIP_ROWS, gl45.UNPACK_SKIP_IMAGES, gl45.UNPACK_SWAP_BYTES, gl45.UNPACK_LSB_FIRST}}
	packStore = pixelStore{gl45.PACK_ALIGNMENT, [...]uint32{gl45.PACK_ROW_LENGTH, gl45.PACK_IMAGE_HEIGHT, gl45.PACK_SKIP_PIXELS,
		gl45.PACK_SKIP_ROWS, gl45.PACK_SKIP_IMAGES, gl45.PACK_SWAP_BYTES, gl45.PACK_LSB_FIRST}}
)

// set describes texels without padding to GL. It relies on nothing that other code may have set.
func (p *pixelStore) set() {
	gl45.PixelStorei(p.alignment, 1)
	for _, name := range p.others {
		gl45.PixelStorei(name, 0)
	}
}

// reset sets what set has changed to GL's default.
func (p *pixelStore) reset() { gl45.PixelStorei(p.alignment, 4) }

// unpack copies to a texture from memory, or where that is nil from an offset in the bound buffer.
func (gl *GL) unpack(t Texture, r texel.Region, memory unsafe.Pointer, offset int) {
	unpackStore.set()
	_, client, clientType := t.Format.GL()
	sides, at, n := t.glBox(r)
	textureSubImage(sides, t.ID, int32(r.Level), at[0], at[1], at[2], n[0], n[1], n[2], client, clientType, memory, offset)
	gl.debugCheck("glTextureSubImage")
	unpackStore.reset()
}

// pack copies from a texture to memory of n bytes, or where that is nil to an offset in the bound
// buffer, from which it has n bytes.
func (gl *GL) pack(t Texture, r texel.Region, n int, memory unsafe.Pointer, offset int) {
	packStore.set()
	_, client, clientType := t.Format.GL()
	_, at, side := t.glBox(r)
	getTextureSubImage(t.ID, int32(r.Level), at[0], at[1], at[2], side[0], side[1], side[2], client, clientType,
		int32(min(n, math.MaxInt32)), memory, offset)
	gl.debugCheck("glGetTextureSubImage")
	packStore.reset()
}

// glBox returns a region as GL has it, where the layers of a 1D array are rows, and the
// number of sides that it counts.
func (t Texture) glBox(r texel.Region) (sides int, at, n [3]int32) {
	at, n = [3]int32{int32(r.X), int32(r.Y), int32(r.Z)}, [3]int32{int32(r.Width), int32(r.Height), int32(r.Depth)}
	switch t.Dim {
	case "1D":
		return 1, at, n
	case "2D":
		return 2, at, n
	case "1DArray":
		at[1], at[2], n[1], n[2] = at[2], 0, n[2], 1
		return 2, at, n
	}
	return 3, at, n
}

// ClearTexture sets every texel of a region to value, which has Format.Bytes bytes.
func (gl *GL) ClearTexture(t Texture, r texel.Region, value []byte) error {
	r, err := t.Within(r)
	if err == nil && len(value) != t.Format.Bytes() {
		err = fmt.Errorf("%w: a texel of %d bytes, %s has %d", texel.ErrRegion, len(value), t.Format, t.Format.Bytes())
	}
	if err != nil {
		return fmt.Errorf("glctx: %w", err)
	}
	_, client, clientType := t.Format.GL()
	_, at, n := t.glBox(r)
	gl45.ClearTexSubImage(t.ID, int32(r.Level), at[0], at[1], at[2], n[0], n[1], n[2], client, clientType,
		unsafe.Pointer(unsafe.SliceData(value)))
	gl.debugCheck("glClearTexSubImage")
	return nil
}
