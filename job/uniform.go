package job

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/shadercache/shadercache/internal/raw"
	"github.com/shadercache/shadercache/shader"
)

// Uniform is a value for a uniform outside any block. The name of an array needs no
// "[0]"; each member of a struct is a uniform, as in "lights[1].colour".
type Uniform struct {
	Name string
	base string
	one  uint32
	data []byte // the components as the API of GL has them, where there are several

	several bool
}

// Int returns a value for an int or bool uniform.
func Int(name string, v int32) Uniform {
	return Uniform{Name: name, base: "int", one: uint32(v)}
}

// Uint returns a value for a uint or bool uniform.
func Uint(name string, v uint32) Uniform { return Uniform{Name: name, base: "uint", one: v} }

// Float returns a value for a float uniform.
func Float(name string, v float32) Uniform {
	return Uniform{Name: name, base: "float", one: math.Float32bits(v)}
}

// Bool returns a value for a bool uniform.
func Bool(name string, v bool) Uniform {
	return Uniform{Name: name, base: "bool", one: wordOf(v)}
}

// Floats returns the components of a float, vector or matrix uniform, or of an array of
// them, element by element and a matrix column by column. v is used until Submit has
// returned.
func Floats(name string, v ...float32) Uniform {
	return Uniform{Name: name, base: "float", data: raw.Bytes(v), several: true}
}

// Doubles is Floats for double uniforms.
func Doubles(name string, v ...float64) Uniform {
	return Uniform{Name: name, base: "double", data: raw.Bytes(v), several: true}
}

// Ints is Floats for int and bool uniforms and their vectors.
func Ints(name string, v ...int32) Uniform {
	return Uniform{Name: name, base: "int", data: raw.Bytes(v), several: true}
}

// Uints is Floats for uint and bool uniforms and their vectors.
func Uints(name string, v ...uint32) Uniform {
	return Uniform{Name: name, base: "uint", data: raw.Bytes(v), several: true}
}

// Bools is Floats for bool uniforms and their vectors.
func Bools(name string, v ...bool) Uniform {
	words := make([]uint32, len(v))
	for i, b := range v {
		words[i] = wordOf(b)
	}
	return Uniform{Name: name, base: "bool", data: raw.Bytes(words), several: true}
}

// Of returns a value of components of a type, as AppendTo has them. data is used until Submit has
// returned.
func (u Uniform) Of(base string, data []byte) Uniform {
	return Uniform{Name: u.Name, base: base, data: data, several: true}
}

// Clone returns the value with components of its own.
func (u Uniform) Clone() Uniform {
	u.data = slices.Clone(u.data)
	return u
}

func wordOf(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// Base returns the type of the components.
func (u *Uniform) Base() string { return u.base }

// One returns the bits of a single value, and false where there are several, or a double.
func (u *Uniform) One() (bits uint32, ok bool) {
	if u.several && len(u.data) == 4 {
		return binary.NativeEndian.Uint32(u.data), true
	}
	return u.one, !u.several
}

// Fits reports whether the value's components are those of a type.
func (u *Uniform) Fits(t shader.Type) bool {
	return u.base == t.Base() || t.Base() == "bool" && (u.base == "int" || u.base == "uint")
}

// Bytes returns the size of the value.
func (u *Uniform) Bytes() int {
	if u.several {
		return len(u.data)
	}
	return 4
}

// AppendTo appends the value to b, its components as the API of GL has them.
func (u *Uniform) AppendTo(b []byte) []byte {
	if u.several {
		return append(b, u.data...)
	}
	return binary.NativeEndian.AppendUint32(b, u.one)
}
