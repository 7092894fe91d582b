package wire

import (
	"math"

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

func appendUniform(b []byte, u *job.Uniform) []byte {
	kind := byte(uniformInt)
	switch u.Base() {
	case "uint":
		kind = uniformUint
	case "float":
		kind = uniformFloat
	case "double":
		kind = uniformDoubles
	}
	if bits, ok := u.One(); ok && kind != uniformDoubles {
		return appendText(appendU32(append(b, kind), bits), u.Name)
	}
	if kind != uniformDoubles {
		kind += uniformInts - uniformInt
	}
	b = appendU32(append(b, kind), uint32(u.Bytes()))
	return appendText(u.AppendTo(b), u.Name)
}

func (f *jobFields) uniform() job.Uniform {
	kind := f.u8()
	if kind >= uniformInts {
		return f.components(kind)
	}
	bits, name := f.u32(), f.name()
	switch kind {
	case uniformInt:
		return job.Int(name, int32(bits))
	case uniformUint:
		return job.Uint(name, bits)
	case uniformFloat:
	default:
		f.fail("a kind %d of uniform", kind)
	}
	return job.Float(name, math.Float32frombits(bits))
}

// components reads a uniform of several components, or of doubles.
func (f *jobFields) components(kind uint8) job.Uniform {
	if kind > uniformDoubles {
		f.fail("a kind %d of uniform", kind)
		return job.Uniform{}
	}
	data, least := f.data(), 8
	if size := len(data); size < least || kind == uniformDoubles && size%8 != 0 || size%4 != 0 {
		f.fail("%d bytes of components of a uniform of kind %d", size, kind)
	}
	return job.Uniform{Name: f.name()}.Of(bases[kind], data)
}
