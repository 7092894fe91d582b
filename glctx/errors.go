package glctx

import (
	"errors"
	"fmt"
)

// Errors of opening a context. They are returned wrapped, with a hint for the user.
var (
	// ErrNoDriver is returned when there is no EGL library, or no display with a
	// driver. The error text names the missing part and the package to install.
	ErrNoDriver = errors.New("no OpenGL driver")
	// ErrNotBuilt is returned by a program that was built without cgo, or not for
	// Linux. The error text says how to build it.
	ErrNotBuilt = errors.New("this program was built without OpenGL")
	// ErrTooOld is returned when the driver does not have the version of Options.Kind,
	// by default OpenGL 4.5 core, and for an adopted context below OpenGL 4.3 and
	// OpenGL ES 3.1.
	ErrTooOld = errors.New("OpenGL is too old")
	// ErrKind is returned when the driver cannot make a context of Options.Kind for
	// another reason than its version, and by Adopt for a Kind: the owner of the
	// context has chosen it.
	ErrKind = errors.New("no such kind of context")
	// ErrNeeds45 is returned, wrapped, by what needs desktop OpenGL 4.5 in a context
	// that is another: mapped memory, and package executor.
	ErrNeeds45 = errors.New("OpenGL 4.5 is needed")
	// ErrStaleUniforms is returned by Context.CheckUniforms, and wrapped by what dispatches.
	ErrStaleUniforms = errors.New("zink on a CPU may run a program with the uniforms of an earlier dispatch: set " +
		inlineUniforms + "=0 before the context is made")
	// ErrNotSoftware is returned, wrapped, by GL.OnHost where kernels do not run on the CPU.
	ErrNotSoftware = errors.New("a driver that runs kernels on the CPU is needed")
	// ErrNoDevice is returned when no GPU has the requested index or UUID, and
	// for a Device with Adopt, which cannot choose one.
	ErrNoDevice = errors.New("no such GPU")
)

// Error is an OpenGL error code that a call raised.
type Error struct {
	Call string // the call that raised it, or "" where an earlier one may have raised it
	Code uint32
}

var errorNames = map[uint32]string{
	0x0500: "GL_INVALID_ENUM",
	0x0501: "GL_INVALID_VALUE",
	0x0502: "GL_INVALID_OPERATION",
	0x0505: "GL_OUT_OF_MEMORY",
	0x0506: "GL_INVALID_FRAMEBUFFER_OPERATION",
	0x0507: "GL_CONTEXT_LOST",
}

func (e *Error) Error() string {
	name := errorNames[e.Code]
	if name == "" {
		name = fmt.Sprintf("GL error 0x%04X", e.Code)
	}
	if e.Call == "" {
		return name
	}
	return e.Call + ": " + name
}
