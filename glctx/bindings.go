//go:build linux && cgo

package glctx

/*
#include <stdlib.h>
#include "loader.h"

typedef void (*sc_get_bytes)(unsigned int pname, unsigned char *data);

// sc_gl_nothing replaces the calls that the driver lacks. Arguments of these calling
// conventions are the caller's to remove.
static long sc_gl_nothing(void) { return 0; }
static void *sc_gl_nothing_address(void) { return (void *)sc_gl_nothing; }

// The bindings do not have glGetUnsignedBytevEXT.
static int sc_gl_uuid(unsigned int pname, unsigned char uuid[16]) {
  sc_get_bytes get = (sc_get_bytes)sc_egl_proc("glGetUnsignedBytevEXT");
  if (!get)
    return -1;
  get(pname, uuid);
  return 0;
}
*/
import "C"

import (
	"encoding/hex"
	"fmt"
	"sync"
	"unsafe"
)

// loadBindings resolves the GL entry points, once per process. The bindings keep
// them in package variables, and the loader's entry points are valid in every
// context.
var loadBindings = sync.OnceValue(func() error {
	if C.sc_egl_load() != 0 {
		return fmt.Errorf("%w: %s: %s", ErrNoDriver, C.GoString(C.sc_egl_load_error()), installDriver)
	}
	return initCalls(procAddress)
})

// missing has the names that the EGL loader does not resolve. Most loaders resolve every
// name, and the call does nothing in a context that lacks it.
var missing = map[string]struct{}{}

// isMissing reports whether a call is one that does nothing. loadBindings comes first.
func isMissing(name string) bool {
	_, found := missing[name]
	return found
}

// procAddress returns the entry point of a call, and one that does nothing where there is
// none: the bindings stop at the first that is missing, and a context of OpenGL ES needs
// few of those of 4.5.
func procAddress(name string) unsafe.Pointer {
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	if p := C.sc_egl_proc(cname); p != nil {
		return p
	}
	missing[name] = struct{}{}
	return C.sc_gl_nothing_address()
}

const glDriverUUID = 0x9598 // GL_DRIVER_UUID_EXT

// driverUUID returns GL_DRIVER_UUID_EXT in hexadecimal, or "" where there is none.
func driverUUID() string {
	var raw [16]C.uchar
	if C.sc_gl_uuid(glDriverUUID, &raw[0]) != 0 {
		return ""
	}
	return hex.EncodeToString(bytesOf(raw[:]))
}
