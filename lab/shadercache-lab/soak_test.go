package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// TestStoppedSoaksFail stops the process of a soak for longer than ten of its rounds take,
// time and again: it reports a stall, with exit code 1.
func TestStoppedSoaksFail(t *testing.T) {
	if os.Getenv("SHADERCACHE_SOAK") != "1" {
		t.Skip("takes ten seconds of all CPUs: SHADERCACHE_SOAK=1")
	}
	gltest.Open(t) // skips or fails where there is no driver
	t.Setenv("SHADERCACHE_DIR", t.TempDir())
	run := clitest.SelfAs(t, "shadercache-lab", "bench", "executor", "--soak", "6s")
	var output bytes.Buffer
	run.Stdout, run.Stderr = &output, &output
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	for {
		select {
		case err := <-ended:
			exit, failed := errors.AsType[*exec.ExitError](err)
			if !failed || exit.ExitCode() != 1 || !strings.Contains(output.String(), "bench: soak: stall: a round took") {
				t.Errorf("%v: %s", err, output.String())
			}
			return
		case <-time.After(2 * time.Second):
			_ = run.Process.Signal(syscall.SIGSTOP)
			time.Sleep(3 * time.Second)
			_ = run.Process.Signal(syscall.SIGCONT)
		}
	}
}
