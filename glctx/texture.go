//go:build linux && cgo

package glctx

import (
	"fmt"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
	"github.com/shadercache/shadercache/job/texel"
)

var targets = map[string]uint32{
	"1D": gl45.TEXTURE_1D, "2D": gl45.TEXTURE_2D, "3D": gl45.TEXTURE_3D, "Cube": gl45.TEXTURE_CUBE_MAP,
	"1DArray": gl45.TEXTURE_1D_ARRAY, "2DArray": gl45.TEXTURE_2D_ARRAY, "CubeArray": gl45.TEXTURE_CUBE_MAP_ARRAY,
}

func (gl *GL) readTextureLimits() texel.Limits {
	n := func(name uint32) int { return int(gl.integer(name)) }
	return texel.Limits{
		Size: n(gl45.MAX_TEXTURE_SIZE), Size3D: n(gl45.MAX_3D_TEXTURE_SIZE), SizeCube: n(gl45.MAX_CUBE_MAP_TEXTURE_SIZE),
		Layers: n(gl45.MAX_ARRAY_TEXTURE_LAYERS), ImageUnits: n(gl45.MAX_IMAGE_UNITS), Images: n(gl45.MAX_COMPUTE_IMAGE_UNIFORMS),
		TextureUnits: n(gl45.MAX_COMBINED_TEXTURE_IMAGE_UNITS), Samplers: n(gl45.MAX_COMPUTE_TEXTURE_IMAGE_UNITS),
	}
}

// NewTexture makes a texture with undefined texels. Without a sampler it is read
// nearest, clamped to its edge. It returns shader.ErrOutOfMemory, wrapped, where the
// device has no room, texel.ErrShape, wrapped, for a shape that it does not have, and
// ErrNeeds45, wrapped, in other contexts.
func (gl *GL) NewTexture(shape texel.Shape) (Texture, error) {
	if err := gl.c.Require45("a texture"); err != nil {
		return Texture{}, fmt.Errorf("glctx: make a texture: %w", err)
	}
	shape, err := shape.Check(gl.c.info.Textures)
	if err != nil {
		return Texture{}, fmt.Errorf("glctx: %w", err)
	}
	if err := gl.Err(); err != nil {
		return Texture{}, fmt.Errorf("glctx: an earlier call failed: %w", err)
	}
	t := Texture{Shape: shape}
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
	count(gl.c, &gl.c.counted.Textures, 1)
	return t, nil
}

// allocate gives the texture its storage.
func (t *Texture) allocate() {
	internal, _, _ := t.Format.GL()
	w, h, d, levels := int32(t.Width), int32(t.Height), int32(t.Depth), int32(t.Levels)
	switch t.Dim {
	case "1D":
		gl45.TextureStorage1D(t.ID, levels, internal, w)
	case "2D", "Cube":
		gl45.TextureStorage2D(t.ID, levels, internal, w, h)
	case "1DArray":
		gl45.TextureStorage2D(t.ID, levels, internal, w, d)
	case "CubeArray":
		gl45.TextureStorage3D(t.ID, levels, internal, w, h, int32(t.Layers()))
	default:
		gl45.TextureStorage3D(t.ID, levels, internal, w, h, d)
	}
}

// DeleteTexture frees a texture after the commands that use it. The zero Texture is
// ignored.
func (gl *GL) DeleteTexture(t Texture) {
	gl.delete(t.ID, &gl.c.counted.Textures, "glDeleteTextures", gl45.DeleteTextures)
}
