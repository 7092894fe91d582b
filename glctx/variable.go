package glctx

import (
	"fmt"

	"github.com/shadercache/shadercache/glctx/internal/gl45"
)

// Variable is a variable in a storage block of a program, with the driver's layout.
// The name of an array is that of its first element, as in "list[0].at[0]".
type Variable struct {
	Name      string
	Block     string
	Kind      VariableKind
	Words     int // 32-bit words of one element
	Offset    int // bytes
	Length    int // elements of the innermost array; 0: to the end of the buffer
	Stride    int // bytes from element to element; 0: no array
	TopStride int // bytes from element to element of the outermost array; 0: none
}

// VariableKind is the type of a Variable's words.
type VariableKind string

// The kinds of variable. Those of other types have OtherKind and no words.
const (
	FloatKind VariableKind = "float"
	IntKind   VariableKind = "int"
	UintKind  VariableKind = "uint"
	OtherKind VariableKind = "other"
)

// variableTypes are the types of GLSL that a Variable can describe.
var variableTypes = map[uint32]struct {
	kind  VariableKind
	words int
}{
	gl45.FLOAT: {FloatKind, 1}, gl45.FLOAT_VEC2: {FloatKind, 2}, gl45.FLOAT_VEC3: {FloatKind, 3}, gl45.FLOAT_VEC4: {FloatKind, 4},
	gl45.INT: {IntKind, 1}, gl45.INT_VEC2: {IntKind, 2}, gl45.INT_VEC3: {IntKind, 3}, gl45.INT_VEC4: {IntKind, 4},
	gl45.UNSIGNED_INT: {UintKind, 1}, gl45.UNSIGNED_INT_VEC2: {UintKind, 2}, gl45.UNSIGNED_INT_VEC3: {UintKind, 3}, gl45.UNSIGNED_INT_VEC4: {UintKind, 4},
}

// Variables returns the variables in the storage blocks of a program. Those that
// the program does not use may be missing.
func (gl *GL) Variables(program uint32) ([]Variable, error) {
	var count int32
	gl45.GetProgramInterfaceiv(program, gl45.BUFFER_VARIABLE, gl45.ACTIVE_RESOURCES, &count)
	list := make([]Variable, 0, listLength(count))
	for i := range listLength(count) {
		v := variable(program, i)
		t, known := variableTypes[uint32(v[0])]
		if !known {
			t.kind = OtherKind
		}
		list = append(list, Variable{
			Name:  resourceName(program, gl45.BUFFER_VARIABLE, i),
			Block: resourceName(program, gl45.SHADER_STORAGE_BLOCK, uint32(max(v[1], 0))),
			Kind:  t.kind, Words: t.words,
			Offset: int(v[2]), Length: int(v[3]), Stride: int(v[4]), TopStride: int(v[5]),
		})
	}
	if err := gl.Err(); err != nil {
		return nil, fmt.Errorf("glctx: read the program's variables: %w", err)
	}
	return list, nil
}
