//go:build linux

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

var tellingCrashes sync.Mutex

// SetCrashOutput has a line written to f, such as "SIGSEGV: on a thread of the
// driver's own", when a signal by which drivers end processes comes on a thread
// that is not Go's. There Go's runtime ends the process without a word, and
// debug.SetCrashOutput writes nothing. It puts itself before Go's handlers of these
// signals, of which a process has one each, and calls them as ever. The last file
// given counts; f may be closed afterwards. Call it from any goroutine.
func (c *Context) SetCrashOutput(f *os.File) error {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	runtime.KeepAlive(f)
	if err != nil {
		return fmt.Errorf("glctx: tell crashes: %w", err)
	}
	tellingCrashes.Lock()
	defer tellingCrashes.Unlock()
	if failed := C.sc_tell_crashes(C.int(fd)); failed != 0 {
		return fmt.Errorf("glctx: tell crashes: %w", syscall.Errno(failed))
	}
	return nil
}
