//go:build linux && cgo

package gl45

import "github.com/go-gl/gl/v4.5-core/gl"

// The calls with which a recorded graphics program is linked and drawn.

var (
	BindAttribLocation             = gl.BindAttribLocation
	BindFragDataLocationIndexed    = gl.BindFragDataLocationIndexed
	BindFramebuffer                = gl.BindFramebuffer
	BindRenderbuffer               = gl.BindRenderbuffer
	BindVertexArray                = gl.BindVertexArray
	CreateShaderProgramv           = gl.CreateShaderProgramv
	DeleteFramebuffers             = gl.DeleteFramebuffers
	DeleteRenderbuffers            = gl.DeleteRenderbuffers
	DeleteVertexArrays             = gl.DeleteVertexArrays
	DrawArrays                     = gl.DrawArrays
	DrawBuffers                    = gl.DrawBuffers
	EnableVertexAttribArray        = gl.EnableVertexAttribArray
	FramebufferRenderbuffer        = gl.FramebufferRenderbuffer
	GenFramebuffers                = gl.GenFramebuffers
	GenRenderbuffers               = gl.GenRenderbuffers
	GenVertexArrays                = gl.GenVertexArrays
	GetActiveAttrib                = gl.GetActiveAttrib
	GetActiveUniform               = gl.GetActiveUniform
	GetAttribLocation              = gl.GetAttribLocation
	RenderbufferStorage            = gl.RenderbufferStorage
	Scissor                        = gl.Scissor
	ShaderBinary                   = gl.ShaderBinary
	SpecializeShaderARB            = gl.SpecializeShaderARB
	TransformFeedbackVaryings      = gl.TransformFeedbackVaryings
	VertexAttribIPointerWithOffset = gl.VertexAttribIPointerWithOffset
	VertexAttribLPointerWithOffset = gl.VertexAttribLPointerWithOffset
	VertexAttribPointerWithOffset  = gl.VertexAttribPointerWithOffset
	Viewport                       = gl.Viewport
)
