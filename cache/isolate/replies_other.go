//go:build !unix

package isolate

import (
	"os"
	"os/exec"
)

// passReplies makes w the standard output of a command: a child gets no other
// descriptors here.
func passReplies(command *exec.Cmd, w *os.File) { command.Stdout = w }

// openReplies returns what passReplies passed.
func openReplies() *os.File { return os.Stdout }
