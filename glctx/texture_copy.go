package glctx

import (
	"cmp"
	"fmt"
	"unsafe"

	"github.com/shadercache/shadercache/glctx/internal/gl45"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/shader"
)

// Stride is the number of bytes from row to row and from layer to layer of texels in
// memory. 0 means without padding. In a buffer, a row is a multiple of the texel and a
// layer one of the row.
type Stride struct{ Row, Layer int }

// transfer is the layout of a region in linear memory.
type transfer struct {
	region     texel.Region
	row, layer int // bytes from one to the next
	bytes      int // from the first to the last
	texel      int
}

// layOut checks a region and computes its layout.
func (t Texture) layOut(r texel.Region, s Stride) (transfer, error) {
	r, err := t.Within(r)
	if err != nil {
		return transfer{}, fmt.Errorf("glctx: %w", err)
	}
	size := t.Format.Bytes()
	x := transfer{region: r, row: s.Row, layer: s.Layer, texel: size}
	x.row = cmp.Or(x.row, r.Width*size)
	if x.row > maxTransfer || x.layer > maxTransfer {
		return transfer{}, fmt.Errorf("glctx: %w: strides of %d and %d bytes, at most %d are possible", texel.ErrRegion, s.Row, s.Layer, maxTransfer)
	}
	if x.layer == 0 {
		x.layer = r.Height * x.row
	}
	if x.row < r.Width*size || x.layer < (r.Height-1)*x.row+r.Width*size {
		return transfer{}, fmt.Errorf("glctx: %w: strides of %d and %d bytes, a row has %d and a layer %d rows",
			texel.ErrRegion, s.Row, s.Layer, r.Width*size, r.Height)
	}
	x.bytes = (r.Depth-1)*x.layer + (r.Height-1)*x.row + r.Width*size
	return x, nil
}

// direct reports whether GL can describe the layout.
func (x *transfer) direct() bool { return x.row%x.texel == 0 && x.layer%x.row == 0 }

// tight returns the layout of the same region without padding.
func (x *transfer) tight() transfer {
	row := x.region.Width * x.texel
	return transfer{x.region, row, row * x.region.Height, row * x.region.Height * x.region.Depth, x.texel}
}

// eachRow calls fn with the offset of each row in x and in other.
func (x *transfer) eachRow(other *transfer, fn func(at, there int)) {
	for z := range x.region.Depth {
		for y := range x.region.Height {
			fn(z*x.layer+y*x.row, z*other.layer+y*other.row)
		}
	}
}

// fits returns an error where memory of n bytes has no room for x at offset.
func (x *transfer) fits(offset, n int) error {
	if offset < 0 || x.bytes > n-offset {
		return fmt.Errorf("glctx: %w: the texels take %d bytes from byte %d, there are %d", texel.ErrRegion, x.bytes, offset, n)
	}
	return nil
}

// UploadTexture copies texels to a region, in order with other commands. It returns
// texel.ErrRegion, wrapped, for a region that is not in the texture, and for too few
// bytes.
func (gl *GL) UploadTexture(t Texture, r texel.Region, texels []byte, s Stride) error {
	x, err := t.layOut(r, s)
	if err != nil {
		return err
	}
	if err := x.fits(0, len(texels)); err != nil {
		return err
	}
	if !x.direct() {
		packed := x.tight()
		memory := make([]byte, packed.bytes)
		n := x.region.Width * x.texel
		x.eachRow(&packed, func(at, there int) { copy(memory[there:there+n], texels[at:]) })
		x, texels = packed, memory
	}
	gl45.BindBuffer(gl45.PIXEL_UNPACK_BUFFER, 0)
	gl.unpack(t, &x, hostPixels(texels))
	return nil
}

