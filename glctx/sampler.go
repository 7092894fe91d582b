//go:build linux && cgo

package glctx

import (
	"fmt"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
	"github.com/shadercache/shadercache/job/texel"
)

var (
	wraps      = [...]int32{gl45.CLAMP_TO_EDGE, gl45.REPEAT, gl45.MIRRORED_REPEAT, gl45.CLAMP_TO_BORDER}
	magnifying = [...]int32{gl45.NEAREST, gl45.LINEAR}
	minifying  = [...][3]int32{
		texel.Nearest: {gl45.NEAREST_MIPMAP_NEAREST, gl45.NEAREST_MIPMAP_LINEAR, gl45.NEAREST},
		texel.Linear:  {gl45.LINEAR_MIPMAP_NEAREST, gl45.LINEAR_MIPMAP_LINEAR, gl45.LINEAR},
	}
	comparisons = [...]int32{
		texel.Never: gl45.NEVER, texel.Less: gl45.LESS, texel.Equal: gl45.EQUAL, texel.LessOrEqual: gl45.LEQUAL,
		texel.Greater: gl45.GREATER, texel.NotEqual: gl45.NOTEQUAL, texel.GreaterOrEqual: gl45.GEQUAL, texel.Always: gl45.ALWAYS,
	}
)

// NewSampler makes a sampler. It returns ErrNeeds45, wrapped, in other contexts.
func (gl *GL) NewSampler(state texel.Sampler) (Sampler, error) {
	if err := state.Check(); err != nil {
		return Sampler{}, fmt.Errorf("glctx: %w", err)
	}
	if err := gl.c.Require45("a sampler"); err != nil {
		return Sampler{}, fmt.Errorf("glctx: make a sampler: %w", err)
	}
	var s Sampler
	gl45.CreateSamplers(1, &s.ID)
	gl45.SamplerParameteri(s.ID, gl45.TEXTURE_MIN_FILTER, minifying[state.Min][state.Mip])
	gl45.SamplerParameteri(s.ID, gl45.TEXTURE_MAG_FILTER, magnifying[state.Mag])
	for i, axis := range []uint32{gl45.TEXTURE_WRAP_S, gl45.TEXTURE_WRAP_T, gl45.TEXTURE_WRAP_R} {
		gl45.SamplerParameteri(s.ID, axis, wraps[state.Wrap[i]])
	}
	if state.Compare != texel.NoCompare {
		gl45.SamplerParameteri(s.ID, gl45.TEXTURE_COMPARE_MODE, gl45.COMPARE_REF_TO_TEXTURE)
		gl45.SamplerParameteri(s.ID, gl45.TEXTURE_COMPARE_FUNC, comparisons[state.Compare])
	}
	if err := gl.Err(); err != nil {
		gl45.DeleteSamplers(1, &s.ID)
		return Sampler{}, fmt.Errorf("glctx: make a sampler: %w", err)
	}
	count(gl.c, &gl.c.counted.Samplers, 1)
	return s, nil
}

// DeleteSampler frees a sampler. The zero Sampler is ignored.
func (gl *GL) DeleteSampler(s Sampler) {
	if s.ID == 0 {
		return
	}
	count(gl.c, &gl.c.counted.Samplers, -1)
	gl45.DeleteSamplers(1, &s.ID)
	gl.debugCheck("glDeleteSamplers")
}
