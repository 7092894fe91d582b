//go:build linux

package glctx

/*
#include "loader.h"
*/
import "C"

import "sync"

// displays are the EGL displays that contexts of ours are open on. EGL has one of
// each in a process and counts nobody.
var displays = struct {
	sync.Mutex
	users map[C.EGLDisplay]int
}{users: map[C.EGLDisplay]int{}}

// openDisplay initialises a display for one more context.
func openDisplay(display C.EGLDisplay) error {
	displays.Lock()
	defer displays.Unlock()
	var major, minor C.EGLint
	if C.sc_egl_initialize(display, &major, &minor) == 0 {
		return eglError("eglInitialize")
	}
	displays.users[display]++
	return nil
}

// closeDisplay takes a context off a display. The last one ends the display where
// it is known that nobody else in the process uses it, see Options.EndEGL.
func closeDisplay(display C.EGLDisplay, end bool) {
	displays.Lock()
	defer displays.Unlock()
	displays.users[display]--
	if displays.users[display] > 0 {
		return
	}
	delete(displays.users, display)
	if end && C.sc_egl_is_mesa(display) != 0 {
		C.sc_egl_terminate(display)
	}
}
