//go:build linux && cgo

package glctx

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
	"github.com/shadercache/shadercache/shader"
)

// SetInt sets an int uniform of the current program. Location -1 is ignored.
func (gl *GL) SetInt(location, v int32) {
	gl45.Uniform1i(location, v)
	gl.debugCheck("glUniform1i")
}

// SetUint sets a uint uniform of the current program. Location -1 is ignored.
func (gl *GL) SetUint(location int32, v uint32) {
	gl45.Uniform1ui(location, v)
	gl.debugCheck("glUniform1ui")
}

// SetFloat sets a float uniform of the current program. Location -1 is ignored.
func (gl *GL) SetFloat(location int32, v float32) {
	gl45.Uniform1f(location, v)
	gl.debugCheck("glUniform1f")
}

// SetUniform sets a uniform of the current program, or the first elements of an array:
// values has whole elements of type t, as [Bytes] returns the numbers of a slice. A
// matrix comes column by column. A bool is an int32 or uint32. Location -1 is ignored. It
// panics for a type that has no value and for a part of an element.
func (gl *GL) SetUniform(location int32, t shader.Type, values []byte) {
	size := t.Bytes()
	if size == 0 || len(values)%size != 0 {
		panic(fmt.Sprintf("glctx: %d bytes for a uniform of type %s, which has %d", len(values), t, size))
	}
	if len(values) == 0 || location < 0 {
		return
	}
	if len(values) == 4 { // the most common, and by value the fastest
		gl.setScalar(location, t, binary.NativeEndian.Uint32(values))
		return
	}
	columns, rows := t.Shape()
	n, p := int32(len(values)/size), unsafe.Pointer(unsafe.SliceData(values))
	switch base := t.Base(); {
	case base == "double" && columns > 1:
		doubleMatrices[columns-2][rows-2](location, n, false, (*float64)(p))
	case columns > 1:
		matrices[columns-2][rows-2](location, n, false, (*float32)(p))
	case base == "double":
		doubles[rows-1](location, n, (*float64)(p))
	case base == "float":
		floats[rows-1](location, n, (*float32)(p))
	case base == "uint":
		uints[rows-1](location, n, (*uint32)(p))
	default:
		ints[rows-1](location, n, (*int32)(p))
	}
	gl.debugCheck("glUniform")
}

// setScalar sets a uniform of one component of 4 bytes.
func (gl *GL) setScalar(location int32, t shader.Type, bits uint32) {
	switch t.Base() {
	case "float":
		gl.SetFloat(location, math.Float32frombits(bits))
	case "uint":
		gl.SetUint(location, bits)
	default:
		gl.SetInt(location, int32(bits))
	}
}

// Setters by the number of rows of a vector.
var (
	floats  = [...]func(location, n int32, v *float32){gl45.Uniform1fv, gl45.Uniform2fv, gl45.Uniform3fv, gl45.Uniform4fv}
	doubles = [...]func(location, n int32, v *float64){gl45.Uniform1dv, gl45.Uniform2dv, gl45.Uniform3dv, gl45.Uniform4dv}
	ints    = [...]func(location, n int32, v *int32){gl45.Uniform1iv, gl45.Uniform2iv, gl45.Uniform3iv, gl45.Uniform4iv}
	uints   = [...]func(location, n int32, v *uint32){gl45.Uniform1uiv, gl45.Uniform2uiv, gl45.Uniform3uiv, gl45.Uniform4uiv}
)

// Setters of matrices by the number of columns and rows.
var (
	matrices = [3][3]func(location, n int32, transpose bool, v *float32){
		{gl45.UniformMatrix2fv, gl45.UniformMatrix2x3fv, gl45.UniformMatrix2x4fv},
		{gl45.UniformMatrix3x2fv, gl45.UniformMatrix3fv, gl45.UniformMatrix3x4fv},
		{gl45.UniformMatrix4x2fv, gl45.UniformMatrix4x3fv, gl45.UniformMatrix4fv},
	}
	doubleMatrices = [3][3]func(location, n int32, transpose bool, v *float64){
		{gl45.UniformMatrix2dv, gl45.UniformMatrix2x3dv, gl45.UniformMatrix2x4dv},
		{gl45.UniformMatrix3x2dv, gl45.UniformMatrix3dv, gl45.UniformMatrix3x4dv},
		{gl45.UniformMatrix4x2dv, gl45.UniformMatrix4x3dv, gl45.UniformMatrix4dv},
	}
)

// UniformType returns the type of a uniform outside any block, 0 where the program does
// not use it.
func (gl *GL) UniformType(program uint32, name string) shader.Type {
	index := gl45.GetProgramResourceIndex(program, gl45.UNIFORM, gl45.Str(name+"\x00"))
	if index == gl45.INVALID_INDEX {
		return 0
	}
	property, t := uint32(gl45.TYPE), int32(0)
	gl45.GetProgramResourceiv(program, gl45.UNIFORM, index, 1, &property, 1, nil, &t)
	gl.debugCheck("glGetProgramResourceiv")
	return shader.Type(t)
}