// DownloadTexture copies a region to dst, after all earlier commands. It blocks the GL
// thread. After a program stored to the texture, a MemoryBarrier with
// BarrierTextureUpdate has to come first. Bytes between rows are kept. It returns
// texel.ErrRegion, wrapped, as UploadTexture does.
func (gl *GL) DownloadTexture(t Texture, r texel.Region, dst []byte, s Stride) error {
	x, err := t.layOut(r, s)
	if err != nil {
		return err
	}
	if err := x.fits(0, len(dst)); err != nil {
		return err
	}
	gl.c.counters.readbacks.Add(1)
	gl45.BindBuffer(gl45.PIXEL_PACK_BUFFER, 0)
	packed := x.tight()
	if packed == x {
		gl.pack(t, &x, len(dst), hostPixels(dst))
		return nil
	}
	memory := make([]byte, packed.bytes)
	gl.pack(t, &packed, len(memory), hostPixels(memory))
	n := x.region.Width * x.texel
	x.eachRow(&packed, func(at, there int) { copy(dst[at:at+n], memory[there:there+n]) })
	return nil
}

// CopyToTexture copies texels from a buffer to a region on the device. offset is a
// multiple of 4. After a program wrote the buffer, a MemoryBarrier with
// BarrierTextureUpdate has to come first. Errors: see UploadTexture.
func (gl *GL) CopyToTexture(t Texture, r texel.Region, from Buffer, offset int, s Stride) error {
	x, err := t.inBuffer(r, s, offset, from)
	if err != nil {
		return err
	}
	gl45.BindBuffer(gl45.PIXEL_UNPACK_BUFFER, from.ID)
	gl.unpack(t, &x, pixels{offset: offset})
	gl45.BindBuffer(gl45.PIXEL_UNPACK_BUFFER, 0)
	return nil
}

// CopyFromTexture copies a region to a buffer on the device, without padding where s is
// zero. offset is a multiple of 4. After a program stored to the texture, a
// MemoryBarrier with BarrierTextureUpdate has to come first. Errors: see UploadTexture.
func (gl *GL) CopyFromTexture(t Texture, r texel.Region, to Buffer, offset int, s Stride) error {
	x, err := t.inBuffer(r, s, offset, to)
	if err != nil {
		return err
	}
	gl45.BindBuffer(gl45.PIXEL_PACK_BUFFER, to.ID)
	gl.pack(t, &x, to.Size-offset, pixels{offset: offset})
	gl45.BindBuffer(gl45.PIXEL_PACK_BUFFER, 0)
	return nil
}

// inBuffer returns the layout of a region in a buffer.
func (t Texture) inBuffer(r texel.Region, s Stride, offset int, b Buffer) (transfer, error) {
	x, err := t.layOut(r, s)
	if err != nil {
		return x, err
	}
	if !x.direct() {
		return x, fmt.Errorf("glctx: %w: strides of %d and %d bytes: in a buffer rows are multiples of %d and layers of rows",
			texel.ErrRegion, x.row, x.layer, x.texel)
	}
	if offset%t.Format.Datum() != 0 {
		return x, fmt.Errorf("glctx: %w: texels of %s from byte %d: a multiple of %d is needed", texel.ErrRegion, t.Format, offset, t.Format.Datum())
	}
	return x, x.fits(offset, b.Size)
}

// pixels is where texels are on the other side of a transfer: in host memory, or at an
// offset in the bound buffer.
type pixels struct {
	host   unsafe.Pointer
	offset int
}

func hostPixels(b []byte) pixels { return pixels{host: unsafe.Pointer(unsafe.SliceData(b))} }

// pixelStore has the names of one direction's parameters.
type pixelStore struct{ alignment, rowLength, imageHeight, skipPixels, skipRows, skipImages, swap, lsbFirst uint32 }

var (
	unpackStore = pixelStore{gl45.UNPACK_ALIGNMENT, gl45.UNPACK_ROW_LENGTH, gl45.UNPACK_IMAGE_HEIGHT, gl45.UNPACK_SKIP_PIXELS,
		gl45.UNPACK_SKIP_ROWS, gl45.UNPACK_SKIP_IMAGES, gl45.UNPACK_SWAP_BYTES, gl45.UNPACK_LSB_FIRST}
	packStore = pixelStore{gl45.PACK_ALIGNMENT, gl45.PACK_ROW_LENGTH, gl45.PACK_IMAGE_HEIGHT, gl45.PACK_SKIP_PIXELS,
		gl45.PACK_SKIP_ROWS, gl45.PACK_SKIP_IMAGES, gl45.PACK_SWAP_BYTES, gl45.PACK_LSB_FIRST}
)

