// Package window opens an OpenGL context with a GLFW window, visible or hidden.
//
// It is a separate package because it links the X11 libraries, which programs without
// a window do not need.
//
// GLFW requires windows to be used on the main thread: a program locks it with
// runtime.LockOSThread in an init function and calls [Open], [Window.Close] and
// [Window.PollEvents] there. The GL context is current on another thread, as with
// glctx.Open.
package window

import "github.com/shadercache/shadercache/glctx"

// Options configure a window. The zero value is a hidden window of one pixel: a
// context for compute on machines where EGL has no headless one.
type Options struct {
	Title   string
	Width   int // pixels; 0 = 1
	Height  int // pixels; 0 = 1
	Visible bool

	// Context configures the GL context. Its Device must be empty: the display
	// determines the GPU.
	Context glctx.Options
}
