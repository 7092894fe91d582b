package job

import (
	"fmt"
	"image"
	"image/draw"

	"github.com/shadercache/shadercache/job/texel"
)

// Block is the content of the uniform block at Binding: Data, or a range of device
// memory. std140 is the layout to write.
type Block struct {
	Binding uint32
	Data    []byte

	Buffer Bindable // in place of Data
	Offset int      // bytes, a multiple of the GPU's alignment: 256 always is
	Size   int      // bytes; 0 is the rest of the memory
}

// Image is what an image uniform loads from and stores to. It is meant for the uniform
// of that Name, "list[2]" for an element of an array, or without a name for the one at
// the image unit Binding, which layout(binding = N) sets.
//
// An image2D may be one layer of a 3D texture, an array or a cube map. Other images have
// the shape of the texture and all of its layers.
type Image struct {
	Name    string
	Binding uint32
	Texture Texture
	Level   int
	Layer   int    // where the image is one layer of the texture
	Access  string // "" reads and writes, "readonly", which needs no barrier between readers, or "writeonly"

	// Format, if set, reads the bits of the texels as another format of the same size.
	// Default: the texture's. Either has to be the one that the program declares.
	Format texel.Format
}

// TexelFormat returns Format, or that of the texture.
func (im *Image) TexelFormat() texel.Format {
	if im.Format == "" {
		return im.Texture.Shape().Format
	}
	return im.Format
}

// Sampled is what a sampler uniform reads from, and how. It is meant for the uniform of
// that Name, "list[2]" for an element of an array, or without a name for the one at the
// texture unit Binding, which layout(binding = N) sets.
type Sampled struct {
	Name    string
	Binding uint32
	Texture Texture
	Sampler texel.Sampler
}

// Counter is an atomic counter buffer. It starts with the values of Start and then
// zeros, and is copied to To after the job; or it is a range of device memory, which
// keeps counting from job to job.
type Counter struct {
	Binding uint32
	Start   []uint32
	To      []uint32

	Buffer Bindable // in place of Start and To
	Offset int      // bytes, a multiple of 4
}

// TextureInput is texels for a region of a texture: Texels, Picture, Buffer, or written by Fill.
// They are copied before the job's first dispatch, in order with other jobs.
type TextureInput struct {
	Texture Texture
	Region  texel.Region // the size of a Picture need not be given
	Texels  []byte       // of the region, without padding
	Picture image.Image  // see texel.EncodePicture

	// Fill is called by Submit with mapped memory for the texels, without padding:
	// see Input.Fill.
	Fill func(dst []byte)

	Buffer Bindable // in place of Texels: they are in device memory from Offset on
	Offset int      // bytes, a multiple of 4
}

// TextureOutput is the destination of a region of a texture after the job's last
// dispatch: it is copied to To, Picture or Buffer, or passed to Read.
type TextureOutput struct {
	Texture Texture
	Region  texel.Region // the size of a Picture need not be given
	To      []byte       // the texels of the region, without padding
	Picture draw.Image   // see texel.DecodePicture

	// Read is called by Wait with the texels in mapped memory, which are valid until it
	// returns.
	Read func(src []byte)

	Buffer Bindable // in place of To: they are copied to device memory from Offset on
	Offset int      // bytes, a multiple of 4
}

// Place returns the region of the texels, without zeros, and their bytes, or an error for
// texels that are not there.
func (in *TextureInput) Place() (texel.Region, int, error) {
	return placeTexels(in.Texture, in.Region, in.Picture, in.Texels, in.Fill != nil, in.Buffer, in.Offset)
}

// Place returns the region of the texels as TextureInput.Place does.
func (out *TextureOutput) Place() (texel.Region, int, error) {
	return placeTexels(out.Texture, out.Region, out.Picture, out.To, out.Read != nil, out.Buffer, out.Offset)
}

// placeTexels checks texels that are copied to or from a region: of a picture, a slice, a function
// or a buffer, of which one is given.
func placeTexels(t Texture, r texel.Region, picture image.Image, slice []byte, isFunction bool, b Bindable, offset int) (texel.Region, int, error) {
	given := 0
	for _, is := range [...]bool{picture != nil, slice != nil, isFunction, b != nil} {
		if is {
			given++
		}
	}
	shape := t.Shape()
	switch {
	case given != 1:
		return r, 0, fmt.Errorf("has %d of a slice, a picture, a function and a buffer, and needs one", given)
	case picture != nil:
		size := picture.Bounds().Size()
		if r.Width != 0 && r.Width != size.X || r.Height != 0 && r.Height != size.Y || r.Depth > 1 {
			return r, 0, fmt.Errorf("a picture of %d by %d pixels for a region of %d by %d by %d", size.X, size.Y, r.Width, r.Height, r.Depth)
		}
		if size.X < 1 || size.Y < 1 {
			return r, 0, fmt.Errorf("a picture of %d by %d pixels", size.X, size.Y)
		}
		if !shape.Format.CanHoldPicture() {
			return r, 0, fmt.Errorf("%s does not hold pictures: use r8, r16, r32f, rgba8, srgb8_alpha8, rgba16 or rgba32f", shape.Format)
		}
		r.Width, r.Height, r.Depth = size.X, size.Y, 1
	}
	r, err := shape.Within(r)
	n := r.Width * r.Height * r.Depth * shape.Format.Bytes()
	switch {
	case err != nil:
	case slice != nil && len(slice) != n:
		err = fmt.Errorf("%d bytes, the texels of the region have %d", len(slice), n)
	case b != nil:
		err = checkPart(b, offset, n, 4)
	}
	return r, n, err
}

// Encode writes the texels to dst, which has their size.
func (in *TextureInput) Encode(dst []byte) error {
	switch {
	case in.Fill != nil:
		in.Fill(dst)
	case in.Picture != nil:
		return texel.EncodePicture(dst, in.Texture.Shape().Format, in.Picture)
	default:
		copy(dst, in.Texels)
	}
	return nil
}

// Bytes returns the texels, for a device that does not encode them in place.
func (in *TextureInput) Bytes() ([]byte, error) {
	_, n, err := in.Place()
	if err != nil || in.Texels != nil {
		return in.Texels, err
	}
	data := make([]byte, n)
	return data, in.Encode(data)
}

// Bytes returns where the texels are copied to, for a device that is not read in place, and
// what gets them afterwards: nil where To has them.
func (out *TextureOutput) Bytes() (to []byte, read func([]byte), err error) {
	_, n, err := out.Place()
	if err != nil || out.To != nil {
		return out.To, nil, err
	}
	if read = out.Read; read == nil {
		picture, format := out.Picture, out.Texture.Shape().Format
		read = func(src []byte) { _ = texel.DecodePicture(picture, format, src) } // Place has checked it
	}
	return make([]byte, n), read, nil
}

// HostCall is a part of a job that the host computes, for drivers that run kernels on the
// CPU (glctx.Info.Software): there a dispatch may cost more than its work. On other drivers
// and in a server Submit fails.
type HostCall struct {
	Name string // in errors and traces

	// Bindings are the storage bindings whose memory Call gets, in this order: memory of the
	// dispatch, or inputs and outputs of the job, each as long as it was bound.
	Bindings []uint32

	// Call is called on the GL thread, in the order of the dispatches: it reads what
	// dispatches before it wrote, and those after it read what it writes. It must not keep
	// memory, write what is bound as ReadOnly, or use the device. Its error is that of the
	// job; later dispatches of the job do not run then.
	Call func(memory [][]byte) error
}
