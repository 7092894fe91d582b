//go:build unix

package isolate

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// endingSignal returns the signal that ended a process, such as "SIGSEGV:
// segmentation fault", or "".
func endingSignal(state *os.ProcessState) string {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return ""
	}
	return unix.SignalName(status.Signal()) + ": " + status.Signal().String()
}
