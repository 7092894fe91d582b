//go:build linux && cgo

package gl45

import (
	"unsafe"

	"github.com/go-gl/gl/v4.5-core/gl"
)

// DebugProc is the type of a debug callback.
type DebugProc = gl.DebugProc

func AttachShader(program uint32, shader uint32) { gl.AttachShader(program, shader) }
func BindBuffer(target uint32, buffer uint32)    { gl.BindBuffer(target, buffer) }
func BindBufferBase(target uint32, index uint32, buffer uint32) {
	gl.BindBufferBase(target, index, buffer)
}
func BindBufferRange(target uint32, index uint32, buffer uint32, offset int, size int) {
	gl.BindBufferRange(target, index, buffer, offset, size)
}
func BindImageTexture(unit uint32, texture uint32, level int32, layered bool, layer int32, access uint32, format uint32) {
	gl.BindImageTexture(unit, texture, level, layered, layer, access, format)
}
func BindSampler(unit uint32, sampler uint32)     { gl.BindSampler(unit, sampler) }
func BindTextureUnit(unit uint32, texture uint32) { gl.BindTextureUnit(unit, texture) }
func BufferData(target uint32, size int, data unsafe.Pointer, usage uint32) {
	gl.BufferData(target, size, data, usage)
}
func BufferSubData(target uint32, offset int, size int, data unsafe.Pointer) {
	gl.BufferSubData(target, offset, size, data)
}
func ClearNamedBufferSubData(buffer uint32, internalformat uint32, offset int, size int, format uint32, xtype uint32, data unsafe.Pointer) {
	gl.ClearNamedBufferSubData(buffer, internalformat, offset, size, format, xtype, data)
}
func ClearTexSubImage(texture uint32, level int32, xoffset int32, yoffset int32, zoffset int32, width int32, height int32, depth int32, format uint32, xtype uint32, data unsafe.Pointer) {
	gl.ClearTexSubImage(texture, level, xoffset, yoffset, zoffset, width, height, depth, format, xtype, data)
}
func ClientWaitSync(sync uintptr, flags uint32, timeout uint64) uint32 {
	return gl.ClientWaitSync(sync, flags, timeout)
}
func CompileShader(shader uint32) { gl.CompileShader(shader) }
func CopyBufferSubData(readTarget uint32, writeTarget uint32, readOffset int, writeOffset int, size int) {
	gl.CopyBufferSubData(readTarget, writeTarget, readOffset, writeOffset, size)
}
func CopyImageSubData(srcName uint32, srcTarget uint32, srcLevel int32, srcX int32, srcY int32, srcZ int32, dstName uint32, dstTarget uint32, dstLevel int32, dstX int32, dstY int32, dstZ int32, srcWidth int32, srcHeight int32, srcDepth int32) {
	gl.CopyImageSubData(srcName, srcTarget, srcLevel, srcX, srcY, srcZ, dstName, dstTarget, dstLevel, dstX, dstY, dstZ, srcWidth, srcHeight, srcDepth)
}
func CopyNamedBufferSubData(readBuffer uint32, writeBuffer uint32, readOffset int, writeOffset int, size int) {
	gl.CopyNamedBufferSubData(readBuffer, writeBuffer, readOffset, writeOffset, size)
}
func CreateBuffers(n int32, buffers *uint32)                  { gl.CreateBuffers(n, buffers) }
func CreateProgram() uint32                                   { return gl.CreateProgram() }
func CreateQueries(target uint32, n int32, ids *uint32)       { gl.CreateQueries(target, n, ids) }
func CreateSamplers(n int32, samplers *uint32)                { gl.CreateSamplers(n, samplers) }
func CreateShader(xtype uint32) uint32                        { return gl.CreateShader(xtype) }
func CreateTextures(target uint32, n int32, textures *uint32) { gl.CreateTextures(target, n, textures) }
func DebugMessageCallback(callback DebugProc, userParam unsafe.Pointer) {
	gl.DebugMessageCallback(callback, userParam)
}
func DebugMessageCallbackKHR(callback DebugProc, userParam unsafe.Pointer) {
	gl.DebugMessageCallbackKHR(callback, userParam)
}
func DebugMessageInsert(source uint32, xtype uint32, id uint32, severity uint32, length int32, buf *uint8) {
	gl.DebugMessageInsert(source, xtype, id, severity, length, buf)
}
func DeleteBuffers(n int32, buffers *uint32)       { gl.DeleteBuffers(n, buffers) }
func DeleteProgram(program uint32)                 { gl.DeleteProgram(program) }
func DeleteQueries(n int32, ids *uint32)           { gl.DeleteQueries(n, ids) }
func DeleteSamplers(count int32, samplers *uint32) { gl.DeleteSamplers(count, samplers) }
func DeleteShader(shader uint32)                   { gl.DeleteShader(shader) }
func DeleteSync(sync uintptr)                      { gl.DeleteSync(sync) }
func DeleteTextures(n int32, textures *uint32)     { gl.DeleteTextures(n, textures) }
func DetachShader(program uint32, shader uint32)   { gl.DetachShader(program, shader) }
func Disable(cap uint32)                           { gl.Disable(cap) }
func DispatchCompute(num_groups_x uint32, num_groups_y uint32, num_groups_z uint32) {
	gl.DispatchCompute(num_groups_x, num_groups_y, num_groups_z)
}
func DispatchComputeGroupSizeARB(num_groups_x uint32, num_groups_y uint32, num_groups_z uint32, group_size_x uint32, group_size_y uint32, group_size_z uint32) {
	gl.DispatchComputeGroupSizeARB(num_groups_x, num_groups_y, num_groups_z, group_size_x, group_size_y, group_size_z)
}
func DispatchComputeIndirect(indirect int)                   { gl.DispatchComputeIndirect(indirect) }
func Enable(cap uint32)                                      { gl.Enable(cap) }
func FenceSync(condition uint32, flags uint32) uintptr       { return gl.FenceSync(condition, flags) }
func Finish()                                                { gl.Finish() }
func Flush()                                                 { gl.Flush() }
func GenBuffers(n int32, buffers *uint32)                    { gl.GenBuffers(n, buffers) }
func GenerateTextureMipmap(texture uint32)                   { gl.GenerateTextureMipmap(texture) }
func GetError() uint32                                       { return gl.GetError() }
func GetGraphicsResetStatus() uint32                         { return gl.GetGraphicsResetStatus() }
func GetGraphicsResetStatusARB() uint32                      { return gl.GetGraphicsResetStatusARB() }
func GetGraphicsResetStatusKHR() uint32                      { return gl.GetGraphicsResetStatusKHR() }
func GetInteger64v(pname uint32, data *int64)                { gl.GetInteger64v(pname, data) }
func GetIntegeri_v(target uint32, index uint32, data *int32) { gl.GetIntegeri_v(target, index, data) }
func GetIntegerv(pname uint32, data *int32)                  { gl.GetIntegerv(pname, data) }
func GetNamedBufferSubData(buffer uint32, offset int, size int, data unsafe.Pointer) {
	gl.GetNamedBufferSubData(buffer, offset, size, data)
}
func GetProgramBinary(program uint32, bufSize int32, length *int32, binaryFormat *uint32, binary unsafe.Pointer) {
	gl.GetProgramBinary(program, bufSize, length, binaryFormat, binary)
}
func GetProgramInfoLog(program uint32, bufSize int32, length *int32, infoLog *uint8) {
	gl.GetProgramInfoLog(program, bufSize, length, infoLog)
}
func GetProgramInterfaceiv(program uint32, programInterface uint32, pname uint32, params *int32) {
	gl.GetProgramInterfaceiv(program, programInterface, pname, params)
}
func GetProgramResourceIndex(program uint32, programInterface uint32, name *uint8) uint32 {
	return gl.GetProgramResourceIndex(program, programInterface, name)
}
func GetProgramResourceName(program uint32, programInterface uint32, index uint32, bufSize int32, length *int32, name *uint8) {
	gl.GetProgramResourceName(program, programInterface, index, bufSize, length, name)
}
func GetProgramResourceiv(program uint32, programInterface uint32, index uint32, propCount int32, props *uint32, count int32, length *int32, params *int32) {
	gl.GetProgramResourceiv(program, programInterface, index, propCount, props, count, length, params)
}
func GetProgramiv(program uint32, pname uint32, params *int32) {
	gl.GetProgramiv(program, pname, params)
}
func GetQueryObjectui64v(id uint32, pname uint32, params *uint64) {
	gl.GetQueryObjectui64v(id, pname, params)
}
func GetShaderInfoLog(shader uint32, bufSize int32, length *int32, infoLog *uint8) {
	gl.GetShaderInfoLog(shader, bufSize, length, infoLog)
}
func GetShaderiv(shader uint32, pname uint32, params *int32) { gl.GetShaderiv(shader, pname, params) }
func GetString(name uint32) *uint8                           { return gl.GetString(name) }
func GetStringi(name uint32, index uint32) *uint8            { return gl.GetStringi(name, index) }
func GetTextureParameteriv(texture uint32, pname uint32, params *int32) {
	gl.GetTextureParameteriv(texture, pname, params)
}
func GetTextureSubImage(texture uint32, level int32, xoffset int32, yoffset int32, zoffset int32, width int32, height int32, depth int32, format uint32, xtype uint32, bufSize int32, pixels unsafe.Pointer) {
	gl.GetTextureSubImage(texture, level, xoffset, yoffset, zoffset, width, height, depth, format, xtype, bufSize, pixels)
}
func GetUniformLocation(program uint32, name *uint8) int32 {
	return gl.GetUniformLocation(program, name)
}
func GetUniformiv(program uint32, location int32, params *int32) {
	gl.GetUniformiv(program, location, params)
}
func GoStr(cstr *uint8) string      { return gl.GoStr(cstr) }
func IsProgram(program uint32) bool { return gl.IsProgram(program) }
func LinkProgram(program uint32)    { gl.LinkProgram(program) }
func MapBufferRange(target uint32, offset int, length int, access uint32) unsafe.Pointer {
	return gl.MapBufferRange(target, offset, length, access)
}
func FlushMappedNamedBufferRange(buffer uint32, offset int, length int) {
	gl.FlushMappedNamedBufferRange(buffer, offset, length)
}
func MapNamedBufferRange(buffer uint32, offset int, length int, access uint32) unsafe.Pointer {
	return gl.MapNamedBufferRange(buffer, offset, length, access)
}
func MaxShaderCompilerThreadsARB(count uint32) { gl.MaxShaderCompilerThreadsARB(count) }
func MaxShaderCompilerThreadsKHR(count uint32) { gl.MaxShaderCompilerThreadsKHR(count) }
func MemoryBarrier(barriers uint32)            { gl.MemoryBarrier(barriers) }
func NamedBufferStorage(buffer uint32, size int, data unsafe.Pointer, flags uint32) {
	gl.NamedBufferStorage(buffer, size, data, flags)
}
func NamedBufferSubData(buffer uint32, offset int, size int, data unsafe.Pointer) {
	gl.NamedBufferSubData(buffer, offset, size, data)
}
func PixelStorei(pname uint32, param int32) { gl.PixelStorei(pname, param) }
func ProgramBinary(program uint32, binaryFormat uint32, binary unsafe.Pointer, length int32) {
	gl.ProgramBinary(program, binaryFormat, binary, length)
}
func ProgramParameteri(program uint32, pname uint32, value int32) {
	gl.ProgramParameteri(program, pname, value)
}
func ProgramUniform1iv(program uint32, location int32, count int32, value *int32) {
	gl.ProgramUniform1iv(program, location, count, value)
}
func Ptr(data interface{}) unsafe.Pointer   { return gl.Ptr(data) }
func QueryCounter(id uint32, target uint32) { gl.QueryCounter(id, target) }
func SamplerParameteri(sampler uint32, pname uint32, param int32) {
	gl.SamplerParameteri(sampler, pname, param)
}
func ShaderSource(shader uint32, count int32, xstring **uint8, length *int32) {
	gl.ShaderSource(shader, count, xstring, length)
}
func Str(str string) *uint8                            { return gl.Str(str) }
func Strs(strs ...string) (cstrs **uint8, free func()) { return gl.Strs(strs...) }
func TextureParameteri(texture uint32, pname uint32, param int32) {
	gl.TextureParameteri(texture, pname, param)
}
func TextureStorage1D(texture uint32, levels int32, internalformat uint32, width int32) {
	gl.TextureStorage1D(texture, levels, internalformat, width)
}
func TextureStorage2D(texture uint32, levels int32, internalformat uint32, width int32, height int32) {
	gl.TextureStorage2D(texture, levels, internalformat, width, height)
}
func TextureStorage3D(texture uint32, levels int32, internalformat uint32, width int32, height int32, depth int32) {
	gl.TextureStorage3D(texture, levels, internalformat, width, height, depth)
}
func TextureSubImage1D(texture uint32, level int32, xoffset int32, width int32, format uint32, xtype uint32, pixels unsafe.Pointer) {
	gl.TextureSubImage1D(texture, level, xoffset, width, format, xtype, pixels)
}
func TextureSubImage2D(texture uint32, level int32, xoffset int32, yoffset int32, width int32, height int32, format uint32, xtype uint32, pixels unsafe.Pointer) {
	gl.TextureSubImage2D(texture, level, xoffset, yoffset, width, height, format, xtype, pixels)
}
func TextureSubImage3D(texture uint32, level int32, xoffset int32, yoffset int32, zoffset int32, width int32, height int32, depth int32, format uint32, xtype uint32, pixels unsafe.Pointer) {
	gl.TextureSubImage3D(texture, level, xoffset, yoffset, zoffset, width, height, depth, format, xtype, pixels)
}
func Uniform1dv(location int32, count int32, value *float64) { gl.Uniform1dv(location, count, value) }
func Uniform1f(location int32, v0 float32)                   { gl.Uniform1f(location, v0) }
func Uniform1fv(location int32, count int32, value *float32) { gl.Uniform1fv(location, count, value) }
func Uniform1i(location int32, v0 int32)                     { gl.Uniform1i(location, v0) }
func Uniform1iv(location int32, count int32, value *int32)   { gl.Uniform1iv(location, count, value) }
func Uniform1ui(location int32, v0 uint32)                   { gl.Uniform1ui(location, v0) }
func Uniform1uiv(location int32, count int32, value *uint32) { gl.Uniform1uiv(location, count, value) }
func Uniform2dv(location int32, count int32, value *float64) { gl.Uniform2dv(location, count, value) }
func Uniform2fv(location int32, count int32, value *float32) { gl.Uniform2fv(location, count, value) }
func Uniform2iv(location int32, count int32, value *int32)   { gl.Uniform2iv(location, count, value) }
func Uniform2uiv(location int32, count int32, value *uint32) { gl.Uniform2uiv(location, count, value) }
func Uniform3dv(location int32, count int32, value *float64) { gl.Uniform3dv(location, count, value) }
func Uniform3fv(location int32, count int32, value *float32) { gl.Uniform3fv(location, count, value) }
func Uniform3iv(location int32, count int32, value *int32)   { gl.Uniform3iv(location, count, value) }
func Uniform3uiv(location int32, count int32, value *uint32) { gl.Uniform3uiv(location, count, value) }
func Uniform4dv(location int32, count int32, value *float64) { gl.Uniform4dv(location, count, value) }
func Uniform4fv(location int32, count int32, value *float32) { gl.Uniform4fv(location, count, value) }
func Uniform4iv(location int32, count int32, value *int32)   { gl.Uniform4iv(location, count, value) }
func Uniform4uiv(location int32, count int32, value *uint32) { gl.Uniform4uiv(location, count, value) }
func UniformMatrix2dv(location int32, count int32, transpose bool, value *float64) {
	gl.UniformMatrix2dv(location, count, transpose, value)
}
func UniformMatrix2fv(location int32, count int32, transpose bool, value *float32) {
	gl.UniformMatrix2fv(location, count, transpose, value)
}
func UniformMatrix2x3dv(location int32, count int32, transpose bool, value *float64) {
	gl.UniformMatrix2x3dv(location, count, transpose, value)
}
func UniformMatrix2x3fv(location int32, count int32, transpose bool, value *float32) {
	gl.UniformMatrix2x3fv(location, count, transpose, value)
}
func UniformMatrix2x4dv(location int32, count int32, transpose bool, value *float64) {
	gl.UniformMatrix2x4dv(location, count, transpose, value)
}
func UniformMatrix2x4fv(location int32, count int32, transpose bool, value *float32) {
	gl.UniformMatrix2x4fv(location, count, transpose, value)
}
func UniformMatrix3dv(location int32, count int32, transpose bool, value *float64) {
	gl.UniformMatrix3dv(location, count, transpose, value)
}
func UniformMatrix3fv(location int32, count int32, transpose bool, value *float32) {
	gl.UniformMatrix3fv(location, count, transpose, value)
}
func UniformMatrix3x2dv(location int32, count int32, transpose bool, value *float64) {
	gl.UniformMatrix3x2dv(location, count, transpose, value)
}
func UniformMatrix3x2fv(location int32, count int32, transpose bool, value *float32) {
	gl.UniformMatrix3x2fv(location, count, transpose, value)
}
func UniformMatrix3x4dv(location int32, count int32, transpose bool, value *float64) {
	gl.UniformMatrix3x4dv(location, count, transpose, value)
}
func UniformMatrix3x4fv(location int32, count int32, transpose bool, value *float32) {
	gl.UniformMatrix3x4fv(location, count, transpose, value)
}
func UniformMatrix4dv(location int32, count int32, transpose bool, value *float64) {
	gl.UniformMatrix4dv(location, count, transpose, value)
}
func UniformMatrix4fv(location int32, count int32, transpose bool, value *float32) {
	gl.UniformMatrix4fv(location, count, transpose, value)
}
func UniformMatrix4x2dv(location int32, count int32, transpose bool, value *float64) {
	gl.UniformMatrix4x2dv(location, count, transpose, value)
}
func UniformMatrix4x2fv(location int32, count int32, transpose bool, value *float32) {
	gl.UniformMatrix4x2fv(location, count, transpose, value)
}
func UniformMatrix4x3dv(location int32, count int32, transpose bool, value *float64) {
	gl.UniformMatrix4x3dv(location, count, transpose, value)
}
func UniformMatrix4x3fv(location int32, count int32, transpose bool, value *float32) {
	gl.UniformMatrix4x3fv(location, count, transpose, value)
}
func UnmapBuffer(target uint32) bool      { return gl.UnmapBuffer(target) }
func UnmapNamedBuffer(buffer uint32) bool { return gl.UnmapNamedBuffer(buffer) }
func UseProgram(program uint32)           { gl.UseProgram(program) }
