package job

import (
	"image"
	"image/draw"

	"github.com/shadercache/shadercache/job/texel"
)

// Texture is texels on the GPU that a job binds.
type Texture interface {
	Shape() texel.Shape          // without zeros
	Aliases(f texel.Format) bool // the driver takes an image of the format: see texel.Format
}

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
	Layer   int          // where the image is one layer of the texture
	Access  texel.Access // ReadOnly: no barrier is needed between readers

	// Format, if set, reads the bits of the texels as another format of the same size.
	// Default: the texture's. Either has to be the one that the program declares.
	Format texel.Format
}

// TexelFormat returns Format, or that of the texture.
func (im *Image) TexelFormat() texel.Format {
	if im.Format == 0 {
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

// TextureInput is texels for a region of a texture: Texels, Picture, or written by Fill.
// They are copied before the job's first dispatch, in order with other jobs.
type TextureInput struct {
	Texture Texture
	Region  texel.Region // the size of a Picture need not be given
	Texels  []byte       // of the region, without padding
	Picture image.Image  // see texel.EncodePicture

	// Fill is called by Submit with mapped memory for the texels, without padding:
	// see Input.Fill.
	Fill func(dst []byte)
}

// TextureOutput is the destination of a region of a texture after the job's last
// dispatch: it is copied to To or Picture, or passed to Read.
type TextureOutput struct {
	Texture Texture
	Region  texel.Region // the size of a Picture need not be given
	To      []byte       // the texels of the region, without padding
	Picture draw.Image   // see texel.DecodePicture

	// Read is called by Wait with the texels in mapped memory, which are valid until it
	// returns.
	Read func(src []byte)
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
