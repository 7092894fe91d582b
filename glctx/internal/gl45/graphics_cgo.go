//go:build linux && cgo

package gl45

import (
	"unsafe"

	"github.com/go-gl/gl/v4.5-core/gl"
)

// The calls with which a recorded graphics program is linked and drawn.

func BindAttribLocation(program uint32, index uint32, name *uint8) {
	gl.BindAttribLocation(program, index, name)
}
func BindFragDataLocationIndexed(program uint32, colorNumber uint32, index uint32, name *uint8) {
	gl.BindFragDataLocationIndexed(program, colorNumber, index, name)
}
func BindFramebuffer(target uint32, framebuffer uint32) {
	gl.BindFramebuffer(target, framebuffer)
}
func BindRenderbuffer(target uint32, renderbuffer uint32) {
	gl.BindRenderbuffer(target, renderbuffer)
}
func BindVertexArray(array uint32) {
	gl.BindVertexArray(array)
}
func CreateShaderProgramv(xtype uint32, count int32, strings **uint8) uint32 {
	return gl.CreateShaderProgramv(xtype, count, strings)
}
func DeleteFramebuffers(n int32, framebuffers *uint32) {
	gl.DeleteFramebuffers(n, framebuffers)
}
func DeleteRenderbuffers(n int32, renderbuffers *uint32) {
	gl.DeleteRenderbuffers(n, renderbuffers)
}
func DeleteVertexArrays(n int32, arrays *uint32) {
	gl.DeleteVertexArrays(n, arrays)
}
func DrawArrays(mode uint32, first int32, count int32) {
	gl.DrawArrays(mode, first, count)
}
func DrawBuffers(n int32, bufs *uint32) {
	gl.DrawBuffers(n, bufs)
}
func EnableVertexAttribArray(index uint32) {
	gl.EnableVertexAttribArray(index)
}
func FramebufferRenderbuffer(target uint32, attachment uint32, renderbuffertarget uint32, renderbuffer uint32) {
	gl.FramebufferRenderbuffer(target, attachment, renderbuffertarget, renderbuffer)
}
func GenFramebuffers(n int32, framebuffers *uint32) {
	gl.GenFramebuffers(n, framebuffers)
}
func GenRenderbuffers(n int32, renderbuffers *uint32) {
	gl.GenRenderbuffers(n, renderbuffers)
}
func GenVertexArrays(n int32, arrays *uint32) {
	gl.GenVertexArrays(n, arrays)
}
func GetActiveAttrib(program uint32, index uint32, bufSize int32, length *int32, size *int32, xtype *uint32, name *uint8) {
	gl.GetActiveAttrib(program, index, bufSize, length, size, xtype, name)
}
func GetActiveUniform(program uint32, index uint32, bufSize int32, length *int32, size *int32, xtype *uint32, name *uint8) {
	gl.GetActiveUniform(program, index, bufSize, length, size, xtype, name)
}
func GetAttribLocation(program uint32, name *uint8) int32 {
	return gl.GetAttribLocation(program, name)
}
func RenderbufferStorage(target uint32, internalformat uint32, width int32, height int32) {
	gl.RenderbufferStorage(target, internalformat, width, height)
}
func Scissor(x int32, y int32, width int32, height int32) {
	gl.Scissor(x, y, width, height)
}
func ShaderBinary(count int32, shaders *uint32, binaryFormat uint32, binary unsafe.Pointer, length int32) {
	gl.ShaderBinary(count, shaders, binaryFormat, binary, length)
}
func SpecializeShaderARB(shader uint32, pEntryPoint *uint8, numSpecializationConstants uint32, pConstantIndex *uint32, pConstantValue *uint32) {
	gl.SpecializeShaderARB(shader, pEntryPoint, numSpecializationConstants, pConstantIndex, pConstantValue)
}
func TransformFeedbackVaryings(program uint32, count int32, varyings **uint8, bufferMode uint32) {
	gl.TransformFeedbackVaryings(program, count, varyings, bufferMode)
}
func VertexAttribIPointerWithOffset(index uint32, size int32, xtype uint32, stride int32, offset uintptr) {
	gl.VertexAttribIPointerWithOffset(index, size, xtype, stride, offset)
}
func VertexAttribLPointerWithOffset(index uint32, size int32, xtype uint32, stride int32, offset uintptr) {
	gl.VertexAttribLPointerWithOffset(index, size, xtype, stride, offset)
}
func VertexAttribPointerWithOffset(index uint32, size int32, xtype uint32, normalized bool, stride int32, offset uintptr) {
	gl.VertexAttribPointerWithOffset(index, size, xtype, normalized, stride, offset)
}
func Viewport(x int32, y int32, width int32, height int32) {
	gl.Viewport(x, y, width, height)
}
