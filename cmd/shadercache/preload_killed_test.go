//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// preloadsAtOnce are preloads of the same programs in one directory.
type preloadsAtOnce struct{ dir, manifest string }

// newPreloads returns those of programs that are not on disk.
func newPreloads(t *testing.T, programs int) preloadsAtOnce {
	t.Helper()
	p := preloadsAtOnce{t.TempDir(), filepath.Join(t.TempDir(), "programs.json")}
	var entries []string
	for i := range programs {
		text := fmt.Sprintf(`#version 430\nlayout(local_size_x = 1) in;\nbuffer B { uint b[]; };\nvoid main() { b[0] = %du; }\n`, i)
		entries = append(entries, fmt.Sprintf(`{"name": "program_%d", "text": "%s"}`, i, text))
	}
	if err := os.WriteFile(p.manifest, []byte(`{"programs": [`+strings.Join(entries, ",")+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p preloadsAtOnce) start(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := clitest.SelfAs(t, "shadercache", "preload", p.manifest, "--dir", p.dir, "--jobs", "2", "--quiet")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// wantHealthy checks that nothing is lost or refused after two more starts, and that no
// slot of a process that has ended is left.
func (p preloadsAtOnce) wantHealthy(t *testing.T) {
	t.Helper()
	for range 2 {
		runCommand(t, p.dir, "preload", p.manifest, "--quiet")
	}
	out := string(runCommand(t, p.dir, "verify").stdout)
	if !strings.Contains(out, "0 damaged, 0 in quarantine, ") || !strings.Contains(out, " 0 leftovers, 0 unknown files") {
		t.Errorf("verify: %s", out)
	}
	runCommand(t, p.dir, "doctor")
	if slots, err := filepath.Glob(filepath.Join(p.dir, "driver/nvidia/GLCache/*/*/shadercache1*")); len(slots) > 0 || err != nil {
		t.Errorf("slots are left: %q, %v", slots, err)
	}
}

// Of preloads that run at once one compiles and the others wait. Any of them, and any of
// their children, is killed at any moment: nothing is refused, lost or left.
func TestKilledPreloads(t *testing.T) {
	gltest.Open(t)
	t.Parallel()
	kills := 8
	if os.Getenv("SHADERCACHE_SOAK") != "" {
		kills = 200
	}
	var live [3]*exec.Cmd
	var p preloadsAtOnce
	for n := range kills {
		if n%20 == 0 { // the programs are new again
			endAll(t, live[:])
			if n > 0 {
				p.wantHealthy(t)
			}
			p = newPreloads(t, 12)
			for i := range live {
				live[i] = p.start(t)
			}
		}
		time.Sleep(rand.N(300 * time.Millisecond))
		i := rand.IntN(len(live))
		victims := append(clitest.ChildrenOf(t, live[i].Process.Pid), live[i].Process.Pid)
		_ = syscall.Kill(victims[rand.IntN(len(victims))], syscall.SIGKILL)
		if live[i].Process.Signal(syscall.Signal(0)) != nil || n%2 == 0 {
			endAll(t, live[i:i+1])
			live[i] = p.start(t)
		}
	}
	endAll(t, live[:])
	p.wantHealthy(t)
}

// endAll kills processes that may have ended, and waits for the ends of their children.
func endAll(t *testing.T, all []*exec.Cmd) {
	for _, cmd := range all {
		if cmd == nil {
			continue
		}
		children := clitest.ChildrenOf(t, cmd.Process.Pid)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		for _, child := range children {
			clitest.Eventually(t, "a child ends", func() bool { _, alive := clitest.ParentOf(child); return !alive })
		}
	}
}

// A preload that is stopped while others wait for it keeps none of them from its end.
func TestStoppedPreload(t *testing.T) {
	gltest.Open(t)
	t.Parallel()
	p := newPreloads(t, 30)
	stopped := p.start(t)
	defer endAll(t, []*exec.Cmd{stopped})
	clitest.Eventually(t, "it compiles", func() bool {
		blobs, _ := filepath.Glob(filepath.Join(p.dir, "*", "blobs", "*", "*.bin"))
		return len(blobs) > 0
	})
	if err := stopped.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	runCommand(t, p.dir, "preload", p.manifest, "--quiet")
	t.Logf("beside a stopped one %s", time.Since(began).Round(time.Millisecond))
}
