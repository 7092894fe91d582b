package glctx

import (
	"fmt"

	"github.com/shadercache/shadercache/glctx/internal/gl45"
	"github.com/shadercache/shadercache/shader"
)

// TextureShape is what a texture is made as. Its storage does not change.
type TextureShape struct {
	Dim    shader.Dim // Dim1D to DimCubeArray. Default: Dim2D
	Format Format

	// Size in texels of level 0. A 1D texture has a Height of 1, a cube map one that
	// equals Width. 0 means 1.
	Width, Height int

	// Depth is that of a 3D texture, the number of layers of an array, or of cubes of
	// a cube map array. 0 means 1.
	Depth int

	// Levels is the number of mipmap levels. 0 means 1.
	Levels int
}

// Texture is device memory of texels. It is a GL name and may be copied. The caller
// that made it deletes it, on the GL thread.
type Texture struct {
	ID uint32
	TextureShape
	byClass bool // the driver aliases formats by class, not by size
}

// Region is a box of texels of one level. Layers count along Z: of an array, of a cube
// map six for each cube in the order +X, -X, +Y, -Y, +Z, -Z.
type Region struct {
	Level   int
	X, Y, Z int
	Width   int // 0: all from X on, and likewise for the others
	Height  int
	Depth   int
}

var targets = [...]uint32{
	shader.Dim1D: gl45.TEXTURE_1D, shader.Dim2D: gl45.TEXTURE_2D, shader.Dim3D: gl45.TEXTURE_3D, shader.DimCube: gl45.TEXTURE_CUBE_MAP,
	shader.Dim1DArray: gl45.TEXTURE_1D_ARRAY, shader.Dim2DArray: gl45.TEXTURE_2D_ARRAY, shader.DimCubeArray: gl45.TEXTURE_CUBE_MAP_ARRAY,
}

const cubeFaces = 6

// withDefaults returns the shape without zeros.
func (s TextureShape) withDefaults() TextureShape {
	if s.Dim == 0 {
		s.Dim = shader.Dim2D
	}
	for _, n := range []*int{&s.Width, &s.Height, &s.Depth, &s.Levels} {
		if *n == 0 {
			*n = 1
		}
	}
	return s
}

// Layers returns the number of layers that a level has in Region.Z: 1 where Z is no
// layer or there is one only.
func (s TextureShape) Layers() int {
	switch s.Dim {
	case shader.DimCube:
		return cubeFaces
	case shader.DimCubeArray:
		return cubeFaces * s.Depth
	case shader.Dim1DArray, shader.Dim2DArray:
		return s.Depth
	}
	return 1
}

// LevelSize returns the size of a level in texels; depth counts layers where there are
// any.
func (s TextureShape) LevelSize(level int) (width, height, depth int) {
	width, height, depth = max(1, s.Width>>level), max(1, s.Height>>level), s.Layers()
	if s.Dim == shader.Dim3D {
		depth = max(1, s.Depth>>level)
	}
	return width, height, depth
}

// MaxLevels returns the number of levels down to one texel.
func (s TextureShape) MaxLevels() int {
	longest := max(s.Width, s.Height)
	if s.Dim == shader.Dim3D {
		longest = max(longest, s.Depth)
	}
	n := 1
	for ; longest > 1; longest >>= 1 {
		n++
	}
	return n
}

// Bytes returns the size of all texels, levels included. A driver may take more.
func (s TextureShape) Bytes() int {
	total := 0
	for level := range s.Levels {
		w, h, d := s.LevelSize(level)
		total += w * h * d * s.Format.Bytes()
	}
	return total
}

