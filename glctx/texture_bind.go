//go:build linux && cgo

package glctx

import (
	gl45 "github.com/go-gl/gl/v4.5-core/gl"
	"github.com/shadercache/shadercache/job/texel"
)

var accesses = map[string]uint32{"": gl45.READ_WRITE, "readonly": gl45.READ_ONLY, "writeonly": gl45.WRITE_ONLY}

// BindImage binds a level of a texture to an image unit. layer is texel.AllLayers, or the one
// layer that an image2D sees of a 3D texture, an array or a cube map. format is the
// texture's or one that Aliases accepts. It panics for a level or layer that the
// texture does not have, and for another format.
func (gl *GL) BindImage(unit uint32, t Texture, level, layer int, access string, format texel.Format) {
	_, _, depth := t.LevelSize(level)
	if level < 0 || level >= t.Levels || layer < texel.AllLayers || layer >= depth || !t.Aliases(format) {
		panic("glctx: BindImage was given a level, layer or format that the texture does not have")
	}
	internal, _, _ := format.GL()
	gl45.BindImageTexture(unit, t.ID, int32(level), layer == texel.AllLayers, int32(max(layer, 0)), accesses[access], internal)
	gl.debugCheck("glBindImageTexture")
}

// BindTexture binds a texture and a sampler to a texture unit. With the zero Sampler the
// texture's own parameters count.
func (gl *GL) BindTexture(unit uint32, t Texture, s Sampler) {
	if !gl.c.full {
		return // such a context has no Texture: see NewTexture
	}
	gl45.BindTextureUnit(unit, t.ID)
	gl45.BindSampler(unit, s.ID)
	gl.debugCheck("glBindTextureUnit")
}

// UnbindSampler makes a texture's own parameters count at a texture unit.
func (gl *GL) UnbindSampler(unit uint32) {
	gl45.BindSampler(unit, 0)
	gl.debugCheck("glBindSampler")
}

// BindCounters binds n bytes of b from offset, a multiple of 4, to an atomic counter
// binding point.
func (gl *GL) BindCounters(binding uint32, b Buffer, offset, n int) {
	gl45.BindBufferRange(gl45.ATOMIC_COUNTER_BUFFER, binding, b.ID, offset, n)
	gl.debugCheck("glBindBufferRange")
}
