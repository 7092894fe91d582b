//go:build linux

package main

import (
	"bytes"
	"context"
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
	"github.com/shadercache/shadercache/conv2d/imaging"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
)

// What follows the fault, in starts without it.
const (
	nothing = "healthy"
	noted   = "healthy; verify lists the program"
	unkept  = "compiled at each start"
	repair  = "the program is refused"
	once    = "the program is refused once"
	retry   = "the failure is remembered"
)

// faultRow is a failure of a driver and what two commands make of it. An outcome is an
// exit code or the name of a signal, then a text of the messages; "" where the command
// does not get there.
type faultRow struct {
	mode       faultgl.Mode
	argument   string
	at         string
	preload    string // of two programs, one of which has the fault
	preloadFix string
	run        string
	runFix     string
}

// quickFaults are the rows that are tested each time, the others with SHADERCACHE_SOAK=1.
var quickFaults = map[string]bool{
	"crash@glLinkProgram": true, "crash@glProgramBinary": true, "crash@glGetProgramBinary": true,
	"crash@eglCreateContext": true, "crash@glDispatchCompute": true, "hang@glLinkProgram": true,
	"garbage@glGetProgramBinary": true, "wrong@glProgramBinary": true, "refuse@glProgramBinary": true,
	"out-of-memory@glProgramBinary": true, "out-of-memory@glLinkProgram": true, "lost@glDispatchCompute": true,
	"length=2147483647@glGetProgramBinary": true, "print@glLinkProgram": true,
}

// killed is the outcome of a command that its user ends.
const killed = "SIGKILL"

const sigsegv = `2 SIGSEGV: segmentation violation`