// check returns an error for a shape without zeros that the device does not have.
func (s TextureShape) check(l TextureLimits) error {
	if s.Dim < shader.Dim1D || s.Dim > shader.DimCubeArray {
		return fmt.Errorf("a texture cannot be %s", s.Dim)
	}
	if !s.Format.Known() {
		return fmt.Errorf("%s is not known", s.Format)
	}
	side, depth := l.Size, 1
	switch s.Dim {
	case shader.Dim3D:
		side, depth = l.Size3D, l.Size3D
	case shader.DimCube:
		side = l.SizeCube
	case shader.Dim1DArray, shader.Dim2DArray:
		depth = l.Layers
	case shader.DimCubeArray:
		side, depth = l.SizeCube, l.Layers/cubeFaces
	}
	isCube := s.Dim == shader.DimCube || s.Dim == shader.DimCubeArray
	switch {
	case s.Width < 1 || s.Height < 1 || s.Depth < 1:
		return fmt.Errorf("a size of %d by %d by %d", s.Width, s.Height, s.Depth)
	case s.Width > side || s.Height > side || s.Depth > depth:
		return fmt.Errorf("%d by %d by %d texels, this device allows %d by %d by %d of a %s texture",
			s.Width, s.Height, s.Depth, side, side, depth, s.Dim)
	case (s.Dim == shader.Dim1D || s.Dim == shader.Dim1DArray) && s.Height != 1:
		return fmt.Errorf("a height of %d: a %s texture has 1", s.Height, s.Dim)
	case isCube && s.Height != s.Width:
		return fmt.Errorf("the faces of a cube are squares, not %d by %d", s.Width, s.Height)
	case s.Format.Depth() && s.Dim == shader.Dim3D:
		return fmt.Errorf("a 3D texture cannot hold %s", s.Format)
	case s.Levels < 1 || s.Levels > s.MaxLevels():
		return fmt.Errorf("%d levels, %d by %d by %d texels have at most %d", s.Levels, s.Width, s.Height, s.Depth, s.MaxLevels())
	}
	return nil
}

// within returns the region with its defaults filled in, or an error where it is not in
// the texture.
func (t Texture) within(r Region) (Region, error) {
	if r.Level < 0 || r.Level >= t.Levels {
		return r, fmt.Errorf("level %d of %d", r.Level, t.Levels)
	}
	w, h, d := t.LevelSize(r.Level)
	for _, side := range []struct {
		at, n *int
		all   int
	}{{&r.X, &r.Width, w}, {&r.Y, &r.Height, h}, {&r.Z, &r.Depth, d}} {
		if *side.n == 0 {
			*side.n = side.all - *side.at
		}
		if *side.at < 0 || *side.n < 1 || *side.n > side.all-*side.at {
			return r, fmt.Errorf("texels %d,%d,%d and %d by %d by %d from there, level %d has %d by %d by %d",
				r.X, r.Y, r.Z, r.Width, r.Height, r.Depth, r.Level, w, h, d)
		}
	}
	return r, nil
}

// RegionBytes returns the number of bytes of the texels of a region, without padding, or
// an error where it is not in the texture.
func (t Texture) RegionBytes(r Region) (int, error) {
	r, err := t.within(r)
	if err != nil {
		return 0, fmt.Errorf("glctx: %w", err)
	}
	return r.Width * r.Height * r.Depth * t.Format.Bytes(), nil
}

// TextureLimits are the limits of a device for textures, images and samplers.
type TextureLimits struct {
	Size         int `json:"size"`          // texels of a side, 1D and 2D
	Size3D       int `json:"size_3d"`       // texels of a side, 3D
	SizeCube     int `json:"size_cube"`     // texels of a side of a cube map
	Layers       int `json:"layers"`        // of an array
	ImageUnits   int `json:"image_units"`   // of all programs
	Images       int `json:"images"`        // of one compute program
	TextureUnits int `json:"texture_units"` // of all programs
	Samplers     int `json:"samplers"`      // of one compute program
}

func (gl *GL) readTextureLimits() TextureLimits {
	n := func(name uint32) int { return int(gl.integer(name)) }
	return TextureLimits{
		Size: n(gl45.MAX_TEXTURE_SIZE), Size3D: n(gl45.MAX_3D_TEXTURE_SIZE), SizeCube: n(gl45.MAX_CUBE_MAP_TEXTURE_SIZE),
		Layers: n(gl45.MAX_ARRAY_TEXTURE_LAYERS), ImageUnits: n(gl45.MAX_IMAGE_UNITS), Images: n(gl45.MAX_COMPUTE_IMAGE_UNIFORMS),
		TextureUnits: n(gl45.MAX_COMBINED_TEXTURE_IMAGE_UNITS), Samplers: n(gl45.MAX_COMPUTE_TEXTURE_IMAGE_UNITS),
	}
}

