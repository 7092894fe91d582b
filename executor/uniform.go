package executor

import (
	"encoding/binary"
	"math"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// Uniform is a value for a uniform outside any block. The name of an array needs no
// "[0]"; each member of a struct is a uniform, as in "lights[1].colour".
type Uniform struct {
	name string
	base shader.Base
	one  uint32 // where data is nil
	data []byte // the components as the API of GL has them
}

// Int returns a value for an int or bool uniform.
func Int(name string, v int32) Uniform { return Uniform{name, shader.IntBase, uint32(v), nil} }

// Uint returns a value for a uint or bool uniform.
func Uint(name string, v uint32) Uniform { return Uniform{name, shader.UintBase, v, nil} }

// Float returns a value for a float uniform.
func Float(name string, v float32) Uniform {
	return Uniform{name, shader.FloatBase, math.Float32bits(v), nil}
}

// Bool returns a value for a bool uniform.
func Bool(name string, v bool) Uniform { return Uniform{name, shader.BoolBase, wordOf(v), nil} }

// Floats returns the components of a float, vector or matrix uniform, or of an array of
// them, element by element and a matrix column by column. v is used until Submit has
// returned.
func Floats(name string, v ...float32) Uniform {
	return Uniform{name, shader.FloatBase, 0, glctx.Bytes(v)}
}

// Doubles is Floats for double uniforms.
func Doubles(name string, v ...float64) Uniform {
	return Uniform{name, shader.DoubleBase, 0, glctx.Bytes(v)}
}

// Ints is Floats for int and bool uniforms and their vectors.
func Ints(name string, v ...int32) Uniform {
	return Uniform{name, shader.IntBase, 0, glctx.Bytes(v)}
}

// Uints is Floats for uint and bool uniforms and their vectors.
func Uints(name string, v ...uint32) Uniform {
	return Uniform{name, shader.UintBase, 0, glctx.Bytes(v)}
}

// Bools is Floats for bool uniforms and their vectors.
func Bools(name string, v ...bool) Uniform {
	words := make([]uint32, len(v))
	for i, b := range v {
		words[i] = wordOf(b)
	}
	return Uniform{name, shader.BoolBase, 0, glctx.Bytes(words)}
}

func wordOf(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// fits reports whether the value's components are those of a type.
func (u *Uniform) fits(t shader.Type) bool {
	return u.base == t.Base() || t.Base() == shader.BoolBase && (u.base == shader.IntBase || u.base == shader.UintBase)
}

// bytes returns the size of the value.
func (u *Uniform) bytes() int {
	if u.data == nil {
		return 4
	}
	return len(u.data)
}

// appendTo appends the value to b.
func (u *Uniform) appendTo(b []byte) []byte {
	if u.data != nil {
		return append(b, u.data...)
	}
	return binary.NativeEndian.AppendUint32(b, u.one)
}

// Set sets the uniform in program, which is current, for callers that dispatch
// without an executor. A name that the program does not use is ignored. It panics where
// the value is not one of the uniform's type.
func (u Uniform) Set(gl *glctx.GL, program uint32) {
	location := gl.UniformLocation(program, u.name)
	if location < 0 {
		return
	}
	if t := gl.UniformType(program, u.name); u.fits(t) {
		gl.SetUniform(location, t, u.appendTo(nil))
	} else {
		panic("executor: uniform " + u.name + " is of type " + t.String() + " and was given " + u.base.String() + " components")
	}
}

// isNamed reports whether a name that a caller gives is that of a resource: the name of
// an array may lack its "[0]".
func isNamed(name string, r *shader.Resource) bool {
	return name == r.Name || len(r.Name) == len(name)+len("[0]") && r.Name[:len(name)] == name && r.Name[len(name):] == "[0]"
}