var faultRows = []faultRow{
	{faultgl.Crash, "", "eglInitialize", "1 the driver crashed: SIGSEGV", nothing, sigsegv, nothing},
	{faultgl.Crash, "", "eglCreateContext", "1 the driver crashed: SIGSEGV", nothing, sigsegv, nothing},
	{faultgl.Crash, "", "eglMakeCurrent", "1 the driver crashed: SIGSEGV", nothing, sigsegv, nothing},
	{faultgl.Crash, "", "eglDestroyContext", "", "", sigsegv, nothing},
	{faultgl.Crash, "", "glCompileShader", "1 the driver crashed: SIGSEGV", repair, sigsegv, nothing},
	{faultgl.Crash, "", "glLinkProgram", "1 the driver crashed: SIGSEGV", repair, sigsegv, nothing},
	{faultgl.Crash, "6", "glLinkProgram", "1 the driver crashed: SIGABRT", repair, "2 SIGABRT", nothing},
	{faultgl.Crash, "7", "glLinkProgram", "1 SIGBUS", nothing, "2 SIGBUS", nothing},
	{faultgl.Crash, "9", "glLinkProgram", "1 its process was ended by SIGKILL", nothing, killed, nothing},
	{faultgl.CrashThread, "", "glLinkProgram", "1 the driver crashed: SIGSEGV", repair, "SIGSEGV", nothing},
	{faultgl.Crash, "", "glDispatchComputeIndirect", "1 the driver crashed: SIGSEGV", repair, sigsegv, nothing},
	{faultgl.Crash, "", "glGetProgramBinary", "0", unkept, sigsegv, unkept},
	{faultgl.Crash, "", "glProgramBinary", "0", unkept, sigsegv, unkept},
	{faultgl.Crash, "", "glDispatchCompute", "", "", sigsegv, once},
	{faultgl.Crash, "", "glFenceSync", "", "", sigsegv, once},
	{faultgl.Crash, "", "glClientWaitSync", "", "", sigsegv, once},
	{faultgl.Exit, "", "glLinkProgram", "1 its process ended: exit status 1", repair, "1", nothing},
	{faultgl.Hang, "", "eglInitialize", "1", nothing, killed, nothing},
	{faultgl.Hang, "", "glLinkProgram", "1 it took longer than", repair, killed, nothing},
	{faultgl.Hang, "", "glProgramBinary", "1 it took longer than", noted, killed, nothing},
	{faultgl.Hang, "", "glGetProgramBinary", "1 it took longer than", repair, killed, nothing},
	{faultgl.Timeout, "", "glClientWaitSync", "", "", killed, nothing},
	{faultgl.Memory, "4096", "glLinkProgram", "1 memory", nothing, "0", nothing},
	{faultgl.Print, "", "eglInitialize", "0", nothing, "0", nothing},
	{faultgl.Print, "", "glLinkProgram", "0", nothing, "0", nothing},
	{faultgl.Garbage, "", "glGetString", "0", nothing, "0", nothing},
	{faultgl.Garbage, "", "glLinkProgram", "1 does not compile", nothing, "1 does not compile", nothing},
	{faultgl.Garbage, "", "glProgramBinary", "0", nothing, "0", nothing},
	{faultgl.Garbage, "", "glGetProgramBinary", "0", nothing, "0", nothing},
	{faultgl.Length, "-1", "glGetProgramBinary", "1 the program store failed", nothing, "0", nothing},
	{faultgl.Length, "1", "glGetProgramBinary", "0", nothing, "0", nothing},
	{faultgl.Length, "2147483647", "glGetProgramBinary", "1 the program store failed", nothing, "0", nothing},
	{faultgl.Length, "-1", "glGetProgramiv", "1 the program store failed", nothing, "0", nothing},
	{faultgl.Length, "2147483647", "glGetProgramiv", "1 the program store failed", nothing, "0", nothing},
	{faultgl.Wrong, "", "glLinkProgram", "", "", "1 the GPU's result differs", nothing},
	{faultgl.Wrong, "", "glProgramBinary", "", "", "0", nothing},
	{faultgl.Wrong, "", "glDispatchCompute", "", "", "1 the GPU's result differs", nothing},
	{faultgl.Refuse, "", "eglInitialize", "1 no OpenGL driver", nothing, "1 no OpenGL driver", nothing},
	{faultgl.Refuse, "", "eglCreateContext", "1 EGL_BAD_MATCH", nothing, "1 EGL_BAD_MATCH", nothing},
	{faultgl.Refuse, "", "eglMakeCurrent", "1 EGL_BAD_ACCESS", nothing, "1 EGL_BAD_ACCESS", nothing},
	{faultgl.Refuse, "", "glGetString", "1 no context is current", nothing, "1 no context is current", nothing},
	{faultgl.Refuse, "", "glCompileShader", "1 refused by faultgl", retry, "1 refused by faultgl", nothing},
	{faultgl.Refuse, "", "glLinkProgram", "1 refused by faultgl", retry, "1 refused by faultgl", nothing},
	{faultgl.Refuse, "", "glProgramBinary", "0", nothing, "0", nothing},
	{faultgl.Refuse, "", "glGetProgramBinary", "1 GL_INVALID_OPERATION", nothing, "0", nothing},
	{faultgl.Refuse, "", "glDispatchCompute", "", "", "1", nothing},
	{faultgl.Refuse, "", "glFenceSync", "", "", "1 GL_INVALID_OPERATION", nothing},
	{faultgl.Refuse, "", "glClientWaitSync", "", "", "1 GL_INVALID_OPERATION", nothing},
	{faultgl.Refuse, "", "glMapNamedBufferRange", "", "", "1 GL_INVALID_OPERATION", nothing},
	{faultgl.OutOfMemory, "", "eglCreateContext", "1 EGL_BAD_ALLOC", nothing, "1 EGL_BAD_ALLOC", nothing},
	{faultgl.OutOfMemory, "", "glNamedBufferStorage", "1 driver is out of memory", nothing, "1 driver is out of memory", nothing},
	{faultgl.OutOfMemory, "", "glMapNamedBufferRange", "", "", "1 driver is out of memory", nothing},
	{faultgl.OutOfMemory, "", "glCompileShader", "1 driver is out of memory", nothing, "1 driver is out of memory", nothing},
	{faultgl.OutOfMemory, "", "glLinkProgram", "1 driver is out of memory", nothing, "1 driver is out of memory", nothing},
	{faultgl.OutOfMemory, "", "glProgramBinary", "0", nothing, "0", nothing},
	{faultgl.OutOfMemory, "", "glGetProgramBinary", "1 driver is out of memory", nothing, "0", nothing},
	{faultgl.OutOfMemory, "", "glDispatchCompute", "", "", "1 driver is out of memory", nothing},
	{faultgl.Lost, "", "glLinkProgram", "1 GL context lost", nothing, "1 GL context lost", nothing},
	{faultgl.Lost, "", "glProgramBinary", "", "", "1 GL context lost", nothing},
	{faultgl.Lost, "", "glGetProgramBinary", "", "", "1 GL context lost", nothing},
	{faultgl.Lost, "", "glDispatchCompute", "", "", "1 GL context lost", nothing},
	{faultgl.Lost, "", "glClientWaitSync", "", "", "1 GL context lost", nothing},
}

