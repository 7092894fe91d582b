//go:build !linux || !cgo

package gl45

import (
	"errors"
	"unsafe"
)

var errNoCgo = errors.New("built without cgo")

// DebugProc is the type of a debug callback.
type DebugProc func(source, gltype, id, severity uint32, length int32, message string, userParam unsafe.Pointer)

// package makes to find that out return what GL does without a current context, the others
// do nothing.

func AttachShader(_ uint32, _ uint32) {}

func BindBuffer(_ uint32, _ uint32) {}

func BindBufferBase(_ uint32, _ uint32, _ uint32) {}

func BindBufferRange(_ uint32, _ uint32, _ uint32, _ int, _ int) {}

func BufferData(_ uint32, _ int, _ unsafe.Pointer, _ uint32)                        {}
func ClearNamedBufferData(_ uint32, _ uint32, _ uint32, _ uint32, _ unsafe.Pointer) {}

func ClientWaitSync(_ uintptr, _ uint32, _ uint64) uint32 { return 0 }

func CompileShader(_ uint32) {}

func CopyNamedBufferSubData(_ uint32, _ uint32, _ int, _ int, _ int) {}

func CreateBuffers(_ int32, _ *uint32) {}

func CreateProgram() uint32 { return 0 }

func CreateQueries(_ uint32, _ int32, _ *uint32) {}

func CreateShader(_ uint32) uint32 { return 0 }

func DebugMessageCallback(_ DebugProc, _ unsafe.Pointer) {}

func DebugMessageInsert(_ uint32, _ uint32, _ uint32, _ uint32, _ int32, _ *uint8) {}

func DeleteBuffers(_ int32, _ *uint32) {}

func DeleteProgram(_ uint32) {}

func DeleteQueries(_ int32, _ *uint32) {}

func DeleteShader(_ uint32) {}

func DeleteSync(_ uintptr) {}

func DetachShader(_ uint32, _ uint32) {}

func Disable(_ uint32) {}

func DispatchCompute(_ uint32, _ uint32, _ uint32) {}

func DispatchComputeIndirect(_ int) {}

func Enable(_ uint32) {}

func FenceSync(_ uint32, _ uint32) uintptr { return 0 }

// Finish
func Finish() {}

// Flush
func Flush() {}

func GetError() uint32 { return 0 }

func GetGraphicsResetStatus() uint32 { return 0 }

func GetInteger64v(_ uint32, _ *int64) {}

func GetIntegeri_v(_ uint32, _ uint32, _ *int32) {}

func GetIntegerv(_ uint32, _ *int32) {}

func GetNamedBufferSubData(_ uint32, _ int, _ int, _ unsafe.Pointer) {}

func GetProgramBinary(_ uint32, _ int32, _ *int32, _ *uint32, _ unsafe.Pointer) {}

func GetProgramInfoLog(_ uint32, _ int32, _ *int32, _ *uint8) {}

func GetProgramInterfaceiv(_ uint32, _ uint32, _ uint32, _ *int32) {}

func GetProgramResourceName(_ uint32, _ uint32, _ uint32, _ int32, _ *int32, _ *uint8) {}

func GetProgramResourceiv(_ uint32, _ uint32, _ uint32, _ int32, _ *uint32, _ int32, _ *int32, _ *int32) {
}

func GetProgramiv(_ uint32, _ uint32, _ *int32) {}

func GetQueryObjectui64v(_ uint32, _ uint32, _ *uint64) {}

func GetShaderInfoLog(_ uint32, _ int32, _ *int32, _ *uint8) {}

func GetShaderiv(_ uint32, _ uint32, _ *int32) {}

func GetString(_ uint32) *uint8 { return nil }

func GetStringi(_ uint32, _ uint32) *uint8 { return nil }

func GetUniformLocation(_ uint32, _ *uint8) int32 { return 0 }

func GoStr(_ *uint8) string { return "" }

func InitWithProcAddrFunc(_ func(name string) unsafe.Pointer) error { return errNoCgo }

func IsProgram(_ uint32) bool { return false }

func LinkProgram(_ uint32) {}

func MapNamedBufferRange(_ uint32, _ int, _ int, _ uint32) unsafe.Pointer { return nil }

func MaxShaderCompilerThreadsARB(_ uint32) {}

func MaxShaderCompilerThreadsKHR(_ uint32) {}

func MemoryBarrier(_ uint32) {}

func NamedBufferStorage(_ uint32, _ int, _ unsafe.Pointer, _ uint32) {}

func NamedBufferSubData(_ uint32, _ int, _ int, _ unsafe.Pointer) {}

func ProgramBinary(_ uint32, _ uint32, _ unsafe.Pointer, _ int32) {}

func ProgramParameteri(_ uint32, _ uint32, _ int32) {}

func Ptr(_ interface{}) unsafe.Pointer { return nil }

func QueryCounter(_ uint32, _ uint32) {}

func ShaderSource(_ uint32, _ int32, _ **uint8, _ *int32) {}

func Str(_ string) *uint8 { return nil }

func Strs(_ ...string) (cstrs **uint8, free func()) { return nil, func() {} }

func Uniform1f(_ int32, _ float32) {}

func Uniform1i(_ int32, _ int32) {}

func Uniform1ui(_ int32, _ uint32) {}

func UnmapNamedBuffer(_ uint32) bool { return false }

func UseProgram(_ uint32) {}
