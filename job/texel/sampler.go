package texel

import (
	"fmt"
	"slices"
)

// Sampler is how textures are read. The zero value reads the nearest texel, clamped to the edge.
type Sampler struct {
	Min, Mag string // "" reads the nearest texel, "linear" blends several
	Mip      string // between levels: "" or "linear" likewise, "none" reads level 0 alone

	// Wrap is what is read outside of the texture, along s, t and r: "" the edge, "repeat",
	// "mirror", or "border", which is zeros.
	Wrap [3]string

	// Compare is how a shadow sampler compares the reference with a depth: it reads 1 where the
	// reference is, for example, "<" the depth. There are "<", "<=", ">", ">=", "==", "!=",
	// "never" and "always".
	Compare string
}

// Wrapped returns the state with one way to wrap along all axes.
func (s Sampler) Wrapped(way string) Sampler {
	s.Wrap = [3]string{way, way, way}
	return s
}

// Filters reports whether the sampler reads between texels, which integers and, in
// part, single levels do not allow.
func (s Sampler) Filters() bool { return s.Min == "linear" || s.Mag == "linear" || s.Mip == "linear" }

// Check returns an error for words that are none of a sampler's.
func (s Sampler) Check() error {
	is := func(word string, words ...string) bool { return word == "" || slices.Contains(words, word) }
	known := is(s.Min, "linear") && is(s.Mag, "linear") && is(s.Mip, "linear", "none") &&
		is(s.Compare, "<", "<=", ">", ">=", "==", "!=", "never", "always")
	for _, way := range s.Wrap {
		known = known && is(way, "repeat", "mirror", "border")
	}
	if !known {
		return fmt.Errorf("a sampler cannot have %+q", s)
	}
	return nil
}