// NewTexture makes a texture with undefined texels. Without a sampler it is read
// nearest, clamped to its edge. It returns shader.ErrOutOfMemory, wrapped, where the
// device has no room, ErrTextureShape, wrapped, for a shape that it does not have, and
// ErrNeeds45, wrapped, in other contexts.
func (gl *GL) NewTexture(shape TextureShape) (Texture, error) {
	if err := gl.c.Require45("a texture"); err != nil {
		return Texture{}, fmt.Errorf("glctx: make a texture: %w", err)
	}
	shape = shape.withDefaults()
	if err := shape.check(gl.c.info.Textures); err != nil {
		return Texture{}, fmt.Errorf("glctx: %w: %w", ErrTextureShape, err)
	}
	if err := gl.Err(); err != nil {
		return Texture{}, fmt.Errorf("glctx: an earlier call failed: %w", err)
	}
	t := Texture{TextureShape: shape}
	gl45.CreateTextures(targets[shape.Dim], 1, &t.ID)
	t.allocate()
	for _, wrap := range []uint32{gl45.TEXTURE_WRAP_S, gl45.TEXTURE_WRAP_T, gl45.TEXTURE_WRAP_R} {
		gl45.TextureParameteri(t.ID, wrap, gl45.CLAMP_TO_EDGE)
	}
	gl45.TextureParameteri(t.ID, gl45.TEXTURE_MIN_FILTER, gl45.NEAREST_MIPMAP_NEAREST)
	gl45.TextureParameteri(t.ID, gl45.TEXTURE_MAG_FILTER, gl45.NEAREST)
	var alias int32
	gl45.GetTextureParameteriv(t.ID, gl45.IMAGE_FORMAT_COMPATIBILITY_TYPE, &alias)
	t.byClass = alias == gl45.IMAGE_FORMAT_COMPATIBILITY_BY_CLASS
	if err := gl.Err(); err != nil {
		gl45.DeleteTextures(1, &t.ID)
		return Texture{}, fmt.Errorf("glctx: make a %s texture of %d bytes: %w", shape.Dim, shape.Bytes(), err)
	}
	gl.c.counters.textures.Add(1)
	return t, nil
}

// allocate gives the texture its storage.
func (t *Texture) allocate() {
	w, h, d, levels, internal := int32(t.Width), int32(t.Height), int32(t.Depth), int32(t.Levels), t.Format.info().internal
	switch t.Dim {
	case shader.Dim1D:
		gl45.TextureStorage1D(t.ID, levels, internal, w)
	case shader.Dim2D, shader.DimCube:
		gl45.TextureStorage2D(t.ID, levels, internal, w, h)
	case shader.Dim1DArray:
		gl45.TextureStorage2D(t.ID, levels, internal, w, d)
	case shader.DimCubeArray:
		gl45.TextureStorage3D(t.ID, levels, internal, w, h, cubeFaces*d)
	default:
		gl45.TextureStorage3D(t.ID, levels, internal, w, h, d)
	}
}

// DeleteTexture frees a texture after the commands that use it. The zero Texture is
// ignored.
func (gl *GL) DeleteTexture(t Texture) {
	if t.ID == 0 {
		return
	}
	gl.c.counters.textures.Add(-1)
	gl45.DeleteTextures(1, &t.ID)
	gl.debugCheck("glDeleteTextures")
}

// Aliases reports whether an image of format f may be bound to the texture: the
// texture's own, or one of the same size or class, as the driver has it, whose bits are
// then read as another type.
func (t Texture) Aliases(f Format) bool {
	a, b := t.Format.info(), f.info()
	if a == b {
		return a.qualifier != ""
	}
	if a.class == noClass || b.class == noClass || t.byClass && a.class != b.class {
		return false
	}
	return a.bytes == b.bytes
}
