package texel

import "fmt"

// Filter is how a sampler reads between texels.
type Filter uint8

// The filters. Mipmaps are used with Nearest and Linear of Sampler.Mip.
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

// Sampler is how textures are read. The zero value reads the nearest texel,
// clamped to the edge.
type Sampler struct {
	Min, Mag Filter  // Nearest or Linear
	Mip      Filter  // between levels
	Wrap     [3]Wrap // along s, t and r
	Compare  Compare // for shadow samplers
}

// Wrapped returns the state with one way to wrap along all axes.
func (s Sampler) Wrapped(w Wrap) Sampler {
	s.Wrap = [3]Wrap{w, w, w}
	return s
}

// Filters reports whether the sampler reads between texels, which integers and, in
// part, single levels do not allow.
func (s Sampler) Filters() bool { return s.Min == Linear || s.Mag == Linear || s.Mip == Linear }

// Check returns an error for values that are none of the constants.
func (s Sampler) Check() error {
	bad := s.Min > Linear || s.Mag > Linear || s.Mip > NoMipmaps || s.Compare > Always
	for _, w := range s.Wrap {
		bad = bad || w > ClampToBorder
	}
	if bad {
		return fmt.Errorf("a sampler cannot have %+v", s)
	}
	return nil
}
