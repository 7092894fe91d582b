package wire

import (
	"fmt"
	"math"
	"slices"

	"github.com/shadercache/shadercache/job/texel"
)

// Texture makes a texture on the device, all zero. Its reply is a [TextureReply].
type Texture struct {
	ID    uint32
	Shape texel.Shape // without zeros
}

func (m *Texture) layout(f *fields) {
	word(f, &m.ID)
	choice(f, &m.Shape.Dim, dims)
	f.format(&m.Shape.Format)
	for _, n := range [...]*int{&m.Shape.Width, &m.Shape.Height, &m.Shape.Depth, &m.Shape.Levels} {
		long(f, n)
	}
}

// TextureReply describes a texture.
type TextureReply struct {
	ByClass bool // images may have formats of its class, not of its size: see texel.Format
}

func (m *TextureReply) layout(f *fields) {
	f.bool(&m.ByClass)
}

// The words that have numbers, from 1; 0 is none.
var (
	formats     = texel.Formats()
	dims        = []string{"1D", "2D", "3D", "Cube", "1DArray", "2DArray", "CubeArray"}
	accesses    = []string{"readonly", "writeonly"}
	filters     = []string{"linear", "none"}
	wraps       = []string{"repeat", "mirror", "border"}
	comparisons = []string{"never", "<", "==", "<=", ">", "!=", ">=", "always"}
)

func (f *fields) format(v *texel.Format) { choice(f, v, formats) }

// choice reads or writes a word as its number in a list, 0 for none. One that is not known is
// kept as a word that is none, for the check of the shape or image.
func choice[T ~string](f *fields, v *T, words []T) {
	n := uint8(slices.Index(words, *v) + 1)
	if n == 0 && *v != "" {
		n = math.MaxUint8
	}
	small(f, &n)
	switch {
	case f.writes:
	case n == 0:
		*v = ""
	case int(n) <= len(words):
		*v = words[n-1]
	default:
		*v = T(fmt.Sprintf("number %d", n))
	}
}

func (f *fields) region(r *texel.Region) {
	for _, n := range [...]*int{&r.Level, &r.X, &r.Y, &r.Z, &r.Width, &r.Height, &r.Depth} {
		word(f, n)
	}
}
