package glctx

import (
	"github.com/shadercache/shadercache/glctx/internal/gl45"
	"github.com/shadercache/shadercache/shader"
)

// assignUnits reads the units of a program's images and samplers, as layout(binding = N)
// sets them. Those that are declared without one are all at unit 0, where they hide each
// other, and samplers of different types make each dispatch an error. So of those that
// share unit 0 the first in the order of names keeps it, and the others get the lowest
// units that are free. An array has units in a row. In OpenGL ES, where the units of images
// cannot be changed, they stay.
func (gl *GL) assignUnits(p *shader.Program) {
	for _, kind := range []shader.Opaque{shader.ImageOpaque, shader.SamplerOpaque} {
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
		if kind == shader.ImageOpaque && gl.c.info.API == OpenGLES {
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
