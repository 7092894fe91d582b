//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/recording"
)

// runWith runs the command with a cache directory, and returns its output and exit code.
func runWith(t *testing.T, dir string, arguments ...string) (out string, code int) {
	t.Helper()
	cmd := exec.Command("shadercache", append([]string{"--dir", dir}, arguments...)...)
	text, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(text), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text), 0
}

// A program that the driver refused when it was recorded is no failure of a replay; another
// that it refuses is.
func TestPreloadOfRefusedPrograms(t *testing.T) {
	t.Parallel()
	gltest.Open(t)
	good, bad, other := recordedKernel(1), recordedKernel(2), recordedKernel(3)
	for _, p := range []*recording.Program{good, bad, other} {
		p.Stages[0].Text = "#version 430\nlayout(local_size_x = 1) in;\nlayout(std430) buffer B { float b[]; };\nvoid main() { b[0] += 1.0; }"
	}
	bad.Stages[0].Text += " refused"
	other.Stages[0].Text += " refused too"
	work, cache := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	makeRecording(t, filepath.Join(work, "refused"), good, bad) // the last link failed
	makeRecording(t, filepath.Join(work, "changed"), other, good)
	out, code := runWith(t, cache, "preload", filepath.Join(work, "refused"))
	if code != 0 || !strings.Contains(out, "2 programs: 1 compiled, 0 from disk, 1 refused as when they were recorded, 0 failed") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	out, code = runWith(t, cache, "rebuild", filepath.Join(work, "changed"))
	if code != 1 || !strings.Contains(out, "2 programs: 0 compiled, 1 from disk, 1 failed") || !strings.Contains(out, "syntax error") ||
		!strings.Contains(out, "compute "+other.Digest().String()[:12]) {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if out, code = runWith(t, cache, "preload", "--no-isolate", filepath.Join(work, "refused")); code != 2 || !strings.Contains(out, "--no-isolate does not go with recordings") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// A recording of a full disk lacks programs: preload says so, of which else nothing is seen.
func TestPreloadOfARecordingThatIsNotWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "recording")
	if _, err := recording.Create(path); err != nil {
		t.Fatal(err)
	}
	writeLog(t, path, "7-1", "lost\t1\tNo space left on device\nlost\t2\tother\n")
	out, code := runWith(t, filepath.Join(t.TempDir(), "cache"), "preload", path)
	if code != 0 || !strings.Contains(out, "is not whole") || !strings.Contains(out, "lost 2, first No space left on device") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// What Mesa makes at a draw depends on state that a recording does not have: preload counts
// the programs, and says what warms them.
func TestPreloadOfGraphics(t *testing.T) {
	t.Parallel()
	if !strings.Contains(gltest.Open(t).Info().Driver, "Mesa") {
		t.Skip("other drivers make machine code when they link")
	}
	kernel, drawn := recordedKernel(1), recordedKernel(2)
	kernel.Stages[0].Text = "#version 430\nlayout(local_size_x = 1) in;\nlayout(std430) buffer B { float b[]; };\nvoid main() { b[0] += 1.0; }"
	drawn.Stages = []recording.Stage{
		{Kind: recording.Vertex, Text: "#version 330\nin vec2 at;\nvoid main() { gl_Position = vec4(at, 0.0, 1.0); }"},
		{Kind: recording.Fragment, Text: "#version 330\nout vec4 colour;\nvoid main() { colour = vec4(1.0); }"},
	}
	work, cache := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	both, compute := filepath.Join(work, "both"), filepath.Join(work, "compute")
	makeRecording(t, both, kernel, drawn)
	makeRecording(t, compute, kernel)
	for _, r := range []struct {
		recording string
		drawn     int
	}{{both, 1}, {compute, 0}} {
		out, code := runWith(t, cache, "preload", r.recording)
		if said := strings.Contains(out, "1 graphics program: "+needsRun); code != 0 || said != (r.drawn > 0) {
			t.Errorf("exit code %d:\n%s", code, out)
		}
		var result preloadResult
		out, code = runWith(t, cache, "preload", "--json", r.recording)
		if err := json.Unmarshal([]byte(out), &result); err != nil || code != 0 || result.NeedRun != r.drawn {
			t.Errorf("%v, exit code %d, %d need a run, want %d:\n%s", err, code, result.NeedRun, r.drawn, out)
		}
	}
}

// exec --report has the exit code of its program, also of one that a signal ended, passes
// arguments on, and counts the run.
func TestExecReport(t *testing.T) {
	t.Parallel()
	cache := filepath.Join(t.TempDir(), "cache")
	for script, want := range map[string]int{"exit 7": 7, "kill -9 $$": 137, `test "$1" = "two words"`: 0, "kill -TERM $PPID; exec sleep 20": 143} {
		out, code := runWith(t, cache, "exec", "--report", "--", "sh", "-c", script, "sh", "two words")
		if code != want || !strings.Contains(out, "the driver read 0 of its entries and added 0") {
			t.Errorf("%s: exit code %d, not %d\n%s", script, code, want, out)
		}
	}
	out, code := runWith(t, cache, "stats", "--json")
	var stats statsResult
	if err := json.Unmarshal([]byte(out), &stats); err != nil || code != 0 || stats.Exec.Runs != 4 {
		t.Errorf("exit code %d, %v:\n%s", code, err, out)
	}
	if out, code = runWith(t, cache, "exec", "--report", "--", "/no/such/program"); code != 127 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}
