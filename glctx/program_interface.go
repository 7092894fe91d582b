package glctx

import (
	"fmt"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/glctx/internal/gl45"
	"github.com/shadercache/shadercache/shader"
)

// readBytes reads the binary size of a program that was compiled: the driver may have to
// make its binary for that.
func (gl *GL) readBytes(p *shader.Program) {
	var size int32
	gl45.GetProgramiv(p.ID, gl45.PROGRAM_BINARY_LENGTH, &size)
	if size > 0 && size <= binary.MaxPayloadBytes {
		p.Bytes = int(size) // else the driver does not know
	}
}

// readInterface reads the interface of a program.
func (gl *GL) readInterface(p *shader.Program) error {
	p.Interface.WorkGroup = gl.workGroup(p.ID)
	for _, k := range resourceKinds {
		p.Interface.Resources = gl.resources(p.Interface.Resources, p.ID, k)
	}
	gl.measureBlocks(p)
	p.Interface.Sort()
	gl.assignUnits(p)
	if err := gl.Err(); err != nil {
		return fmt.Errorf("glctx: read the program's interface: %w", err)
	}
	return nil
}

// workGroup returns the size of a program's work groups, zeros with local_size_variable.
func (gl *GL) workGroup(program uint32) (size [3]uint32) {
	var group [3]int32
	gl45.GetProgramiv(program, gl45.COMPUTE_WORK_GROUP_SIZE, &group[0])
	for axis, v := range group {
		size[axis] = uint32(v)
	}
	return size
}

// resourceKind has the GL enumerants to query one kind of resource.
type resourceKind struct {
	kind       shader.ResourceKind
	of         uint32    // GL program interface
	properties [4]uint32 // binding or location, bytes or array size, block, type
}

var resourceKinds = []resourceKind{
	{shader.StorageBuffer, gl45.SHADER_STORAGE_BLOCK, [4]uint32{gl45.BUFFER_BINDING, gl45.BUFFER_DATA_SIZE}},
	{shader.UniformBuffer, gl45.UNIFORM_BLOCK, [4]uint32{gl45.BUFFER_BINDING, gl45.BUFFER_DATA_SIZE}},
	{shader.AtomicCounter, gl45.ATOMIC_COUNTER_BUFFER, [4]uint32{gl45.BUFFER_BINDING, gl45.BUFFER_DATA_SIZE}},
	{shader.Uniform, gl45.UNIFORM, [4]uint32{gl45.LOCATION, gl45.ARRAY_SIZE, gl45.BLOCK_INDEX, gl45.TYPE}},
}

// resources appends the active resources of one kind to list. Uniforms inside a block
// belong to the block and are omitted.
func (gl *GL) resources(list []shader.Resource, program uint32, k resourceKind) []shader.Resource {
	var count int32
	gl45.GetProgramInterfaceiv(program, k.of, gl45.ACTIVE_RESOURCES, &count)
	queried := int32(2)
	if k.kind == shader.Uniform {
		queried = 4
	}
	for i := range listLength(count) {
		values := [4]int32{-1, -1, -1, 0}
		gl45.GetProgramResourceiv(program, k.of, i, queried, &k.properties[0], queried, nil, &values[0])
		if k.kind == shader.Uniform && values[2] >= 0 {
			continue
		}
		r := shader.Resource{Kind: k.kind, Binding: values[0], Bytes: values[1], Type: shader.Type(values[3])}
		if k.kind != shader.AtomicCounter {
			r.Name = resourceName(program, k.of, i)
		}
		list = append(list, r)
	}
	return list
}

// longestName is the length to which resource names are read.
const longestName = 256

func resourceName(program, of, index uint32) string {
	var buffer [longestName]uint8
	var length int32
	gl45.GetProgramResourceName(program, of, index, longestName, &length, &buffer[0])
	return string(buffer[:min(max(length, 0), longestName)])
}
