//go:build linux && cgo

package glctx

import (
	"fmt"
	"strings"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
	"github.com/shadercache/shadercache/binary"
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
	for _, list := range [...]uint32{gl45.UNIFORM, gl45.BUFFER_VARIABLE} {
		var count int32
		gl45.GetProgramInterfaceiv(p.ID, list, gl45.ACTIVE_RESOURCES, &count)
		if count > longestList { // what is not listed is not checked
			return fmt.Errorf("glctx: the program has %d variables in its blocks and outside, at most %d are possible", count, longestList)
		}
	}
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
	of         uint32   // GL program interface
	properties []uint32 // binding or location, bytes or array size, block, type
}

var resourceKinds = []resourceKind{
	{shader.StorageBuffer, gl45.SHADER_STORAGE_BLOCK, []uint32{gl45.BUFFER_BINDING, gl45.BUFFER_DATA_SIZE}},
	{shader.UniformBuffer, gl45.UNIFORM_BLOCK, []uint32{gl45.BUFFER_BINDING, gl45.BUFFER_DATA_SIZE}},
	{shader.AtomicCounter, gl45.ATOMIC_COUNTER_BUFFER, []uint32{gl45.BUFFER_BINDING, gl45.BUFFER_DATA_SIZE}},
	{shader.Uniform, gl45.UNIFORM, []uint32{gl45.LOCATION, gl45.ARRAY_SIZE, gl45.BLOCK_INDEX, gl45.TYPE}},
}

