//go:build !linux || !cgo

package gl45

import (
	"errors"
	"unsafe"
)

var errNoCgo = errors.New("built without cgo")

// DebugProc is the type of a debug callback.
type DebugProc func(source, gltype, id, severity uint32, length int32, message string, userParam unsafe.Pointer)

// Without cgo there is no context: the calls that the package makes to find that out return
// what GL does without a current one, the others do nothing.

func AttachShader(_ uint32, _ uint32) {}

func BindBuffer(_ uint32, _ uint32) {}

func BindBufferBase(_ uint32, _ uint32, _ uint32) {}

func BindBufferRange(_ uint32, _ uint32, _ uint32, _ int, _ int) {}

func BindImageTexture(_ uint32, _ uint32, _ int32, _ bool, _ int32, _ uint32, _ uint32) {}

func BindSampler(_ uint32, _ uint32) {}

func BindTextureUnit(_ uint32, _ uint32) {}

func BufferData(_ uint32, _ int, _ unsafe.Pointer, _ uint32) {}

func BufferSubData(_ uint32, _ int, _ int, _ unsafe.Pointer) {}

func ClearNamedBufferSubData(_ uint32, _ uint32, _ int, _ int, _ uint32, _ uint32, _ unsafe.Pointer) {
}

func ClearTexSubImage(_ uint32, _ int32, _ int32, _ int32, _ int32, _ int32, _ int32, _ int32, _ uint32, _ uint32, _ unsafe.Pointer) {
}

func ClientWaitSync(_ uintptr, _ uint32, _ uint64) uint32 { return 0 }

func CompileShader(_ uint32) {}

func CopyBufferSubData(_ uint32, _ uint32, _ int, _ int, _ int) {}

func CopyNamedBufferSubData(_ uint32, _ uint32, _ int, _ int, _ int) {}

func CreateBuffers(_ int32, _ *uint32) {}

func CreateProgram() uint32 { return 0 }

func CreateQueries(_ uint32, _ int32, _ *uint32) {}

func CreateSamplers(_ int32, _ *uint32) {}

func CreateShader(_ uint32) uint32 { return 0 }

func CreateTextures(_ uint32, _ int32, _ *uint32) {}

func DebugMessageCallback(_ DebugProc, _ unsafe.Pointer) {}

func DebugMessageCallbackKHR(_ DebugProc, _ unsafe.Pointer) {}

func DeleteBuffers(_ int32, _ *uint32) {}

func DeleteProgram(_ uint32) {}

func DeleteQueries(_ int32, _ *uint32) {}

func DeleteSamplers(_ int32, _ *uint32) {}

func DeleteShader(_ uint32) {}

func DeleteSync(_ uintptr) {}

func DeleteTextures(_ int32, _ *uint32) {}

func DetachShader(_ uint32, _ uint32) {}

func Disable(_ uint32) {}

func DispatchCompute(_ uint32, _ uint32, _ uint32) {}

func DispatchComputeGroupSizeARB(_ uint32, _ uint32, _ uint32, _ uint32, _ uint32, _ uint32) {}

func DispatchComputeIndirect(_ int) {}

func Enable(_ uint32) {}

func FenceSync(_ uint32, _ uint32) uintptr { return 0 }

func Finish() {}

func Flush() {}

func GenBuffers(_ int32, _ *uint32) {}

func GenerateTextureMipmap(_ uint32) {}

func GetError() uint32 { return 0 }

func GetGraphicsResetStatus() uint32 { return 0 }

func GetGraphicsResetStatusARB() uint32 { return 0 }

func GetGraphicsResetStatusKHR() uint32 { return 0 }

func GetInteger64v(_ uint32, _ *int64) {}

func GetIntegeri_v(_ uint32, _ uint32, _ *int32) {}

func GetIntegerv(_ uint32, _ *int32) {}

func GetNamedBufferSubData(_ uint32, _ int, _ int, _ unsafe.Pointer) {}

func GetProgramBinary(_ uint32, _ int32, _ *int32, _ *uint32, _ unsafe.Pointer) {}

func GetProgramInfoLog(_ uint32, _ int32, _ *int32, _ *uint8) {}

func GetProgramInterfaceiv(_ uint32, _ uint32, _ uint32, _ *int32) {}

func GetProgramResourceIndex(_ uint32, _ uint32, _ *uint8) uint32 { return 0 }

func GetProgramResourceName(_ uint32, _ uint32, _ uint32, _ int32, _ *int32, _ *uint8) {}

func GetProgramResourceiv(_ uint32, _ uint32, _ uint32, _ int32, _ *uint32, _ int32, _ *int32, _ *int32) {
}

func GetProgramiv(_ uint32, _ uint32, _ *int32) {}

func GetQueryObjectui64v(_ uint32, _ uint32, _ *uint64) {}

func GetShaderInfoLog(_ uint32, _ int32, _ *int32, _ *uint8) {}

func GetShaderiv(_ uint32, _ uint32, _ *int32) {}

func GetString(_ uint32) *uint8 { return nil }

func GetStringi(_ uint32, _ uint32) *uint8 { return nil }

func GetTextureParameteriv(_ uint32, _ uint32, _ *int32) {}

func GetUniformLocation(_ uint32, _ *uint8) int32 { return 0 }

func GetUniformiv(_ uint32, _ int32, _ *int32) {}

func GoStr(_ *uint8) string { return "" }

func InitWithProcAddrFunc(_ func(name string) unsafe.Pointer) error { return errNoCgo }

