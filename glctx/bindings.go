//go:build linux && cgo

package glctx

/*
#include <stdlib.h>
#include "loader.h"

typedef void (*sc_get_bytes)(unsigned int pname, unsigned char *data);

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

	"github.com/shadercache/shadercache/glctx/internal/gl45"
)

// loadBindings resolves the GL entry points, once per process. The bindings keep
// them in package variables, and the loader's entry points are valid in every
// context.
var loadBindings = sync.OnceValue(func() error {
	if C.sc_egl_load() != 0 {
		return fmt.Errorf("%w: %s: %s", ErrNoDriver, C.GoString(C.sc_egl_load_error()), installDriver)
	}
	if err := gl45.InitWithProcAddrFunc(procAddress); err != nil {
		return fmt.Errorf("%w: the driver lacks %w", ErrTooOld, err)
	}
	return nil
})

func procAddress(name string) unsafe.Pointer {
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	return C.sc_egl_proc(cname)
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
