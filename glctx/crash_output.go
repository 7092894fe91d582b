//go:build linux && cgo

package glctx

/*
#include "crash_output.h"
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

var crashOutputMu sync.Mutex

// SetCrashOutput sets the file to which a line such as "SIGSEGV: on a thread of the
// driver's own" is written when a signal that ends the process arrives on a thread
// that Go did not start. On such threads Go's runtime ends the process without
// output, and debug.SetCrashOutput writes nothing.
//
// It installs handlers of these signals for the whole process, which call Go's. A
// later call replaces the file. f may be closed afterwards. It may be called from any
// goroutine.
func (c *Context) SetCrashOutput(f *os.File) error {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	runtime.KeepAlive(f)
	if err != nil {
		return fmt.Errorf("glctx: set crash output: %w", err)
	}
	crashOutputMu.Lock()
	defer crashOutputMu.Unlock()
	if failed := C.sc_set_crash_output(C.int(fd)); failed != 0 {
		return fmt.Errorf("glctx: set crash output: %w", syscall.Errno(failed))
	}
	return nil
}