// resources appends the active resources of one kind to list. Uniforms inside a block
// belong to the block and are omitted.
func (gl *GL) resources(list []shader.Resource, program uint32, k resourceKind) []shader.Resource {
	var count int32
	gl45.GetProgramInterfaceiv(program, k.of, gl45.ACTIVE_RESOURCES, &count)
	queried := int32(len(k.properties))
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

// longestName is the most bytes of a resource's name, with a zero byte: the replies of a server have no
// longer ones.
const longestName = 4096 + 1

func resourceName(program, of, index uint32) string {
	for size := int32(256); ; size = longestName {
		buffer, length := make([]uint8, size), int32(0)
		gl45.GetProgramResourceName(program, of, index, size, &length, &buffer[0])
		if length = min(max(length, 0), size); length < size-1 || size == longestName {
			return string(buffer[:length])
		}
	}
}

var variableProperties = [...]uint32{
	gl45.TYPE, gl45.BLOCK_INDEX, gl45.OFFSET, gl45.ARRAY_SIZE, gl45.ARRAY_STRIDE, gl45.TOP_LEVEL_ARRAY_STRIDE, gl45.TOP_LEVEL_ARRAY_SIZE,
	gl45.MATRIX_STRIDE, gl45.IS_ROW_MAJOR,
}

// variable returns the variableProperties of a variable in a storage block.
func variable(program, index uint32) (v [len(variableProperties)]int32) {
	n := int32(len(v))
	gl45.GetProgramResourceiv(program, gl45.BUFFER_VARIABLE, index, n, &variableProperties[0], n, nil, &v[0])
	return v
}

// measureBlocks sets what the storage blocks of a program declare. Those are the first of its
// resources, in the driver's order.
func (gl *GL) measureBlocks(p *shader.Program) {
	var count int32
	gl45.GetProgramInterfaceiv(p.ID, gl45.BUFFER_VARIABLE, gl45.ACTIVE_RESOURCES, &count)
	for i := range listLength(count) {
		v := variable(p.ID, i)
		if block := int(v[1]); block >= 0 && block < len(p.Interface.Resources) {
			measure(&p.Interface.Resources[block], v)
		}
	}
	var first shader.Resource // of an array of blocks, which alone has variables
	for i := range p.Interface.Resources {
		b := &p.Interface.Resources[i]
		b.Declared = max(b.Declared, b.Offset+b.Stride) // NVIDIA ends Bytes with the last member
		if base, _, _ := strings.Cut(b.Name, "["); b.Kind == first.Kind && strings.HasPrefix(first.Name, base+"[") && b.Declared == 0 {
			b.Declared, b.Stride, b.Offset = first.Declared, first.Stride, first.Offset
		} else {
			first = *b
		}
	}
}

// measure adds a variable, of which arrays have at least one element, to its block.
func measure(block *shader.Resource, v [len(variableProperties)]int32) {
	offset, length, stride, topStride, topLength := v[2], v[3], v[4], v[5], v[6]
	end := offset + max(length-1, 0)*stride + span(v[0], v[7], v[8] != 0)
	if topStride != stride || topLength != length { // drivers differ in the top of an array that is the innermost too
		end += max(topLength-1, 0) * topStride
	}
	block.Declared = max(block.Declared, min(end, block.Bytes)) // Mesa lists the offset of a last element for some
	if length == 0 {
		topStride = stride
	}
	if length == 0 || topLength == 0 && topStride > 0 {
		if block.Stride == 0 || offset < block.Offset { // the first member of a struct
			block.Offset = offset
		}
		block.Stride = topStride
	}
}

// int64Bytes are the sizes of the types that GL_ARB_gpu_shader_int64 adds.
var int64Bytes = map[int32]int32{
	gl45.INT64_ARB: 8, gl45.INT64_VEC2_ARB: 16, gl45.INT64_VEC3_ARB: 24, gl45.INT64_VEC4_ARB: 32,
	gl45.UNSIGNED_INT64_ARB: 8, gl45.UNSIGNED_INT64_VEC2_ARB: 16, gl45.UNSIGNED_INT64_VEC3_ARB: 24, gl45.UNSIGNED_INT64_VEC4_ARB: 32,
}

// span returns the bytes from the start to the end of a value in a block, where the columns of a matrix,
// or its rows, are stride bytes apart.
func span(of, stride int32, rowMajor bool) int32 {
	t := shader.Type(of)
	vectors, rows := t.Shape()
	if rowMajor {
		vectors = rows
	}
	if vectors == 0 {
		return int64Bytes[of]
	}
	return int32(vectors-1)*stride + int32(t.Bytes()/vectors)
}

// assignUnits reads the units of a program's images and samplers, as layout(binding = N)
// sets them. Those that are declared without one are all at unit 0, where they hide each
// other, and samplers of different types make each dispatch an error. So of those that
// share unit 0 the first in the order of names keeps it, and the others get the lowest
// units that are free. An array has units in a row. In OpenGL ES, where the units of images
// cannot be changed, they stay.
func (gl *GL) assignUnits(p *shader.Program) {
	for _, kind := range []string{"image", "sampler"} {
		used := map[int32]bool{}
		var shared []*shader.Resource
		for i := range p.Interface.Resources {
			r := &p.Interface.Resources[i]
			if r.Opaque() != kind || r.Binding < 0 {
				continue
			}
			first, ordered := gl.units(p.ID, r)
			r.Unit = first
			if first == 0 && (used[0] || !ordered) {
				shared = append(shared, r)
				continue
			}
			for k := range r.Bytes {
				used[first+k] = true
			}
		}
		if kind == "image" && gl.c.info.API == OpenGLES {
			continue
		}
		for _, r := range shared {
			gl.moveUnits(p.ID, r, used)
		}
	}
}

// units returns the unit of the first element of an image or sampler uniform, and
// reports whether the others follow in a row.
func (gl *GL) units(program uint32, r *shader.Resource) (first int32, ordered bool) {
	gl45.GetUniformiv(program, r.Binding, &first)
	for k := int32(1); k < r.Bytes; k++ {
		var unit int32
		gl45.GetUniformiv(program, r.Binding+k, &unit)
		if unit != first+k {
			return first, false
		}
	}
	return first, true
}

// moveUnits gives a uniform the lowest units that are not used.
func (gl *GL) moveUnits(program uint32, r *shader.Resource, used map[int32]bool) {
	first := int32(0)
	for k := int32(0); k < r.Bytes; k++ {
		if used[first+k] {
			first, k = first+k+1, -1
		}
	}
	units := make([]int32, r.Bytes)
	for k := range units {
		units[k] = first + int32(k)
		used[units[k]] = true
	}
	r.Unit = first
	gl45.ProgramUniform1iv(program, r.Binding, r.Bytes, &units[0])
}