// set describes a layout to GL. It relies on nothing that other code may have set.
func (p *pixelStore) set(x *transfer, array1D bool) {
	rowLength, height := x.row/x.texel, x.layer/x.row
	if array1D { // its layers are rows to GL
		rowLength, height = x.layer/x.texel, 0
	}
	for _, v := range [...]struct {
		name  uint32
		value int
	}{{p.alignment, 1}, {p.rowLength, rowLength}, {p.imageHeight, height}, {p.skipPixels, 0}, {p.skipRows, 0}, {p.skipImages, 0}, {p.swap, 0}, {p.lsbFirst, 0}} {
		gl45.PixelStorei(v.name, int32(v.value))
	}
}

// reset sets what set has changed to GL's defaults.
func (p *pixelStore) reset() {
	gl45.PixelStorei(p.alignment, 4)
	gl45.PixelStorei(p.rowLength, 0)
	gl45.PixelStorei(p.imageHeight, 0)
}

// unpack copies from p to a texture.
func (gl *GL) unpack(t Texture, x *transfer, p pixels) {
	unpackStore.set(x, t.Dim == shader.Dim1DArray)
	_, client, clientType := t.Format.GL()
	sides, at, n := t.glBox(x.region)
	level := int32(x.region.Level)
	switch {
	case p.host == nil:
		gl45.TextureSubImageOffset(sides, t.ID, level, at[0], at[1], at[2], n[0], n[1], n[2], client, clientType, p.offset)
	case sides == 1:
		gl45.TextureSubImage1D(t.ID, level, at[0], n[0], client, clientType, p.host)
	case sides == 2:
		gl45.TextureSubImage2D(t.ID, level, at[0], at[1], n[0], n[1], client, clientType, p.host)
	default:
		gl45.TextureSubImage3D(t.ID, level, at[0], at[1], at[2], n[0], n[1], n[2], client, clientType, p.host)
	}
	gl.debugCheck("glTextureSubImage")
	unpackStore.reset()
}

// pack copies from a texture to p, which has n bytes.
func (gl *GL) pack(t Texture, x *transfer, n int, p pixels) {
	packStore.set(x, t.Dim == shader.Dim1DArray)
	_, client, clientType := t.Format.GL()
	level, size := int32(x.region.Level), int32(min(n, maxTransfer))
	_, at, side := t.glBox(x.region)
	if p.host == nil {
		gl45.GetTextureSubImageOffset(t.ID, level, at[0], at[1], at[2], side[0], side[1], side[2], client, clientType, size, p.offset)
	} else {
		gl45.GetTextureSubImage(t.ID, level, at[0], at[1], at[2], side[0], side[1], side[2], client, clientType, size, p.host)
	}
	gl.debugCheck("glGetTextureSubImage")
	packStore.reset()
}

// glBox returns a region as GL has it, where the layers of a 1D array are rows, and the
// number of sides that it counts.
func (t Texture) glBox(r texel.Region) (sides int, at, n [3]int32) {
	at, n = [3]int32{int32(r.X), int32(r.Y), int32(r.Z)}, [3]int32{int32(r.Width), int32(r.Height), int32(r.Depth)}
	switch t.Dim {
	case shader.Dim1D:
		return 1, at, n
	case shader.Dim2D:
		return 2, at, n
	case shader.Dim1DArray:
		at[1], at[2], n[1], n[2] = at[2], 0, n[2], 1
		return 2, at, n
	}
	return 3, at, n
}

// maxTransfer is the largest number of bytes that GL takes. A larger stride would be another
// one there, and its sums here would overflow.
const maxTransfer = 1<<31 - 1

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

// GenerateMipmaps computes every level but the first from it. The format must be one
// that can be filtered: of floats or normalized numbers.
func (gl *GL) GenerateMipmaps(t Texture) error {
	if t.Format.Base() != shader.FloatBase || t.Format.Depth() {
		return fmt.Errorf("glctx: %w: mipmaps of %s", texel.ErrRegion, t.Format)
	}
	gl45.GenerateTextureMipmap(t.ID)
	gl.debugCheck("glGenerateTextureMipmap")
	return nil
}
