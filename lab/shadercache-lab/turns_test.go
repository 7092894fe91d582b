package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// An interrupt ends the process of the GPU whose turn it is, and no further one begins. What
// is done is printed.
func TestInterruptOfTurns(t *testing.T) {
	t.Parallel()
	clitest.DeliverSignals(t)
	cmd, lines := startTurns(t, "0.5")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for line, err := lines.ReadString('\n'); err == nil; line, err = lines.ReadString('\n') {
		if strings.HasPrefix(line, "== ") {
			t.Errorf("a further GPU has a turn: %s", line)
			_ = cmd.Process.Kill()
		}
	}
	exit, ok := errors.AsType[*exec.ExitError](cmd.Wait())
	if !ok || exit.ExitCode() != cli.ExitFailed {
		t.Errorf("the command ended with %v", exit)
	}
}

// The process of the GPU whose turn it is ends when that of the command is killed.
func TestKilledTurns(t *testing.T) {
	t.Parallel()
	cmd, _ := startTurns(t, "20")
	clitest.EndsWith(t, cmd, "--device=")
}

// startTurns starts a benchmark on three GPUs, each of whose rows takes so many seconds, and
// returns when the first has its turn.
func startTurns(t *testing.T, seconds string) (*exec.Cmd, *bufio.Reader) {
	gltest.Open(t)
	device := strings.Join(gltest.Devices(3), ",")
	cmd := clitest.SelfAs(t, "shadercache-lab", "bench", "executor", "--workloads", "small", "--seconds", seconds, "--device", device, "--dir", t.TempDir())
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, "== GPU ") {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd, lines
}
