//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cmd/clitest"
)

// TestUnits checks the example units: that the command accepts what the service starts,
// and, where it is installed, that systemd accepts both files.
func TestUnits(t *testing.T) {
	const service, socketUnit = "../../docs/examples/shadercache.service", "../../docs/examples/shadercache.socket"
	units := t.TempDir()
	for _, unit := range []string{service, socketUnit} {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		if unit == service {
			text = []byte(withoutFailingStart(t, string(text)))
		}
		if err := os.WriteFile(filepath.Join(units, filepath.Base(unit)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not installed: only the command line was checked")
		return
	}
	cmd := exec.Command(analyze, "verify", "--user", filepath.Join(units, "shadercache.socket"), filepath.Join(units, "shadercache.service"))
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "shadercache") {
		t.Errorf("%v\n%s", err, out)
	}
}

// withoutFailingStart returns the service with a command that exists here, after the
// command has parsed the arguments of the real one.
func withoutFailingStart(t *testing.T, text string) string {
	t.Helper()
	_, rest, _ := strings.Cut(text, "ExecStart=")
	line, _, _ := strings.Cut(rest, "\n")
	words := strings.Fields(line)
	if len(words) < 2 || filepath.Base(words[0]) != "shadercache" {
		t.Fatalf("ExecStart=%s", line)
	}
	if out, err := clitest.SelfAs(t, "shadercache", append(words[1:], "--help")...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return strings.Replace(text, words[0], "/bin/true", 1)
}
