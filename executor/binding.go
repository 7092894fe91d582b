package executor

import (
	"image"
	"image/draw"

	"github.com/shadercache/shadercache/job/texel"
)

// Block is the content of the uniform block at Binding: Data, or a range of device
// memory. std140 is the layout to write.
type Block struct {
	Binding uint32
	Data    []byte

	Memory *Memory // in place of Data
	Offset int     // bytes, a multiple of Info.UniformAlignment
	Size   int     // bytes; 0 is the rest of the memory
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
	Texture *Texture
	Level   int
	Layer   int          // where the image is one layer of the texture
	Access  texel.Access // ReadOnly: no barrier is needed between readers

	// Format, if set, reads the bits of the texels as another format of the same size.
	// Default: the texture's. Either has to be the one that the program declares.
	Format texel.Format
}

// Sampled is what a sampler uniform reads from, and how. It is meant for the uniform of
// that Name, "list[2]" for an element of an array, or without a name for the one at the
// texture unit Binding, which layout(binding = N) sets.
type Sampled struct {
	Name    string
	Binding uint32
	Texture *Texture
	Sampler texel.Sampler
}

// Counter is an atomic counter buffer. It starts with the values of Start and then
// zeros, and is copied to To after the job; or it is a range of device memory, which
// keeps counting from job to job.
type Counter struct {
	Binding uint32
	Start   []uint32
	To      []uint32

	Memory *Memory // in place of Start and To
	Offset int     // bytes, a multiple of 4
}

// TextureInput is texels for a region of a texture: Texels, Picture, or written by Fill.
// They are copied before the job's first dispatch, in order with other jobs.
type TextureInput struct {
	Texture *Texture
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
	Texture *Texture
	Region  texel.Region // the size of a Picture need not be given
	To      []byte       // the texels of the region, without padding
	Picture draw.Image   // see texel.DecodePicture

	// Read is called by Wait with the texels in mapped memory, which are valid until it
	// returns.
	Read func(src []byte)
}
