//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/glctx/gltest"
)

// A cache that only the driver filled, below exec or drivercache.Manage, has no program that
// names its driver. Push finds out which it is, and the machine code travels, as with export.
func TestPushOfMachineCodeAlone(t *testing.T) {
	t.Parallel()
	gltest.Open(t) // skips or fails without a driver
	work := t.TempDir()
	text := "#version 430\nlayout(local_size_x = 1) in;\nbuffer B { float b[]; };\nvoid main() { b[0] += 1.0; }\n"
	if err := os.WriteFile(filepath.Join(work, "add.comp"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(dir string, wantCode int, args ...string) string {
		t.Helper()
		cmd := exec.Command("shadercache", append([]string{"--dir", filepath.Join(work, dir)}, args...)...)
		cmd.Dir, cmd.Env = work, append(commandEnvironment(), "HOME="+work)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != wantCode {
			t.Errorf("%q: exit code %d\n%s", args, code, out)
		}
		return string(out)
	}
	url := "file://" + filepath.ToSlash(filepath.Join(work, "remote"))
	run("a", 0, "preload", "add.comp")
	driver := filepath.Join("driver", "mesa")
	if _, err := os.Stat(filepath.Join(work, "a", driver)); err != nil {
		t.Skip("the driver keeps its cache elsewhere: ", err)
	}
	if err := os.MkdirAll(filepath.Join(work, "b", "driver"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(work, "a", driver), filepath.Join(work, "b", driver)); err != nil {
		t.Fatal(err)
	}
	if out := run("empty", 1, "push", url); !strings.Contains(out, "nothing to send") && !strings.Contains(out, "there is no cache") {
		t.Errorf("push of nothing: %s", out)
	}
	if out := run("b", 0, "push", url); !strings.Contains(out, "of machine code are new") {
		t.Errorf("push: %s", out)
	}
	if out := run("b", 0, "push", url); !strings.Contains(out, "has all of it already") {
		t.Errorf("the second push: %s", out)
	}
	run("c", 0, "pull", "--trust", url)
	run("b", 0, "export", "b.scb")
	run("d", 0, "import", "--trust", "b.scb")
	items := func(dir string) int { // without the index and the marker, which each process makes
		found, _ := filepath.Glob(filepath.Join(work, dir, driver, "*", "*", "*"))
		return len(found)
	}
	if b, c, d := items("b"), items("c"), items("d"); b == 0 || b != c || b != d {
		t.Errorf("%d items here, %d came by the remote, %d by a file", b, c, d)
	}
}
