package faultgl

import (
	"strconv"
	"strings"
)

// Variable names the faults of a process, one a line.
const Variable = "SHADERCACHE_TEST_FAULT"

// Mode is how an entry point fails.
type Mode string

// Modes that act inside a call. The call then takes place, where the process still
// lives. Every entry point has them.
const (
	Crash       Mode = "crash"        // Argument: the number of the signal, SIGSEGV by default
	CrashThread Mode = "crash-thread" // the same on a thread that the driver starts
	Exit        Mode = "exit"         // Argument: the exit code, 1 by default
	Hang        Mode = "hang"         // until the process is killed
	Slow        Mode = "slow"         // Argument: milliseconds
	Memory      Mode = "memory"       // Argument: MiB that the driver takes and keeps
	Print       Mode = "print"        // Argument: a line that the driver prints to standard output
)

// Modes that are the result of a call.
const (
	// Refuse is the failure that the entry point's specification has: EGL_FALSE,
	// GL_INVALID_OPERATION, a compile or link status of 0, a NULL pointer.
	Refuse Mode = "refuse"

	OutOfMemory Mode = "out-of-memory" // GL_OUT_OF_MEMORY or EGL_BAD_ALLOC, and no effect
	Lost        Mode = "lost"          // the context is lost from this call on

	// Garbage is random bytes of glGetProgramBinary; escape codes and bytes that are
	// no UTF-8 in GL_RENDERER (Argument "escape" or "bytes" for one of them), or in
	// the log of a compile or link that fails; a program binary that is damaged
	// between the caller and the driver.
	Garbage Mode = "garbage"

	// Wrong makes dispatches compute nothing: those of the program that was compiled,
	// linked or loaded by this call, or this dispatch. Reads of buffers return other
	// bytes.
	Wrong Mode = "wrong"

	Raise   Mode = "raise"   // glProgramBinary: GL_INVALID_OPERATION, though the program is loaded
	Length  Mode = "length"  // Argument: the length that is reported for a program binary
	Timeout Mode = "timeout" // glClientWaitSync: the fence is never signalled

	// Twin lists the last device of EGL once more, with another UUID. Contexts on the twin
	// are those of the device, and have another GL_RENDERER: a device of another driver.
	Twin Mode = "twin"
)

// Fault is a failure of a driver. Its text form, in SHADERCACHE_TEST_FAULT, is
//
//	MODE[=ARGUMENT]@ENTRY[,CALL][,once][,twin][,while=PATH][:SOURCE]
type Fault struct {
	Mode     Mode
	Argument string // no comma, no @

	// At is the entry point: eglQueryDevicesEXT (of Twin), eglInitialize, eglCreateContext, eglMakeCurrent,
	// eglDestroyContext, glGetString, glCompileShader, glLinkProgram,
	// glProgramBinary, glGetProgramBinary, glGetProgramiv (of the length of a program
	// binary), glDispatchCompute, glDispatchComputeIndirect (which primes), glFenceSync,
	// glClientWaitSync, glMapNamedBufferRange, glNamedBufferStorage,
	// glGetNamedBufferSubData, glGetError, glDeleteProgram, glFinish, glFlush.
	At string

	// Call is the call that fails, counted from 1 in each process among those that
	// match. Default: each.
	Call int

	// Once limits the fault to one call of all processes with one Environment.
	Once bool

	// OnTwin limits the fault to contexts on the Twin.
	OnTwin bool

	// While is a file without which there is no fault, such as one of the driver's own
	// cache. A relative path is below $MESA_SHADER_CACHE_DIR of the process.
	While string

	// Source is a text that the program's source contains. Programs from binaries have
	// the source that they were compiled from in a process with the same Environment
	// and a fault of the same Source. Fences belong to the program dispatched last.
	// Default: any program.
	Source string
}

// String returns the text form.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(string(f.Mode))
	if f.Argument != "" {
		b.WriteString("=" + f.Argument)
	}
	b.WriteString("@" + f.At)
	if f.Call > 0 {
		b.WriteString("," + strconv.Itoa(f.Call))
	}
	if f.Once {
		b.WriteString(",once")
	}
	if f.OnTwin {
		b.WriteString(",twin")
	}
	if f.While != "" {
		b.WriteString(",while=" + f.While)
	}
	if f.Source != "" {
		b.WriteString(":" + f.Source)
	}
	return b.String()
}
