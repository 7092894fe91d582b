//go:build unix

package isolate

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// endingSignal returns the signal that ended a process, such as "SIGSEGV:
// segmentation fault", or "".
func endingSignal(err error) string {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return ""
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return ""
	}
	return unix.SignalName(status.Signal()) + ": " + status.Signal().String()
}
