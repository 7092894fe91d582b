//go:build linux

package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/internal/faultgl"
)

// TestServeTriesAProgramAgain crashes the driver once, in the first job of a program. The
// worker that follows refuses the program: it has the driver's own cache open, which may be
// the cause. The one after it starts with that set aside, and runs the program.
func TestServeTriesAProgramAgain(t *testing.T) {
	t.Parallel()
	s := serveProcess(t, faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Crash, At: "glDispatchCompute", Once: true}))
	if err := runJob(t.Context(), s.dial()); err == nil {
		t.Fatal("the driver did not crash")
	}
	second := s.dial()
	if err := runJob(t.Context(), second); err == nil || !strings.Contains(err.Error(), "is in quarantine") || second.Welcome().Generation != 2 {
		t.Errorf("generation %d: %v", second.Welcome().Generation, err)
	}
	for _, worker := range clitest.ChildrenOf(t, s.cmd.Process.Pid) {
		_ = syscall.Kill(worker, syscall.SIGKILL)
	}
	clitest.Eventually(t, "the second session ended", func() bool { return second.Err() != nil })
	third := s.dial()
	if err := runJob(t.Context(), third); err != nil || third.Welcome().Generation != 3 {
		t.Errorf("generation %d: %v", third.Welcome().Generation, err)
	}
	third.Close()
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Errorf("%v\n%s", err, s.messages)
	}
}
