package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// waveArguments are a small wave without an end, for resume with more flags.
var waveArguments = []string{"run", "wave", "--size", "48x32", "--tiles", "3x2", "--json",
	"--poke", "10,10,1", "--poke", "30,20,-0.5@34"}

// TestKilledWavesContinue kills a simulation that is saved, and continues it in another
// process, which compares every cell of its end with the CPU.
func TestKilledWavesContinue(t *testing.T) {
	gltest.Open(t) // skips or fails where there is no driver
	t.Setenv("SHADERCACHE_DIR", t.TempDir())
	file := filepath.Join(t.TempDir(), "wave")
	for resume, killed := "", 0; killed < 2; killed++ {
		before, _ := saved(file)
		args := append(slices.Clone(waveArguments), "--steps", "100000000", "--checkpoint", file, "--checkpoint-every", "20ms")
		if resume != "" {
			args = append(args, "--resume", resume)
		}
		run := clitest.SelfAs(t, "shadercache-lab", args...)
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
			// The last checkpoint is one after all impulses.
			if sequence, steps := saved(file); sequence >= before+3 && (killed == 0 || steps >= 68) {
				break
			}
			if time.Since(began) > time.Minute {
				t.Error("no checkpoint after a minute")
				break
			}
		}
		_ = run.Process.Kill()
		_ = run.Wait()
		resume = file
	}
	_, c, err := inspectCheckpoint(file)
	if err != nil {
		t.Fatal(err)
	}
	steps := 2 * c.Steps // of the wave
	run := clitest.SelfAs(t, "shadercache-lab", append(slices.Clone(waveArguments), "--steps", fmt.Sprint(steps+50), "--resume", file, "--verify")...)
	run.Stderr = os.Stderr
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var r waveResult
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	if r.Verified == nil || !*r.Verified || uint64(r.ResumedAt) != steps || uint64(r.Steps) != steps+50 || steps < 68 {
		t.Errorf("%s", out)
	}
}

// saved returns the number of the newest checkpoint and the steps of its wave, 0 without one.
func saved(file string) (sequence, steps uint64) {
	r, c, err := inspectCheckpoint(file)
	if err != nil {
		return 0, 0
	}
	return r.Sequence, 2 * c.Steps
}

// TestInterruptedWavesAreSaved interrupts a simulation long before a checkpoint is due.
func TestInterruptedWavesAreSaved(t *testing.T) {
	gltest.Open(t)
	t.Setenv("SHADERCACHE_DIR", t.TempDir())
	folder := t.TempDir()
	file := filepath.Join(folder, "wave")
	run := clitest.SelfAs(t, "shadercache-lab", append(slices.Clone(waveArguments), "--steps", "100000000", "--every", "100",
		"--out", folder, "--checkpoint", file, "--checkpoint-every", "1h")...)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if pictures, _ := filepath.Glob(filepath.Join(folder, "*.png")); len(pictures) > 0 {
			break
		}
		if time.Since(began) > time.Minute {
			t.Error("no picture after a minute")
			break
		}
	}
	_ = run.Process.Signal(os.Interrupt)
	if err := run.Wait(); err == nil {
		t.Error("an interrupted simulation ended without an error")
	}
	if _, c, err := inspectCheckpoint(file); err != nil || c.Steps < 50 {
		t.Errorf("%+v, %v", c, err)
	}
}
