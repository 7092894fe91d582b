package executor

import (
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// SetUniform sets the uniform in program, which is current, for callers that dispatch
// without an executor. A name that the program does not use is ignored. It panics where
// the value is not one of the uniform's type.
func SetUniform(gl *glctx.GL, program uint32, u job.Uniform) {
	location := gl.UniformLocation(program, u.Name)
	if location < 0 {
		return
	}
	if t := gl.UniformType(program, u.Name); u.Fits(t) {
		gl.SetUniform(location, t, u.AppendTo(nil))
	} else {
		panic("executor: uniform " + u.Name + " is of type " + t.String() + " and was given " + u.Base() + " components")
	}
}