func (r faultRow) fault() faultgl.Fault {
	return faultgl.Fault{Mode: r.mode, Argument: r.argument, At: r.at}
}

// TestFaultModes starts the command with a driver that fails, and then without the
// failure: the first start ends as its row has it, in bounded time; the next one is
// healthy, without a program refused but the one that the driver died of; and all
// programs are on disk in the end.
func TestFaultModes(t *testing.T) {
	gltest.Open(t)
	for _, row := range faultRows {
		name := row.fault().String()
		if !quickFaults[name] && os.Getenv("SHADERCACHE_SOAK") != "1" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if row.preload != "" {
				testFaultInPreload(t, row)
			}
			if row.run != "" {
				testFaultInRun(t, row)
			}
		})
	}
}

// faultStart is a start of the command in a directory.
type faultStart struct {
	dir         string
	environment []string
	limit       time.Duration // after which its user kills it
}

// outcome runs the command and returns its exit code or signal, a space and its messages,
// and what it printed.
func (s faultStart) outcome(t *testing.T, args ...string) (outcome, printed string) {
	t.Helper()
	cmd := clitest.SelfAs(t, "shadercache", args...)
	ctx, cancel := context.WithTimeout(t.Context(), s.limit)
	defer cancel()
	cmd = exec.CommandContext(ctx, cmd.Path, args...)
	cmd.Args[0] = "shadercache"
	cmd.Dir = s.dir
	cmd.Env = append(append(os.Environ(), "SHADERCACHE_DIR="+filepath.Join(s.dir, "cache")), s.environment...)
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case err != nil && !failed:
		t.Fatal(err)
	case !failed:
		return "0 " + messages.String(), out.String()
	}
	if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
		return map[syscall.Signal]string{syscall.SIGKILL: "SIGKILL", syscall.SIGSEGV: "SIGSEGV"}[status.Signal()] + " " + messages.String(), out.String()
	}
	return fmt.Sprintf("%d %s", exit.ExitCode(), messages.String()), out.String()
}

// repair ends what a fault leaves for a day, and requires that there is something.
func (s faultStart) repair(t *testing.T, fix string) {
	t.Helper()
	if fix != repair && fix != unkept && fix != noted {
		return
	}
	got, _ := s.outcome(t, "verify")
	wantOutcome(t, "verify", got, "1 in quarantine")
	got, _ = s.outcome(t, "verify", "--repair")
	wantOutcome(t, "verify --repair", got, "0")
}

// wantOutcome compares an outcome with that of a row.
func wantOutcome(t *testing.T, what, got, want string) {
	t.Helper()
	code, message, _ := strings.Cut(want, " ")
	gotCode, messages, _ := strings.Cut(got, " ")
	if gotCode != code || !strings.Contains(messages, message) {
		t.Errorf("%s ended with %s, not %q: %.1500s", what, gotCode, want, messages)
	}
	if strings.Contains(messages, "\x1b") || strings.Contains(messages, "panic: ") {
		t.Errorf("%s: escape codes or a panic in %.1500q", what, messages)
	}
}

