//go:build linux && cgo

package glctx

import (
	"fmt"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
	"github.com/shadercache/shadercache/shader"
)

// kindOfType returns the kind of a type and the words of a value.
func kindOfType(t shader.Type) (VariableKind, int) {
	columns, rows := t.Shape()
	switch kind := VariableKind(t.Base().String()); kind {
	case FloatKind, IntKind, UintKind:
		if columns == 1 {
			return kind, rows
		}
	}
	return OtherKind, 0
}

// Variables returns the variables in the storage blocks of a program. Those that
// the program does not use may be missing.
func (gl *GL) Variables(program uint32) ([]Variable, error) {
	var count int32
	gl45.GetProgramInterfaceiv(program, gl45.BUFFER_VARIABLE, gl45.ACTIVE_RESOURCES, &count)
	list := make([]Variable, 0, listLength(count))
	for i := range listLength(count) {
		v := variable(program, i)
		kind, words := kindOfType(shader.Type(v[0]))
		list = append(list, Variable{
			Name:  resourceName(program, gl45.BUFFER_VARIABLE, i),
			Block: resourceName(program, gl45.SHADER_STORAGE_BLOCK, uint32(max(v[1], 0))),
			Kind:  kind, Words: words,
			Offset: int(v[2]), Length: int(v[3]), Stride: int(v[4]), TopStride: int(v[5]),
		})
	}
	if err := gl.Err(); err != nil {
		return nil, fmt.Errorf("glctx: read the program's variables: %w", err)
	}
	return list, nil
}
