package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/cli"
	"github.com/shadercache/shadercache/internal/faultgl"
)

// TestCommandOnTwoDrivers runs the scripts whose processes see a second GPU, of another
// driver, that compiles no program whose text has "not on the second". With $BROKEN for
// its faults it has no context, with $LOST it loses it.
func TestCommandOnTwoDrivers(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	gltest.Open(t)
	p := scripts("testdata/script/twin", nil)
	twin := faultgl.Fault{Mode: faultgl.Twin, At: "eglQueryDevicesEXT"}
	broken := faultgl.Fault{Mode: faultgl.Refuse, At: "glGetString", OnTwin: true}
	lost := faultgl.Fault{Mode: faultgl.Lost, At: "glDispatchCompute", OnTwin: true}
	setup, environment := p.Setup, faultgl.Environment(t, twin,
		faultgl.Fault{Mode: faultgl.Refuse, At: "glCompileShader", OnTwin: true, Source: "not on the second"})
	p.Setup = func(e *testscript.Env) error {
		for _, setting := range environment {
			name, value, _ := strings.Cut(setting, "=")
			e.Setenv(name, value)
		}
		e.Setenv("BROKEN", twin.String()+"\n"+broken.String())
		e.Setenv("LOST", twin.String()+"\n"+lost.String())
		return setup(e)
	}
	testscript.Run(t, p)
}

// An interrupt ends the process of the GPU whose turn it is, and no further one begins. What
// is done is printed.
func TestInterruptOfTurns(t *testing.T) {
	t.Parallel()
	deliverSignals(t)
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
	endsWith(t, cmd, "--device=")
}

// The process that measures a problem ends when that of tune is killed.
func TestKilledTuning(t *testing.T) {
	t.Parallel()
	gltest.Open(t)
	cmd := selfAs(t, "shadercache", "tune", "gemm:4096x4096x4096", "--budget", "10m", "--device", strings.Join(gltest.Devices(2), ","), "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	endsWith(t, cmd, "--all")
}

// endsWith checks that the process of a GPU, which has an argument that its command has not,
// ends when that is killed.
func endsWith(t *testing.T, cmd *exec.Cmd, argument string) {
	t.Helper()
	child := 0
	eventually(t, "the process of a GPU is started", func() bool {
		for _, child = range childrenOf(t, cmd.Process.Pid) {
			line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
			if err == nil && strings.Contains(string(line), argument) { // not one of package os
				return true
			}
		}
		return false
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "it ends", func() bool { _, alive := parentOf(child); return !alive })
}

// startTurns starts a benchmark on three GPUs, each of whose rows takes so many seconds, and
// returns when the first has its turn.
func startTurns(t *testing.T, seconds string) (*exec.Cmd, *bufio.Reader) {
	gltest.Open(t)
	device := strings.Join(gltest.Devices(3), ",")
	cmd := selfAs(t, "shadercache", "bench", "executor", "--workloads", "small", "--seconds", seconds, "--device", device, "--dir", t.TempDir())
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
