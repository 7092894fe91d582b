package powercut

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// writes are the system calls that change a file system.
const writes = "?open,openat,?creat,write,pwrite64,writev,?rename,renameat,?renameat2,?link,linkat,?unlink,unlinkat," +
	"?mkdir,mkdirat,?rmdir,ftruncate,fallocate,fsync,fdatasync,?chmod,fchmod,fchmodat,utimensat"

// RunUntil runs a command and kills it on the thread's nth system call that may change
// a file system, before the call has an effect; n counts from 1. It reports whether the
// command was killed: with false it made less than n calls and ended by itself. It skips
// the test where strace cannot trace.
func RunUntil(t testing.TB, n int, command *exec.Cmd) (killed bool) {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("killing a process at a system call takes strace")
	}
	arguments := []string{path, "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + writes,
		"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", writes, n), "--", command.Path}
	command.Args = append(arguments, command.Args[1:]...)
	command.Path = path
	var messages strings.Builder
	command.Stderr = &messages
	err = command.Run()
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return false
	case failed && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		return true // strace ends as the command did
	case strings.Contains(messages.String(), "ptrace"):
		t.Skipf("strace cannot trace here: %s", messages.String())
	}
	t.Fatalf("the command failed before call %d: %v\n%s", n, err, messages.String())
	return false
}