func IsProgram(_ uint32) bool { return false }

func LinkProgram(_ uint32) {}

func MapBufferRange(_ uint32, _ int, _ int, _ uint32) unsafe.Pointer { return nil }

func FlushMappedNamedBufferRange(_ uint32, _ int, _ int)                  {}
func MapNamedBufferRange(_ uint32, _ int, _ int, _ uint32) unsafe.Pointer { return nil }

func MaxShaderCompilerThreadsARB(_ uint32) {}

func MaxShaderCompilerThreadsKHR(_ uint32) {}

func MemoryBarrier(_ uint32) {}

func NamedBufferStorage(_ uint32, _ int, _ unsafe.Pointer, _ uint32) {}

func NamedBufferSubData(_ uint32, _ int, _ int, _ unsafe.Pointer) {}

func PixelStorei(_ uint32, _ int32) {}

func ProgramBinary(_ uint32, _ uint32, _ unsafe.Pointer, _ int32) {}

func ProgramParameteri(_ uint32, _ uint32, _ int32) {}

func ProgramUniform1iv(_ uint32, _ int32, _ int32, _ *int32) {}

func Ptr(_ interface{}) unsafe.Pointer { return nil }

func QueryCounter(_ uint32, _ uint32) {}

func SamplerParameteri(_ uint32, _ uint32, _ int32) {}

func ShaderSource(_ uint32, _ int32, _ **uint8, _ *int32) {}

func Str(_ string) *uint8 { return nil }

func Strs(_ ...string) (cstrs **uint8, free func()) { return nil, func() {} }

func TextureParameteri(_ uint32, _ uint32, _ int32) {}

func TextureStorage1D(_ uint32, _ int32, _ uint32, _ int32) {}

func TextureStorage2D(_ uint32, _ int32, _ uint32, _ int32, _ int32) {}

func TextureStorage3D(_ uint32, _ int32, _ uint32, _ int32, _ int32, _ int32) {}

func Uniform1dv(_ int32, _ int32, _ *float64) {}

func Uniform1f(_ int32, _ float32) {}

func Uniform1fv(_ int32, _ int32, _ *float32) {}

func Uniform1i(_ int32, _ int32) {}

func Uniform1iv(_ int32, _ int32, _ *int32) {}

func Uniform1ui(_ int32, _ uint32) {}

func Uniform1uiv(_ int32, _ int32, _ *uint32) {}

func Uniform2dv(_ int32, _ int32, _ *float64) {}

func Uniform2fv(_ int32, _ int32, _ *float32) {}

func Uniform2iv(_ int32, _ int32, _ *int32) {}

func Uniform2uiv(_ int32, _ int32, _ *uint32) {}

func Uniform3dv(_ int32, _ int32, _ *float64) {}

func Uniform3fv(_ int32, _ int32, _ *float32) {}

func Uniform3iv(_ int32, _ int32, _ *int32) {}

func Uniform3uiv(_ int32, _ int32, _ *uint32) {}

func Uniform4dv(_ int32, _ int32, _ *float64) {}

func Uniform4fv(_ int32, _ int32, _ *float32) {}

func Uniform4iv(_ int32, _ int32, _ *int32) {}

func Uniform4uiv(_ int32, _ int32, _ *uint32) {}

func UniformMatrix2dv(_ int32, _ int32, _ bool, _ *float64) {}

func UniformMatrix2fv(_ int32, _ int32, _ bool, _ *float32) {}

func UniformMatrix2x3dv(_ int32, _ int32, _ bool, _ *float64) {}

func UniformMatrix2x3fv(_ int32, _ int32, _ bool, _ *float32) {}

func UniformMatrix2x4dv(_ int32, _ int32, _ bool, _ *float64) {}

func UniformMatrix2x4fv(_ int32, _ int32, _ bool, _ *float32) {}

func UniformMatrix3dv(_ int32, _ int32, _ bool, _ *float64) {}

func UniformMatrix3fv(_ int32, _ int32, _ bool, _ *float32) {}

func UniformMatrix3x2dv(_ int32, _ int32, _ bool, _ *float64) {}

func UniformMatrix3x2fv(_ int32, _ int32, _ bool, _ *float32) {}

func UniformMatrix3x4dv(_ int32, _ int32, _ bool, _ *float64) {}

func UniformMatrix3x4fv(_ int32, _ int32, _ bool, _ *float32) {}

func UniformMatrix4dv(_ int32, _ int32, _ bool, _ *float64) {}

func UniformMatrix4fv(_ int32, _ int32, _ bool, _ *float32) {}

func UniformMatrix4x2dv(_ int32, _ int32, _ bool, _ *float64) {}

func UniformMatrix4x2fv(_ int32, _ int32, _ bool, _ *float32) {}

func UniformMatrix4x3dv(_ int32, _ int32, _ bool, _ *float64) {}

func UniformMatrix4x3fv(_ int32, _ int32, _ bool, _ *float32) {}

func UnmapBuffer(_ uint32) bool { return false }

func UnmapNamedBuffer(_ uint32) bool { return false }

func UseProgram(_ uint32) {}

func TextureSubImage(_ int, _ uint32, _, _, _, _, _, _, _ int32, _, _ uint32, _ unsafe.Pointer, _ int) {
}

func GetTextureSubImage(_ uint32, _, _, _, _, _, _, _ int32, _, _ uint32, _ int32, _ unsafe.Pointer, _ int) {
}
