package glctx

import (
	"cmp"
	"slices"

	"github.com/shadercache/shadercache/glctx/internal/gl45"
)

// vertexFormat is how the vertices of a draw give an attribute: columns of a matrix are
// attributes of their own.
type vertexFormat struct {
	columns    int32
	components int32
	kind       uint32 // of a component; FLOAT, INT, UNSIGNED_INT or DOUBLE
}

// vertexFormats are the formats of the types of attributes, by their GL type.
var vertexFormats = map[uint32]vertexFormat{
	gl45.FLOAT: {1, 1, gl45.FLOAT}, gl45.FLOAT_VEC2: {1, 2, gl45.FLOAT}, gl45.FLOAT_VEC3: {1, 3, gl45.FLOAT}, gl45.FLOAT_VEC4: {1, 4, gl45.FLOAT},
	gl45.FLOAT_MAT2: {2, 2, gl45.FLOAT}, gl45.FLOAT_MAT3: {3, 3, gl45.FLOAT}, gl45.FLOAT_MAT4: {4, 4, gl45.FLOAT},
	gl45.FLOAT_MAT2x3: {2, 3, gl45.FLOAT}, gl45.FLOAT_MAT2x4: {2, 4, gl45.FLOAT}, gl45.FLOAT_MAT3x2: {3, 2, gl45.FLOAT},
	gl45.FLOAT_MAT3x4: {3, 4, gl45.FLOAT}, gl45.FLOAT_MAT4x2: {4, 2, gl45.FLOAT}, gl45.FLOAT_MAT4x3: {4, 3, gl45.FLOAT},
	gl45.INT: {1, 1, gl45.INT}, gl45.INT_VEC2: {1, 2, gl45.INT}, gl45.INT_VEC3: {1, 3, gl45.INT}, gl45.INT_VEC4: {1, 4, gl45.INT},
	gl45.UNSIGNED_INT: {1, 1, gl45.UNSIGNED_INT}, gl45.UNSIGNED_INT_VEC2: {1, 2, gl45.UNSIGNED_INT},
	gl45.UNSIGNED_INT_VEC3: {1, 3, gl45.UNSIGNED_INT}, gl45.UNSIGNED_INT_VEC4: {1, 4, gl45.UNSIGNED_INT},
	gl45.DOUBLE: {1, 1, gl45.DOUBLE}, gl45.DOUBLE_VEC2: {1, 2, gl45.DOUBLE}, gl45.DOUBLE_VEC3: {1, 3, gl45.DOUBLE}, gl45.DOUBLE_VEC4: {1, 4, gl45.DOUBLE},
}

// vertices is the number of vertices of a buffer: enough for any primitive.
const vertices = 32

// vertexBuffer makes a buffer for the attributes of a program, and sets them in the
// vertex array that is bound: interleaved, in the order of their locations.
func (gl *GL) vertexBuffer(id uint32) (buffer uint32) {
	type attribute struct {
		vertexFormat
		location uint32
	}
	var list []attribute
	stride := int32(0)
	for _, v := range gl.activeVariables(id, gl45.ACTIVE_ATTRIBUTES, gl45.GetActiveAttrib) {
		location := gl45.GetAttribLocation(id, gl45.Str(v.name+"\x00"))
		f, known := vertexFormats[v.kind]
		if location < 0 || !known {
			continue // gl_VertexID, for example
		}
		f.columns *= max(v.length, 1)
		list = append(list, attribute{f, uint32(location)})
		stride += f.columns * f.bytes()
	}
	slices.SortFunc(list, func(a, b attribute) int { return cmp.Compare(a.location, b.location) })
	gl45.GenBuffers(1, &buffer)
	gl45.BindBuffer(gl45.ARRAY_BUFFER, buffer)
	zeros := make([]byte, vertices*max(stride, 4))
	gl45.BufferData(gl45.ARRAY_BUFFER, len(zeros), gl45.Ptr(zeros), gl45.STATIC_DRAW)
	offset := 0
	for _, a := range list {
		for column := range uint32(a.columns) {
			a.set(a.location+column, stride, offset)
			offset += int(a.bytes())
		}
	}
	return buffer
}

