//go:build !linux || !cgo

package gl45

import "unsafe"

// DebugProc is the type of a debug callback.
type DebugProc func(source, gltype, id, severity uint32, length int32, message string, userParam unsafe.Pointer)

// The calls by their types. Without cgo there is no context, so that nothing makes them: they
// are nil.

var Finish, Flush func()
var DispatchComputeIndirect func(int)
var BindVertexArray, CompileShader, DeleteProgram, DeleteShader, Disable, Enable, EnableVertexAttribArray, GenerateTextureMipmap,
	LinkProgram, MaxShaderCompilerThreadsARB, MaxShaderCompilerThreadsKHR, MemoryBarrier, UseProgram func(uint32)
var CreateProgram, GetError, GetGraphicsResetStatus, GetGraphicsResetStatusARB, GetGraphicsResetStatusKHR func() uint32
var DeleteSync func(uintptr)
var IsProgram, UnmapBuffer, UnmapNamedBuffer func(uint32) bool
var Uniform1i func(int32, int32)
var GoStr func(*uint8) string
var Uniform1ui func(int32, uint32)
var Str func(string) *uint8
var GetString func(uint32) *uint8
var CreateShader func(uint32) uint32
var PixelStorei func(uint32, int32)
var CreateBuffers, CreateSamplers, DeleteBuffers, DeleteFramebuffers, DeleteQueries, DeleteRenderbuffers, DeleteSamplers,
	DeleteTextures, DeleteVertexArrays, DrawBuffers, GenBuffers, GenFramebuffers, GenRenderbuffers,
	GenVertexArrays func(int32, *uint32)
var Uniform1f func(int32, float32)
var GetIntegerv func(uint32, *int32)
var GetInteger64v func(uint32, *int64)
var AttachShader, BindBuffer, BindFramebuffer, BindRenderbuffer, BindSampler, BindTextureUnit, DetachShader,
	QueryCounter func(uint32, uint32)
var Ptr func(any) unsafe.Pointer
var Uniform1iv, Uniform2iv, Uniform3iv, Uniform4iv func(int32, int32, *int32)
var GetAttribLocation, GetUniformLocation func(uint32, *uint8) int32
var DrawArrays func(uint32, int32, int32)
var Uniform1uiv, Uniform2uiv, Uniform3uiv, Uniform4uiv func(int32, int32, *uint32)
var GetUniformiv func(uint32, int32, *int32)
var GetStringi func(uint32, uint32) *uint8
var ProgramParameteri, SamplerParameteri, TextureParameteri func(uint32, uint32, int32)
var Uniform1fv, Uniform2fv, Uniform3fv, Uniform4fv func(int32, int32, *float32)
var Uniform1dv, Uniform2dv, Uniform3dv, Uniform4dv func(int32, int32, *float64)
var CreateQueries, CreateTextures func(uint32, int32, *uint32)
var FenceSync func(uint32, uint32) uintptr
var GetIntegeri_v, GetProgramiv, GetShaderiv, GetTextureParameteriv func(uint32, uint32, *int32)
var BindAttribLocation func(uint32, uint32, *uint8)
var BindBufferBase, DispatchCompute func(uint32, uint32, uint32)
var GetQueryObjectui64v func(uint32, uint32, *uint64)
var DebugMessageCallback, DebugMessageCallbackKHR func(DebugProc, unsafe.Pointer)
var Scissor, Viewport func(int32, int32, int32, int32)
var UniformMatrix2fv, UniformMatrix2x3fv, UniformMatrix2x4fv, UniformMatrix3fv, UniformMatrix3x2fv, UniformMatrix3x4fv,
	UniformMatrix4fv, UniformMatrix4x2fv, UniformMatrix4x3fv func(int32, int32, bool, *float32)
var UniformMatrix2dv, UniformMatrix2x3dv, UniformMatrix2x4dv, UniformMatrix3dv, UniformMatrix3x2dv, UniformMatrix3x4dv,
	UniformMatrix4dv, UniformMatrix4x2dv, UniformMatrix4x3dv func(int32, int32, bool, *float64)
var ProgramUniform1iv func(uint32, int32, int32, *int32)
var TextureStorage1D func(uint32, int32, uint32, int32)
var RenderbufferStorage func(uint32, uint32, int32, int32)
var CreateShaderProgramv func(uint32, int32, **uint8) uint32
var GetProgramInfoLog, GetShaderInfoLog func(uint32, int32, *int32, *uint8)
var GetProgramResourceIndex func(uint32, uint32, *uint8) uint32
var CopyBufferSubData, CopyNamedBufferSubData func(uint32, uint32, int, int, int)
var ShaderSource func(uint32, int32, **uint8, *int32)
var TransformFeedbackVaryings func(uint32, int32, **uint8, uint32)
var GetProgramInterfaceiv func(uint32, uint32, uint32, *int32)
var BindFragDataLocationIndexed func(uint32, uint32, uint32, *uint8)
var FramebufferRenderbuffer func(uint32, uint32, uint32, uint32)
var ClientWaitSync func(uintptr, uint32, uint64) uint32
var BufferSubData, GetNamedBufferSubData, NamedBufferSubData func(uint32, int, int, unsafe.Pointer)
var BindBufferRange func(uint32, uint32, uint32, int, int)
var FlushMappedNamedBufferRange func(uint32, int, int)
var BufferData, NamedBufferStorage func(uint32, int, unsafe.Pointer, uint32)
var TextureStorage2D func(uint32, int32, uint32, int32, int32)
var VertexAttribIPointerWithOffset, VertexAttribLPointerWithOffset func(uint32, int32, uint32, int32, uintptr)
var ProgramBinary func(uint32, uint32, unsafe.Pointer, int32)
var MapBufferRange, MapNamedBufferRange func(uint32, int, int, uint32) unsafe.Pointer
var SpecializeShaderARB func(uint32, *uint8, uint32, *uint32, *uint32)
var TextureStorage3D func(uint32, int32, uint32, int32, int32, int32)
var VertexAttribPointerWithOffset func(uint32, int32, uint32, bool, int32, uintptr)
var ShaderBinary func(int32, *uint32, uint32, unsafe.Pointer, int32)
var GetProgramResourceName func(uint32, uint32, uint32, int32, *int32, *uint8)
var GetProgramBinary func(uint32, int32, *int32, *uint32, unsafe.Pointer)
var DispatchComputeGroupSizeARB func(uint32, uint32, uint32, uint32, uint32, uint32)
var BindImageTexture func(uint32, uint32, int32, bool, int32, uint32, uint32)
var Strs func(...string) (cstrs **uint8, free func())
var GetActiveAttrib, GetActiveUniform func(uint32, uint32, int32, *int32, *int32, *uint32, *uint8)
var ClearNamedBufferSubData func(uint32, uint32, int, int, uint32, uint32, unsafe.Pointer)
var GetProgramResourceiv func(uint32, uint32, uint32, int32, *uint32, int32, *int32, *int32)
var ClearTexSubImage func(uint32, int32, int32, int32, int32, int32, int32, int32, uint32, uint32, unsafe.Pointer)
var GetTextureSubImage func(texture uint32, level, x, y, z, w, h, d int32, format, xtype uint32, n int32, memory unsafe.Pointer, offset int)
var TextureSubImage func(sides int, texture uint32, level, x, y, z, w, h, d int32, format, xtype uint32, memory unsafe.Pointer, offset int)
