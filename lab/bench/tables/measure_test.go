package tables

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const measureScript = "../../../scripts/measure"

// runMeasure runs the script with a shell script in place of the commands. It returns the
// summary and the exit code.
func runMeasure(t *testing.T, command string, arguments ...string) (string, int) {
	t.Helper()
	stub := filepath.Join(t.TempDir(), "shadercache")
	for _, path := range []string{stub, stub + "-lab"} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+command), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.Command(measureScript, arguments...)
	run.Env = append(os.Environ(), "SHADERCACHE="+stub, "TESTS=", "TMPDIR="+t.TempDir(), "PATH=/usr/bin:/bin")
	out, err := run.CombinedOutput()
	if run.ProcessState == nil {
		t.Skip(err) // no bash
	}
	entries, err := os.ReadDir(strings.TrimPrefix(run.Env[len(run.Env)-2], "TMPDIR="))
	if err != nil || len(entries) > 0 {
		t.Errorf("%v is left behind, %v", entries, err)
	}
	return string(out), run.ProcessState.ExitCode()
}

// A benchmark that fails does not end the run: it is named with its message, and the
// exit code is 1.
func TestMeasureContinuesAfterAFailure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, code := runMeasure(t, `
case "$*" in
doctor*) echo llvmpipe ;;
"bench dispatch"*) echo "shadercache: it broke" >&2; exit 1 ;;
"bench table /"*) echo "tick, us  25.0  24.0 met" ;;
"bench startup"*) printf '{\n  "speedup_vs_cold": 33.2,\n  "scenarios": {\n   "verified": false\n  },\n  "verified": true\n}\n' ;;
*) echo '{}' ;;
esac`, dir, "900")
	for _, want := range []string{
		"startup-preload.json   ok ", "speedup_vs_cold 33.2, verified true\n",
		"dispatch.json          FAILED ", "shadercache: it broke\n",
		"tune-gemm.json         skipped ", "cache.txt              skipped ",
		"executor-soak.json     ok ",
		"\ntick, us  25.0  24.0 met\n1 failed, 0 cut short, 14 skipped, ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	for file, there := range map[string]bool{
		"startup.json": true, "summary.txt": true, "machine.txt": true, "dispatch.json.err": true,
		"dispatch.json": false, "startup.json.err": false,
	} {
		if _, err := os.Stat(filepath.Join(dir, file)); (err == nil) != there {
			t.Errorf("%s is there: %t", file, !there)
		}
	}
}

// A benchmark that exceeds its share is interrupted, its output so far is kept, and the
// rest is skipped; that is no failure.
func TestMeasureKeepsToItsTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, code := runMeasure(t, `
case "$*" in
doctor*) echo llvmpipe ;;
"bench resident --seconds"*) trap 'kill $!; echo "{ }"; exit 1' INT; sleep 90 & wait ;;
esac`, dir, "15") // all of it for the first step
	for _, want := range []string{"resident.json          cut short ", "\n0 failed, "} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, "resident.json")); err != nil || string(data) != "{ }\n" {
		t.Errorf("left %q, %v", data, err)
	}
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// Every log that the documentation is made from is written by scripts/measure, but that of
// the trial, which is no benchmark.
func TestMeasureWritesEveryLog(t *testing.T) {
	out, err := exec.Command(measureScript, "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	files := strings.Fields(string(out))
	logs, err := filepath.Glob("../../../docs/logs/*/*")
	if err != nil || len(logs) < 20 {
		t.Fatalf("%d logs, %v", len(logs), err)
	}
	for _, log := range logs {
		if filepath.Base(filepath.Dir(log)) == "drivers" {
			continue // scripts/drivers run, of docs/drivers.md
		}
		switch name := filepath.Base(log); name {
		case "driver-calls.txt", "driver-jobs.txt", "floors.txt", "startup-calls.txt", "startup-split.txt", "ticks-trips.txt": // of docs/bench/host-h200.md
		case "server-ring.txt", "server-devices.txt", "server-idle.txt": // benchmarks of package server, and of docs/drivers.md
		case "replay.json", "replay-mesa25.json", "record.txt": // scripts/replay-trial, and a C program of package recorder
		case "exec-export.txt": // of docs/programs.md
		case "devices.txt", "devices-messages.json", "devices-wave.json", "devices-one.txt", "devices-conv.txt": // of docs/devices.md
		case "clients-python.txt": // of docs/clients.md
		case "gemm-turns.txt": // BenchmarkGEMMPeer, of docs/bench/kernels.md
		case "gpu-memory.txt", "processes.txt", "together.txt", "zipf.txt": // benchmarks of package glctx
		case "interpreter-lengths.json", "interpreter-vectors.json", "interpreter-kernels.txt", "interpreter-parts.txt": // of docs/interpreter.md
		case "together-machines.json": // rows of together.json, in a run of their own
		case "zero.txt": // BenchmarkZeroOutputs of package executor
		case "trial.txt": // scripts/trial writes it
		default:
			if !slices.Contains(files, name) {
				t.Errorf("%s is in no step of scripts/measure", name)
			}
		}
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(files))); len(unique) != len(files) {
		t.Errorf("a file is written twice: %v", files)
	}
}

func TestMeasureUsage(t *testing.T) {
	for _, arguments := range [][]string{{}, {"a", "b", "c"}, {t.TempDir(), "soon"}, {t.TempDir(), "0"}} {
		if out, code := runMeasure(t, "exit 0", arguments...); code != 2 || !strings.Contains(out, "usage:") {
			t.Errorf("%v: exit code %d, %s", arguments, code, out)
		}
	}
}
