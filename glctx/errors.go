package glctx

import (
	"errors"
	"fmt"
)

// ErrNoDriver is returned when no OpenGL driver can be reached: no EGL library,
// or no display that any driver serves. The error text names what is missing
// and the package that brings it.
var ErrNoDriver = errors.New("no OpenGL driver")

// ErrTooOld is returned when the driver offers less than OpenGL 4.5 core.
var ErrTooOld = errors.New("OpenGL is too old")

// ErrNoDevice is returned when no GPU has the index or UUID that was asked for.
var ErrNoDevice = errors.New("no such GPU")

// Error is an OpenGL error code that a call raised.
type Error struct {
	Call string // the call that raised it, or "" when it was noticed later
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
