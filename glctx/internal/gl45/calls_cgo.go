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
func BufferData(target uint32, size int, data unsafe.Pointer, usage uint32) {
	gl.BufferData(target, size, data, usage)
}
func ClearNamedBufferData(buffer uint32, internalformat uint32, format uint32, xtype uint32, data unsafe.Pointer) {
	gl.ClearNamedBufferData(buffer, internalformat, format, xtype, data)
}
func ClientWaitSync(sync uintptr, flags uint32, timeout uint64) uint32 {
	return gl.ClientWaitSync(sync, flags, timeout)
}
func CompileShader(shader uint32) { gl.CompileShader(shader) }
func CopyNamedBufferSubData(readBuffer uint32, writeBuffer uint32, readOffset int, writeOffset int, size int) {
	gl.CopyNamedBufferSubData(readBuffer, writeBuffer, readOffset, writeOffset, size)
}
func CreateBuffers(n int32, buffers *uint32)            { gl.CreateBuffers(n, buffers) }
func CreateProgram() uint32                             { return gl.CreateProgram() }
func CreateQueries(target uint32, n int32, ids *uint32) { gl.CreateQueries(target, n, ids) }
func CreateShader(xtype uint32) uint32                  { return gl.CreateShader(xtype) }
func DebugMessageCallback(callback DebugProc, userParam unsafe.Pointer) {
	gl.DebugMessageCallback(callback, userParam)
}
func DebugMessageInsert(source uint32, xtype uint32, id uint32, severity uint32, length int32, buf *uint8) {
	gl.DebugMessageInsert(source, xtype, id, severity, length, buf)
}
func DeleteBuffers(n int32, buffers *uint32)     { gl.DeleteBuffers(n, buffers) }
func DeleteProgram(program uint32)               { gl.DeleteProgram(program) }
func DeleteQueries(n int32, ids *uint32)         { gl.DeleteQueries(n, ids) }
func DeleteShader(shader uint32)                 { gl.DeleteShader(shader) }
func DeleteSync(sync uintptr)                    { gl.DeleteSync(sync) }
func DetachShader(program uint32, shader uint32) { gl.DetachShader(program, shader) }
func Disable(cap uint32)                         { gl.Disable(cap) }
func DispatchCompute(num_groups_x uint32, num_groups_y uint32, num_groups_z uint32) {
	gl.DispatchCompute(num_groups_x, num_groups_y, num_groups_z)
}
func DispatchComputeIndirect(indirect int)                   { gl.DispatchComputeIndirect(indirect) }
func Enable(cap uint32)                                      { gl.Enable(cap) }
func FenceSync(condition uint32, flags uint32) uintptr       { return gl.FenceSync(condition, flags) }
func Finish()                                                { gl.Finish() }
func Flush()                                                 { gl.Flush() }
func GetError() uint32                                       { return gl.GetError() }
func GetGraphicsResetStatus() uint32                         { return gl.GetGraphicsResetStatus() }
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
func GetUniformLocation(program uint32, name *uint8) int32 {
	return gl.GetUniformLocation(program, name)
}
func GoStr(cstr *uint8) string { return gl.GoStr(cstr) }
func InitWithProcAddrFunc(getProcAddr func(name string) unsafe.Pointer) error {
	return gl.InitWithProcAddrFunc(getProcAddr)
}
func IsProgram(program uint32) bool { return gl.IsProgram(program) }
func LinkProgram(program uint32)    { gl.LinkProgram(program) }
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
func ProgramBinary(program uint32, binaryFormat uint32, binary unsafe.Pointer, length int32) {
	gl.ProgramBinary(program, binaryFormat, binary, length)
}
func ProgramParameteri(program uint32, pname uint32, value int32) {
	gl.ProgramParameteri(program, pname, value)
}
func Ptr(data interface{}) unsafe.Pointer   { return gl.Ptr(data) }
func QueryCounter(id uint32, target uint32) { gl.QueryCounter(id, target) }
func ShaderSource(shader uint32, count int32, xstring **uint8, length *int32) {
	gl.ShaderSource(shader, count, xstring, length)
}
func Str(str string) *uint8                            { return gl.Str(str) }
func Strs(strs ...string) (cstrs **uint8, free func()) { return gl.Strs(strs...) }
func Uniform1f(location int32, v0 float32)             { gl.Uniform1f(location, v0) }
func Uniform1i(location int32, v0 int32)               { gl.Uniform1i(location, v0) }
func Uniform1ui(location int32, v0 uint32)             { gl.Uniform1ui(location, v0) }
func UnmapNamedBuffer(buffer uint32) bool              { return gl.UnmapNamedBuffer(buffer) }
func UseProgram(program uint32)                        { gl.UseProgram(program) }
