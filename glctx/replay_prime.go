//go:build linux && cgo

package glctx

import (
	"fmt"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
	"github.com/shadercache/shadercache/recording"
	"github.com/shadercache/shadercache/shader"
)

// Priming of recorded programs. Compute programs are primed as those of the cache. Drivers
// finish a graphics program at its first draw, in code that may depend on the state of
// that draw: the formats of the framebuffer, blending, the layout of the vertices. A
// recording does not have that state, so the draw has a common one:
//
//	framebuffer   one pixel of RGBA8 for each output, or RGBA32UI and RGBA32I; no depth
//	vertices      floats, or the integers that an attribute needs, one attribute after the
//	              other in one buffer
//	scissor       empty, so that no fragment is left
//	all else      as in a new context
//
// docs/recording.md has what of it a later draw finds.

// primeRecorded makes the driver finish a program, as far as that is possible without
// the application's state.
func (gl *GL) primeRecorded(p *recording.Program, id uint32) (Priming, error) {
	switch {
	case p.Has(recording.Compute):
		gl.separateSamplers(id)
		program := shader.Program{ID: id}
		program.Interface.WorkGroup = gl.workGroup(id) // Mesa 22.3 crashes of the length of a binary of SPIR-V
		return Dispatched, gl.prime(&program)
	case !p.Has(recording.Vertex) || p.Separable && !p.Has(recording.Fragment):
		return NotPrimed, nil
	}
	if err := gl.primeDraw(p, id); err != nil {
		return NotPrimed, fmt.Errorf("the program is linked, but not primed by a draw: %w", err)
	}
	return Drawn, nil
}

// primeDraw draws one primitive of which no fragment is left.
func (gl *GL) primeDraw(p *recording.Program, id uint32) error {
	gl.separateSamplers(id)
	var array uint32
	gl45.GenVertexArrays(1, &array)
	gl45.BindVertexArray(array)
	defer gl45.DeleteVertexArrays(1, &array)
	buffer := gl.vertexBuffer(id)
	defer gl45.DeleteBuffers(1, &buffer)
	target := gl.newReplayTarget(id)
	defer target.delete()
	mode, count := gl.primitive(p, id)
	gl45.Viewport(0, 0, 1, 1)
	gl45.Enable(gl45.SCISSOR_TEST)
	gl45.Scissor(0, 0, 0, 0)
	gl45.DrawArrays(mode, 0, count)
	gl45.Disable(gl45.SCISSOR_TEST)
	return gl.Err()
}

// primitive returns the mode of a draw, and the number of its vertices.
func (gl *GL) primitive(p *recording.Program, id uint32) (mode uint32, count int32) {
	if p.Has(recording.TessEvaluation) || p.Has(recording.TessControl) {
		return gl45.PATCHES, gl.integer(gl45.PATCH_VERTICES)
	}
	input := int32(gl45.TRIANGLES)
	if p.Has(recording.Geometry) {
		gl45.GetProgramiv(id, gl45.GEOMETRY_INPUT_TYPE, &input)
	}
	vertices := map[uint32]int32{
		gl45.POINTS: 1, gl45.LINES: 2, gl45.LINES_ADJACENCY: 4, gl45.TRIANGLES: 3, gl45.TRIANGLES_ADJACENCY: 6,
	}
	return uint32(input), vertices[uint32(input)]
}

// separateSamplers gives each sampler a texture unit of its own: a draw with samplers of
// two types on one unit, where all of them begin, is an error.
// The program is current afterwards.
func (gl *GL) separateSamplers(id uint32) {
	gl45.UseProgram(id)
	unit := int32(0)
	for _, u := range gl.activeVariables(id, gl45.ACTIVE_UNIFORMS, gl45.GetActiveUniform) {
		if shader.Type(u.kind).Opaque() != "sampler" {
			continue
		}
		location := gl45.GetUniformLocation(id, gl45.Str(u.name+"\x00"))
		for i := range u.length {
			if location >= 0 && unit < gl.integer(gl45.MAX_COMBINED_TEXTURE_IMAGE_UNITS) {
				gl45.Uniform1i(location+i, unit)
				unit++
			}
		}
	}
}

// activeVariable is an active attribute or uniform.
type activeVariable struct {
	name   string
	kind   uint32 // GL type
	length int32  // of an array, else 1
}

// longestVariable is the length to which names of variables are read.
const longestVariable = 4096

// activeVariables returns the active attributes or uniforms of a program.
func (gl *GL) activeVariables(id, count uint32, get func(program, index uint32, size int32, length, number *int32, kind *uint32, name *uint8)) (list []activeVariable) {
	var n int32
	gl45.GetProgramiv(id, count, &n)
	for i := range listLength(n) {
		var v activeVariable
		name := make([]byte, longestVariable+1)
		get(id, i, longestVariable, nil, &v.length, &v.kind, &name[0])
		v.name = gl45.GoStr(&name[0])
		list = append(list, v)
	}
	return list
}
