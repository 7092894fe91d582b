package wire

import (
	"math"
	"slices"

	"github.com/shadercache/shadercache/job"
)

// The kinds of uniforms: one word, or the components of a vector, a matrix or an array. A bool
// is an int.
const (
	uniformInt = iota + 1
	uniformUint
	uniformFloat
	uniformInts
	uniformUints
	uniformFloats
	uniformDoubles
)

// bases are the types of the components, by kind.
var bases = [...]string{
	uniformInts: "int", uniformUints: "uint", uniformFloats: "float", uniformDoubles: "double",
}

// kindOf returns the kind of a uniform, and the bits of one word. A bool is an int.
func kindOf(u *job.Uniform) (kind byte, bits uint32) {
	kind = uniformInts + byte(max(slices.Index(bases[uniformInts:], u.Base()), 0))
	if bits, ok := u.One(); ok && kind != uniformDoubles {
		return kind - uniformInts + uniformInt, bits
	}
	return kind, 0
}

func (f *fields) uniform(u *job.Uniform) {
	var kind byte
	var bits uint32
	if f.writes {
		kind, bits = kindOf(u)
	}
	small(f, &kind)
	if kind >= uniformInts {
		f.components(u, kind)
		return
	}
	word(f, &bits)
	f.name(&u.Name)
	switch {
	case f.writes:
	case kind == uniformInt:
		*u = job.Int(u.Name, int32(bits))
	case kind == uniformUint:
		*u = job.Uint(u.Name, bits)
	case kind == uniformFloat:
		*u = job.Float(u.Name, math.Float32frombits(bits))
	default:
		f.fail("a kind %d of uniform", kind)
	}
}

// components reads or writes a uniform of several components, or of doubles.
func (f *fields) components(u *job.Uniform, kind uint8) {
	if kind > uniformDoubles {
		f.fail("a kind %d of uniform", kind)
		return
	}
	if f.writes {
		size := uint32(u.Bytes())
		word(f, &size)
		f.to = u.AppendTo(f.to)
		f.name(&u.Name)
		return
	}
	var data []byte
	blob(f, &data)
	if size := len(data); size == 4 || kind == uniformDoubles && size%8 != 0 || size%4 != 0 {
		f.fail("%d bytes of components of a uniform of kind %d", size, kind)
	}
	f.name(&u.Name)
	*u = u.Of(bases[kind], data)
}
