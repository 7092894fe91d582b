//go:build linux && cgo

package glctx

import (
	"fmt"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
	"github.com/shadercache/shadercache/job/texel"
)

var (
	wraps      = map[string]int32{"": gl45.CLAMP_TO_EDGE, "repeat": gl45.REPEAT, "mirror": gl45.MIRRORED_REPEAT, "border": gl45.CLAMP_TO_BORDER}
	magnifying = map[string]int32{"": gl45.NEAREST, "linear": gl45.LINEAR}
	minifying  = map[[2]string]int32{ // Min and Mip
		{"", ""}: gl45.NEAREST_MIPMAP_NEAREST, {"", "linear"}: gl45.NEAREST_MIPMAP_LINEAR, {"", "none"}: gl45.NEAREST,
		{"linear", ""}: gl45.LINEAR_MIPMAP_NEAREST, {"linear", "linear"}: gl45.LINEAR_MIPMAP_LINEAR, {"linear", "none"}: gl45.LINEAR,
	}
	comparisons = map[string]int32{
		"never": gl45.NEVER, "<": gl45.LESS, "==": gl45.EQUAL, "<=": gl45.LEQUAL,
		">": gl45.GREATER, "!=": gl45.NOTEQUAL, ">=": gl45.GEQUAL, "always": gl45.ALWAYS,
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
	gl45.SamplerParameteri(s.ID, gl45.TEXTURE_MIN_FILTER, minifying[[2]string{state.Min, state.Mip}])
	gl45.SamplerParameteri(s.ID, gl45.TEXTURE_MAG_FILTER, magnifying[state.Mag])
	for i, axis := range []uint32{gl45.TEXTURE_WRAP_S, gl45.TEXTURE_WRAP_T, gl45.TEXTURE_WRAP_R} {
		gl45.SamplerParameteri(s.ID, axis, wraps[state.Wrap[i]])
	}
	if state.Compare != "" {
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
	gl.delete(s.ID, &gl.c.counted.Samplers, "glDeleteSamplers", gl45.DeleteSamplers)
}
