//go:build !linux || !cgo

package glctx

import (
	"fmt"
	"os"
	"runtime"
)

// errNoCgo is the error of everything that needs OpenGL in a program without it.
func errNoCgo() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("%w: it is for %s, and contexts need Linux: build with GOOS=linux, CGO_ENABLED=1 and -tags egl", ErrNotBuilt, runtime.GOOS)
	}
	return fmt.Errorf("%w: build with CGO_ENABLED=1 and -tags egl; this needs gcc, pkg-config and libegl-dev", ErrNotBuilt)
}

// eglSurface is the EGL objects of a context.
type eglSurface struct{ priority string }

func openEGL(Options) (*eglSurface, error) { return nil, errNoCgo() }

func (*eglSurface) close() {}

func listDevices() ([]Device, error) { return nil, errNoCgo() }

func loadBindings() error { return errNoCgo() }

// SetCrashOutput returns ErrNotBuilt, wrapped.
func (c *Context) SetCrashOutput(*os.File) error { return errNoCgo() }
