//go:build unix

package isolate

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// repliesVariable is the number of the descriptor that a child writes to. Standard
// output is for what a driver prints.
const repliesVariable = "SHADERCACHE_ISOLATED_REPLIES"

// passReplies makes w the descriptor that the child of a command replies through.
func passReplies(command *exec.Cmd, w *os.File) {
	const first = 3 // of ExtraFiles
	descriptor := first + len(command.ExtraFiles)
	command.ExtraFiles = append(command.ExtraFiles, w)
	command.Env = append(command.Environ(), repliesVariable+"="+strconv.Itoa(descriptor))
}

// openReplies returns what passReplies passed, and standard output in a process that
// no pool started. Processes that the driver starts do not inherit it.
func openReplies() *os.File {
	descriptor, err := strconv.Atoi(os.Getenv(repliesVariable))
	if err != nil {
		return os.Stdout
	}
	_ = os.Unsetenv(repliesVariable)
	syscall.CloseOnExec(descriptor)
	return os.NewFile(uintptr(descriptor), "replies")
}
