//go:build linux && cgo

package glctx

import (
	"cmp"
	"slices"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
	"github.com/shadercache/shadercache/shader"
)

// attribute is an attribute of a program. Columns of a matrix are attributes of their own to GL.
type attribute struct {
	shader.Type
	location, columns uint32 // of all elements of an array
}

// vertices is the number of vertices of a buffer: enough for any primitive.
const vertices = 32

// vertexBuffer makes a buffer for the attributes of a program, and sets them in the
// vertex array that is bound: interleaved, in the order of their locations.
func (gl *GL) vertexBuffer(id uint32) (buffer uint32) {
	var list []attribute
	stride := int32(0)
	for _, v := range gl.activeVariables(id, gl45.ACTIVE_ATTRIBUTES, gl45.GetActiveAttrib) {
		location := gl45.GetAttribLocation(id, gl45.Str(v.name+"\x00"))
		t := shader.Type(v.kind)
		columns, _ := t.Shape()
		if location < 0 || columns == 0 {
			continue // gl_VertexID, for example
		}
		columns *= max(int(v.length), 1)
		list = append(list, attribute{t, uint32(location), uint32(columns)})
		stride += int32(columns) * columnBytes(t)
	}
	slices.SortFunc(list, func(a, b attribute) int { return cmp.Compare(a.location, b.location) })
	gl45.GenBuffers(1, &buffer)
	gl45.BindBuffer(gl45.ARRAY_BUFFER, buffer)
	zeros := make([]byte, vertices*max(stride, 4))
	gl45.BufferData(gl45.ARRAY_BUFFER, len(zeros), gl45.Ptr(zeros), gl45.STATIC_DRAW)
	offset := 0
	for _, a := range list {
		for column := range a.columns {
			setAttribute(a.Type, a.location+column, stride, offset)
			offset += int(columnBytes(a.Type))
		}
	}
	return buffer
}

// columnBytes returns the bytes of one column of a type.
func columnBytes(t shader.Type) int32 {
	columns, _ := t.Shape()
	return int32(t.Bytes() / columns)
}

// setAttribute sets one attribute of the bound vertex array to a column of a type.
func setAttribute(t shader.Type, location uint32, stride int32, offset int) {
	gl45.EnableVertexAttribArray(location)
	_, n := t.Shape()
	rows, at := int32(n), uintptr(offset)
	switch t.Base() {
	case "float":
		gl45.VertexAttribPointerWithOffset(location, rows, gl45.FLOAT, false, stride, at)
	case "double":
		gl45.VertexAttribLPointerWithOffset(location, rows, gl45.DOUBLE, stride, at)
	case "int":
		gl45.VertexAttribIPointerWithOffset(location, rows, gl45.INT, stride, at)
	default:
		gl45.VertexAttribIPointerWithOffset(location, rows, gl45.UNSIGNED_INT, stride, at)
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
	switch shader.Type(kind).Base() {
	case "int":
		return gl45.RGBA32I
	case "uint":
		return gl45.RGBA32UI
	}
	return gl45.RGBA8
}
