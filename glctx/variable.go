//go:build linux && cgo

package glctx

import (
	"fmt"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
	"github.com/shadercache/shadercache/shader"
)

// wordsOf returns the words of a value.
func wordsOf(t shader.Type) int {
	columns, rows := t.Shape()
	if columns != 1 || t.Base() == "double" || t.Base() == "bool" {
		return 0
	}
	return rows
}

// Variables returns the variables in the storage blocks of a program. Those that
// the program does not use may be missing.
func (gl *GL) Variables(program uint32) ([]Variable, error) {
	var count int32
	gl45.GetProgramInterfaceiv(program, gl45.BUFFER_VARIABLE, gl45.ACTIVE_RESOURCES, &count)
	list := make([]Variable, 0, listLength(count))
	for i := range listLength(count) {
		v := variable(program, i)
		of := shader.Type(v[0])
		list = append(list, Variable{
			Name:  resourceName(program, gl45.BUFFER_VARIABLE, i),
			Block: resourceName(program, gl45.SHADER_STORAGE_BLOCK, uint32(max(v[1], 0))),
			Base:  of.Base(), Words: wordsOf(of),
			Offset: int(v[2]), Length: int(v[3]), Stride: int(v[4]), TopStride: int(v[5]),
		})
	}
	if err := gl.Err(); err != nil {
		return nil, fmt.Errorf("glctx: read the program's variables: %w", err)
	}
	return list, nil
}
