package glctx

import (
	"fmt"

	"github.com/shadercache/shadercache/glctx/internal/gl45"
)

// Filter is how a sampler reads between texels.
type Filter uint8

// The filters. Mipmaps are used with Nearest and Linear of SamplerState.Mip.
const (
	Nearest Filter = iota
	Linear
	NoMipmaps // of Mip: level 0 only
)

// Wrap is how a sampler reads outside of the texture.
type Wrap uint8

// The ways to wrap. ClampToBorder reads zeros.
const (
	ClampToEdge Wrap = iota
	Repeat
	MirroredRepeat
	ClampToBorder
)

// Compare is how a shadow sampler compares the reference with a depth: it reads 1 where
// the reference is, for example, Less than the depth.
type Compare uint8

// The comparisons.
const (
	NoCompare Compare = iota
	Never
	Less
	Equal
	LessOrEqual
	Greater
	NotEqual
	GreaterOrEqual
	Always
)

// SamplerState is how textures are read. The zero value reads the nearest texel,
// clamped to the edge.
type SamplerState struct {
	Min, Mag Filter  // Nearest or Linear
	Mip      Filter  // between levels
	Wrap     [3]Wrap // along s, t and r
	Compare  Compare // for shadow samplers
}

// Wrapped returns the state with one way to wrap along all axes.
func (s SamplerState) Wrapped(w Wrap) SamplerState {
	s.Wrap = [3]Wrap{w, w, w}
	return s
}

// Filters reports whether the sampler reads between texels, which integers and, in
// part, single levels do not allow.
func (s SamplerState) Filters() bool { return s.Min == Linear || s.Mag == Linear || s.Mip == Linear }

// Sampler is a GL sampler object. It may be copied. The caller that made it deletes it,
// on the GL thread.
type Sampler struct{ ID uint32 }

var (
	wraps      = [...]int32{gl45.CLAMP_TO_EDGE, gl45.REPEAT, gl45.MIRRORED_REPEAT, gl45.CLAMP_TO_BORDER}
	magnifying = [...]int32{gl45.NEAREST, gl45.LINEAR}
	minifying  = [...][3]int32{
		Nearest: {gl45.NEAREST_MIPMAP_NEAREST, gl45.NEAREST_MIPMAP_LINEAR, gl45.NEAREST},
		Linear:  {gl45.LINEAR_MIPMAP_NEAREST, gl45.LINEAR_MIPMAP_LINEAR, gl45.LINEAR},
	}
	comparisons = [...]int32{
		Never: gl45.NEVER, Less: gl45.LESS, Equal: gl45.EQUAL, LessOrEqual: gl45.LEQUAL,
		Greater: gl45.GREATER, NotEqual: gl45.NOTEQUAL, GreaterOrEqual: gl45.GEQUAL, Always: gl45.ALWAYS,
	}
)

// Check returns an error for values that are none of the constants.
func (s SamplerState) Check() error {
	if int(s.Min) >= len(minifying) || int(s.Mag) >= len(magnifying) || s.Mip > NoMipmaps || s.Compare > Always {
		return fmt.Errorf("glctx: a sampler cannot have %+v", s)
	}
	for _, w := range s.Wrap {
		if int(w) >= len(wraps) {
			return fmt.Errorf("glctx: a sampler cannot have %+v", s)
		}
	}
	return nil
}

// NewSampler makes a sampler. It returns ErrNeeds45, wrapped, in other contexts.
func (gl *GL) NewSampler(state SamplerState) (Sampler, error) {
	if err := state.Check(); err != nil {
		return Sampler{}, err
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
	if state.Compare != NoCompare {
		gl45.SamplerParameteri(s.ID, gl45.TEXTURE_COMPARE_MODE, gl45.COMPARE_REF_TO_TEXTURE)
		gl45.SamplerParameteri(s.ID, gl45.TEXTURE_COMPARE_FUNC, comparisons[state.Compare])
	}
	if err := gl.Err(); err != nil {
		gl45.DeleteSamplers(1, &s.ID)
		return Sampler{}, fmt.Errorf("glctx: make a sampler: %w", err)
	}
	gl.c.counters.samplers.Add(1)
	return s, nil
}

// DeleteSampler frees a sampler. The zero Sampler is ignored.
func (gl *GL) DeleteSampler(s Sampler) {
	if s.ID == 0 {
		return
	}
	gl.c.counters.samplers.Add(-1)
	gl45.DeleteSamplers(1, &s.ID)
	gl.debugCheck("glDeleteSamplers")
}
