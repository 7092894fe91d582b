package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/recording"
)

// recordedKernel is a program that no driver sees.
func recordedKernel(n int) *recording.Program {
	return &recording.Program{
		Context: recording.Context{API: recording.OpenGL, Major: 4, Minor: 5, Profile: recording.ProfileCore},
		Stages:  []recording.Stage{{Kind: recording.Compute, Text: fmt.Sprintf("#version 430\n// kernel %d\x1b[31m\nvoid main() {}\n", n)}},
	}
}

// makeRecording makes a recording of a process that linked programs, the last of which its
// driver refused.
func makeRecording(t *testing.T, path string, programs ...*recording.Program) {
	t.Helper()
	r, err := recording.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	var links, failed string
	for n, program := range programs {
		d, err := r.Add(program)
		if err != nil {
			t.Fatal(err)
		}
		at := (time.Duration(n+1) * time.Millisecond).Nanoseconds()
		links += fmt.Sprintf("link\t%d\t%s\t1000\n", at, d)
		failed = fmt.Sprintf("failed\t%d\t%s\n", at, d)
	}
	writeLog(t, path, "7-"+filepath.Base(path), links+failed)
}

// writeLog writes the log of a process with some lines to a recording: see docs/recording.md.
func writeLog(t *testing.T, path, name, lines string) {
	t.Helper()
	log := "process\t0\t1\t/usr/bin/app\t7\n" + lines
	if err := os.WriteFile(filepath.Join(path, "v1", "processes", name+".log"), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
}

// runRecording runs "shadercache recording", which ends with an exit code, and returns
// what it printed.
func runRecording(t *testing.T, dir string, code int, arguments ...string) (out, messages string) {
	t.Helper()
	cmd := exec.Command("shadercache", append([]string{"recording"}, arguments...)...)
	cmd.Dir = dir
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got, err = exit.ExitCode(), nil
	}
	if err != nil || got != code {
		t.Errorf("%v: exit code %d, not %d, %v\n%s%s", arguments, got, code, err, stdout.String(), stderr.String())
	}
	return stdout.String(), stderr.String()
}

func TestRecordingCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	makeRecording(t, a, recordedKernel(1), recordedKernel(2))
	makeRecording(t, b, recordedKernel(2), recordedKernel(3))
	first := recordedKernel(1).Digest().String()

	out, _ := runRecording(t, dir, 0, "list", "a")
	for _, want := range []string{first[:12], "1, 1 refused", "OpenGL 4.5 core", "2 programs, ", "1 process\n", "/usr/bin/app"} {
		if !strings.Contains(out, want) {
			t.Errorf("list has no %q:\n%s", want, out)
		}
	}
	out, _ = runRecording(t, dir, 0, "inspect", "a", first[:8])
	if strings.Contains(out, "\x1b") || !strings.Contains(out, "// kernel 1") {
		t.Errorf("inspect: %q", out)
	}
	if out, _ = runRecording(t, dir, 0, "inspect", "--text", "a", first); out != recordedKernel(1).Stages[0].Text {
		t.Errorf("inspect --text: %q", out)
	}
	_, messages := runRecording(t, dir, 1, "inspect", "a", "abcd")
	if !strings.Contains(messages, "hint: shadercache recording list a") {
		t.Errorf("inspect of nothing: %s", messages)
	}
	out, _ = runRecording(t, dir, 1, "diff", "a", "b", "--json")
	var diff recordingDiff
	if err := json.Unmarshal([]byte(out), &diff); err != nil || len(diff.Programs) != 1 || diff.Programs[0].Program != recordedKernel(3).Digest() || diff.Common != 1 || diff.Unused != 1 {
		t.Errorf("diff: %v\n%s", err, out)
	}
	if out, _ = runRecording(t, dir, 0, "merge", "all", "a", "b"); !strings.HasPrefix(out, "3 programs and 2 processes are new in all, 1 there before, 0 damaged") {
		t.Errorf("merge: %s", out)
	}
	runRecording(t, dir, 0, "diff", "all", "b")

	damaged := filepath.Join(b, "v1", "programs", recordedKernel(3).Digest().String()[:2], recordedKernel(3).Digest().String()+".bin")
	if err := os.Truncate(damaged, 9); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{{"list", "b"}, {"merge", "other", "b"}, {"diff", "a", "b"}} {
		if _, messages := runRecording(t, dir, 1, arguments...); !strings.Contains(messages, "digest") {
			t.Errorf("%v of a damaged recording: %s", arguments, messages)
		}
	}
	if _, messages := runRecording(t, dir, 1, "list", "."); !strings.Contains(messages, "hint: shadercache exec --record . -- PROGRAM makes one") {
		t.Errorf("no recording: %s", messages)
	}
	if _, messages := runRecording(t, dir, 1, "list", damaged); !strings.Contains(messages, "hint: shadercache exec --record DIR -- PROGRAM makes one") {
		t.Errorf("a file in place of a recording: %s", messages)
	}
	runRecording(t, dir, 2, "diff", "a")
	runRecording(t, dir, 2, "list", "a", "--device", "0")
}
