//go:build !linux || !cgo

package gl45

import "unsafe"

func BindAttribLocation(_ uint32, _ uint32, _ *uint8) {}

func BindFragDataLocationIndexed(_ uint32, _ uint32, _ uint32, _ *uint8) {}

func BindFramebuffer(_ uint32, _ uint32) {}

func BindRenderbuffer(_ uint32, _ uint32) {}

func BindVertexArray(_ uint32) {}

func CreateShaderProgramv(_ uint32, _ int32, _ **uint8) uint32 { return 0 }

func DeleteFramebuffers(_ int32, _ *uint32) {}

func DeleteRenderbuffers(_ int32, _ *uint32) {}

func DeleteVertexArrays(_ int32, _ *uint32) {}

func DrawArrays(_ uint32, _ int32, _ int32) {}

func DrawBuffers(_ int32, _ *uint32) {}

func EnableVertexAttribArray(_ uint32) {}

func FramebufferRenderbuffer(_ uint32, _ uint32, _ uint32, _ uint32) {}

func GenFramebuffers(_ int32, _ *uint32) {}

func GenRenderbuffers(_ int32, _ *uint32) {}

func GenVertexArrays(_ int32, _ *uint32) {}

func GetActiveAttrib(_ uint32, _ uint32, _ int32, _ *int32, _ *int32, _ *uint32, _ *uint8) {}

func GetActiveUniform(_ uint32, _ uint32, _ int32, _ *int32, _ *int32, _ *uint32, _ *uint8) {}

func GetAttribLocation(_ uint32, _ *uint8) int32 { return 0 }

func RenderbufferStorage(_ uint32, _ uint32, _ int32, _ int32) {}

func Scissor(_ int32, _ int32, _ int32, _ int32) {}

func ShaderBinary(_ int32, _ *uint32, _ uint32, _ unsafe.Pointer, _ int32) {}

func SpecializeShaderARB(_ uint32, _ *uint8, _ uint32, _ *uint32, _ *uint32) {}

func TransformFeedbackVaryings(_ uint32, _ int32, _ **uint8, _ uint32) {}

func VertexAttribIPointerWithOffset(_ uint32, _ int32, _ uint32, _ int32, _ uintptr) {}

func VertexAttribLPointerWithOffset(_ uint32, _ int32, _ uint32, _ int32, _ uintptr) {}

func VertexAttribPointerWithOffset(_ uint32, _ int32, _ uint32, _ bool, _ int32, _ uintptr) {}

func Viewport(_ int32, _ int32, _ int32, _ int32) {}
