//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
)

// faultyKernel is a good program but for what the driver does with its name.
const faultyKernel = `#version 450 core
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Values { float values[]; };
void main() { values[0] = 1.0; } // %s
`

// macroKernel has the driver's preprocessor make 2^40 words of one kilobyte.
func macroKernel() string {
	var b strings.Builder
	b.WriteString("#version 450 core\n#define A0 x x\n")
	for n := 1; n < 40; n++ {
		fmt.Fprintf(&b, "#define A%d A%d A%d\n", n, n-1, n-1)
	}
	b.WriteString("layout(local_size_x = 1) in;\nvoid main() { A39 }\n")
	return b.String()
}

// TestPreloadOfAFaultyFolder compiles a folder with programs that crash, hang or fill the
// memory in every place where drivers do. One run compiles the good ones, names each bad
// one once with its cause, and refuses what crashed, hung or ended two processes.
func TestPreloadOfAFaultyFolder(t *testing.T) {
	t.Parallel()
	gltest.Open(t)
	want := map[string]string{"broken": "compile", "unreadable": "other", "macros": "memory"}
	folder, dir := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name+".comp"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("broken", "void main() { missing(); }")
	write("unreadable", "#include \"nowhere.glsl\"")
	write("macros", macroKernel())
	var faults []faultgl.Fault
	for _, f := range []struct {
		name, cause string
		faultgl.Fault
	}{
		{"crash_compile", "crash", faultgl.Fault{Mode: faultgl.Crash, At: "glCompileShader"}},
		{"crash_thread", "crash", faultgl.Fault{Mode: faultgl.CrashThread, At: "glLinkProgram"}},
		{"crash_prime", "crash", faultgl.Fault{Mode: faultgl.Crash, At: "glDispatchComputeIndirect"}},
		{"hang_link", "timeout", faultgl.Fault{Mode: faultgl.Hang, At: "glLinkProgram"}},
		{"exit_link", "lost", faultgl.Fault{Mode: faultgl.Exit, At: "glLinkProgram"}},
		{"prints", "", faultgl.Fault{Mode: faultgl.Print, Argument: `{"ready":true}`, At: "glLinkProgram"}},
	} {
		if f.cause != "" {
			want[f.name] = f.cause
		}
		write(f.name, fmt.Sprintf(faultyKernel, "fault_"+f.name))
		f.Source = "fault_" + f.name
		faults = append(faults, f.Fault)
	}
	for n := range 8 {
		write(fmt.Sprintf("good%d", n), fmt.Sprintf(faultyKernel, fmt.Sprint("good ", n)))
	}
	r, messages := preloadFaulty(t, folder, dir, faults)
	if r.Failed != len(want) || len(r.Programs) != len(want)+9 {
		t.Errorf("%d of %d failed", r.Failed, len(r.Programs))
	}
	for _, p := range r.Programs {
		if p.Cause != want[p.Name] || p.Cause == "" && p.Origin != "compiled" {
			t.Errorf("%s: cause %q, origin %q, %s", p.Name, p.Cause, p.Origin, p.Error)
		}
		if p.Quarantined != (p.Cause == "crash" || p.Cause == "lost" || p.Cause == "timeout") {
			t.Errorf("%s (%s): in quarantine %v", p.Name, p.Cause, p.Quarantined)
		}
		if named := strings.Count(messages, p.Name+".comp"); p.Cause != "" && named == 0 || p.Cause == "" && named > 0 {
			t.Errorf("%s: named %d times in\n%s", p.Name, named, messages)
		}
	}
	if n := strings.Count(messages, `"level":"error"`); n != len(want) {
		t.Errorf("%d errors in\n%s", n, messages)
	}
	for _, word := range []string{"goroutine", "Usage", "good"} {
		if strings.Contains(messages, word) {
			t.Errorf("%q in\n%s", word, messages)
		}
	}
}

// preloadFaulty returns what preload --json printed, and its messages.
func preloadFaulty(t *testing.T, folder, dir string, faults []faultgl.Fault) (r preloadResult, messages string) {
	t.Helper()
	cmd := clitest.SelfAs(t, "shadercache", "preload", "--json", "--jobs", "2", "--timeout", "20s", "--memory", "250M", "--dir", dir, folder)
	cmd.Env = append(os.Environ(), faultgl.Environment(t, faults...)...)
	var out, printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &printed
	if exit, ok := errors.AsType[*exec.ExitError](cmd.Run()); !ok || exit.ExitCode() != 1 {
		t.Fatalf("exit code %v\n%s", cmd.ProcessState, &printed)
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	return r, printed.String()
}

// The first interrupt of preload names what it waits for, the second ends it and its
// children, although the driver hangs.
func TestPreloadIsInterruptedTwice(t *testing.T) {
	t.Parallel()
	gltest.Open(t)
	clitest.DeliverSignals(t)
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "endless.comp")
	if err := os.WriteFile(file, []byte(fmt.Sprintf(faultyKernel, "endless")), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := clitest.SelfAs(t, "shadercache", "preload", "--dir", dir, file)
	cmd.Env = append(os.Environ(), faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Hang, At: "glLinkProgram", Source: "endless"})...)
	messages, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	clitest.Eventually(t, "the driver hangs", func() bool {
		marks, _ := filepath.Glob(filepath.Join(dir, "*", "inflight", "*"))
		return len(marks) > 0
	})
	children := clitest.ChildrenOf(t, cmd.Process.Pid)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(messages).ReadString('\n')
	if err != nil || !strings.Contains(line, "interrupted: waiting for "+file+"; a second interrupt ends it") {
		t.Errorf("%q, %v", line, err)
	}
	time.Sleep(100 * time.Millisecond)
	for _, child := range children {
		if _, alive := clitest.ParentOf(child); !alive {
			t.Error("the first interrupt ended a child")
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGINT {
		t.Errorf("the process ended with %v", cmd.ProcessState)
	}
	if len(children) == 0 {
		t.Error("there was no child")
	}
	for _, child := range children {
		clitest.Eventually(t, "the children end", func() bool { _, alive := clitest.ParentOf(child); return !alive })
	}
}