// testFaultInPreload preloads a program with the fault beside one without.
func testFaultInPreload(t *testing.T, row faultRow) {
	const text = "#version 450\nlayout(local_size_x = 1) in;\n" +
		"layout(std430, binding = 0) buffer Out { uint word; };\nvoid main() { word = 42u; } // "
	fault := row.fault()
	if strings.HasPrefix(fault.At, "gl") && fault.At != "glGetString" && fault.At != "glNamedBufferStorage" {
		fault.Source = "guilty"
	}
	dir := t.TempDir()
	for _, name := range []string{"guilty", "neighbour"} {
		if err := os.WriteFile(filepath.Join(dir, name+".comp"), []byte(text+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	timeout := "1m"
	if row.mode == faultgl.Hang {
		timeout = "3s"
	}
	arguments := []string{"preload", "--json", "--jobs", "1", "--timeout", timeout, "--memory", "1G", "guilty.comp", "neighbour.comp"}
	faulty := faultStart{dir, faultgl.Environment(t, fault), 5 * time.Minute}
	healthy := faultStart{dir, nil, 5 * time.Minute}
	if fault.At == "glProgramBinary" {
		got, _ := faulty.outcome(t, arguments...)
		wantOutcome(t, "the first preload", got, "0")
	}
	got, _ := faulty.outcome(t, arguments...)
	wantOutcome(t, "preload with the fault", got, row.preload)

	got, printed := healthy.outcome(t, arguments...)
	for _, p := range preloaded(t, printed) {
		if (p.Error != "") != (p.Name == "guilty" && (row.preloadFix == repair || row.preloadFix == retry)) {
			t.Errorf("the next preload: %s: %q", p.Name, p.Error)
		}
	}
	if row.preloadFix == nothing || row.preloadFix == noted || row.preloadFix == unkept {
		wantOutcome(t, "the next preload", got, "0")
	}
	if row.preloadFix == retry {
		arguments = append(arguments, "--retry-failed")
	}
	healthy.repair(t, row.preloadFix)
	if row.preloadFix != nothing {
		healthy.outcome(t, arguments...)
	}
	got, printed = healthy.outcome(t, arguments...)
	wantOutcome(t, "the last preload", got, "0")
	for _, p := range preloaded(t, printed) {
		if p.Origin != "disk" {
			t.Errorf("the last preload: %+v", p)
		}
	}
	got, _ = healthy.outcome(t, "verify")
	wantOutcome(t, "verify", got, "0")
}

func preloaded(t *testing.T, printed string) []preloadLine {
	t.Helper()
	var r preloadResult
	if err := json.Unmarshal([]byte(printed), &r); err != nil {
		t.Errorf("preload printed %.500q: %v", printed, err)
	}
	if len(r.Programs) != 2 {
		t.Errorf("%d programs: %q", len(r.Programs), printed)
	}
	return r.Programs
}

// testFaultInRun runs a program, in the process of the command, with the fault.
func testFaultInRun(t *testing.T, row faultRow) {
	dir := t.TempDir()
	if err := imaging.WritePNG(filepath.Join(dir, "small.png"), clitest.SmallPicture()); err != nil {
		t.Fatal(err)
	}
	limit := 5 * time.Minute
	if row.run == killed {
		limit = 3 * time.Second
	}
	arguments := []string{"run", "--json", "--image", "small.png", "--out", "out.png"}
	faulty := faultStart{dir, faultgl.Environment(t, row.fault()), limit}
	healthy := faultStart{dir, nil, 5 * time.Minute}
	if row.at == "glProgramBinary" {
		got, _ := healthy.outcome(t, arguments...)
		wantOutcome(t, "the first run", got, "0")
	}
	got, printed := faulty.outcome(t, arguments...)
	wantOutcome(t, "run with the fault", got, row.run)
	if row.run == "0" && row.mode != faultgl.Print {
		ran(t, printed)
	}
	got, printed = healthy.outcome(t, arguments...)
	fix := row.runFix
	if fix == unkept && strings.Contains(got, "ran for the first time") {
		fix = once // the program's first job had begun when the driver read its binary
	}
	if fix == repair || fix == once {
		wantOutcome(t, "the next run", got, "1 is in quarantine")
		healthy.repair(t, fix)
		got, printed = healthy.outcome(t, arguments...)
	} else {
		healthy.repair(t, fix)
	}
	wantOutcome(t, "the next run", got, "0")
	ran(t, printed)
	if fix == unkept {
		healthy.outcome(t, arguments...)
	}
	got, printed = healthy.outcome(t, arguments...)
	wantOutcome(t, "the last run", got, "0")
	if r := ran(t, printed); r.Compiles != 0 || r.DiskHits != 1 {
		t.Errorf("the last run: %d compiled, %d from disk", r.Compiles, r.DiskHits)
	}
	got, _ = healthy.outcome(t, "verify")
	wantOutcome(t, "verify", got, "0")
}

// ranResult is what the test reads of the JSON of run.
type ranResult struct {
	Compiles uint64 `json:"compiles"`
	DiskHits uint64 `json:"disk_hits"`
	Verified bool   `json:"verified"`
}

func ran(t *testing.T, printed string) (r ranResult) {
	t.Helper()
	if err := json.Unmarshal([]byte(printed), &r); err != nil || !r.Verified {
		t.Errorf("run printed %.500q: %v", printed, err)
	}
	return r
}