// bytes returns the bytes of one column.
func (f vertexFormat) bytes() int32 {
	if f.kind == gl45.DOUBLE {
		return 8 * f.components
	}
	return 4 * f.components
}

// set sets one attribute of the bound vertex array.
func (f vertexFormat) set(location uint32, stride int32, offset int) {
	gl45.EnableVertexAttribArray(location)
	switch f.kind {
	case gl45.FLOAT:
		gl45.VertexAttribPointerWithOffset(location, f.components, f.kind, false, stride, uintptr(offset))
	case gl45.DOUBLE:
		gl45.VertexAttribLPointerWithOffset(location, f.components, f.kind, stride, uintptr(offset))
	default:
		gl45.VertexAttribIPointerWithOffset(location, f.components, f.kind, stride, uintptr(offset))
	}
}

// replayTarget is the framebuffer of a draw.
type replayTarget struct {
	framebuffer uint32
	colours     []uint32 // renderbuffers
}

// newReplayTarget makes a framebuffer of one pixel with a colour for each output of a
// program, and binds it.
func (gl *GL) newReplayTarget(id uint32) *replayTarget {
	t := &replayTarget{}
	gl45.GenFramebuffers(1, &t.framebuffer)
	gl45.BindFramebuffer(gl45.FRAMEBUFFER, t.framebuffer)
	formats := gl.outputFormats(id)
	buffers := make([]uint32, len(formats))
	for i, format := range formats {
		var colour uint32
		gl45.GenRenderbuffers(1, &colour)
		gl45.BindRenderbuffer(gl45.RENDERBUFFER, colour)
		gl45.RenderbufferStorage(gl45.RENDERBUFFER, format, 1, 1)
		buffers[i] = gl45.COLOR_ATTACHMENT0 + uint32(i)
		gl45.FramebufferRenderbuffer(gl45.FRAMEBUFFER, buffers[i], gl45.RENDERBUFFER, colour)
		t.colours = append(t.colours, colour)
	}
	gl45.DrawBuffers(int32(len(buffers)), &buffers[0])
	return t
}

func (t *replayTarget) delete() {
	gl45.DeleteFramebuffers(1, &t.framebuffer)
	gl45.DeleteRenderbuffers(int32(len(t.colours)), &t.colours[0])
}

// outputFormats returns the formats of the colours that a program writes, by their
// numbers: at least one.
func (gl *GL) outputFormats(id uint32) []uint32 {
	formats := []uint32{gl45.RGBA8}
	limit := gl.integer(gl45.MAX_DRAW_BUFFERS)
	if !gl.c.info.hasCompute() {
		return formats // the queries below are as new
	}
	var count int32
	gl45.GetProgramInterfaceiv(id, gl45.PROGRAM_OUTPUT, gl45.ACTIVE_RESOURCES, &count)
	for i := range listLength(count) {
		properties, values := [...]uint32{gl45.LOCATION, gl45.TYPE, gl45.ARRAY_SIZE}, [3]int32{}
		gl45.GetProgramResourceiv(id, gl45.PROGRAM_OUTPUT, i, 3, &properties[0], 3, nil, &values[0])
		for n := range max(values[2], 1) {
			location := values[0] + n
			if values[0] < 0 || location >= limit {
				continue // gl_FragDepth, for example
			}
			for int(location) >= len(formats) {
				formats = append(formats, gl45.RGBA8)
			}
			formats[location] = outputFormat(uint32(values[1]))
		}
	}
	return formats
}

// outputFormat returns the format of a colour for an output of a type.
func outputFormat(kind uint32) uint32 {
	switch vertexFormats[kind].kind {
	case gl45.INT:
		return gl45.RGBA32I
	case gl45.UNSIGNED_INT:
		return gl45.RGBA32UI
	}
	return gl45.RGBA8
}
