//go:build linux

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/cmd/internal/report"
	"github.com/shadercache/shadercache/conv2d/imaging"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// TestPreloadFromHistory preloads what a start asked for: by the list of its report, and by
// the history of the directory.
func TestPreloadFromHistory(t *testing.T) {
	gltest.Open(t) // skips or fails where there is no driver
	t.Parallel()
	dir, out := t.TempDir(), t.TempDir()
	picture, traced, list := filepath.Join(out, "small.png"), filepath.Join(out, "start.json"), filepath.Join(out, "list.json")
	if err := imaging.WritePNG(picture, clitest.SmallPicture()); err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) *exec.Cmd {
		cmd := clitest.SelfAs(t, "shadercache", append(args, "--dir", dir)...)
		cmd.Env = append(os.Environ(), "SHADERCACHE_HISTORY=1", "SHADERCACHE_SERVER=", "XDG_RUNTIME_DIR="+out)
		return cmd
	}
	if text, err := command("run", "--image", picture, "--out", filepath.Join(out, "out.png"), "--trace", traced).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	start, err := report.ReadFile(traced)
	if err == nil {
		err = os.WriteFile(list, []byte(start.Manifest()), 0o600)
	}
	if err != nil || len(start.Programs) == 0 {
		t.Fatalf("%v, the trace has %d programs", err, len(start.Programs))
	}
	var result struct {
		Programs []struct{ Name, Key, Origin, Error string }
		Failed   int
		Skipped  int
	}
	for _, args := range [][]string{{list}, {"--from-history"}, {"--from-history", "--budget", "1h", "--no-isolate"}} {
		text, err := command(append([]string{"preload", "--json"}, args...)...).Output()
		if err == nil {
			err = json.Unmarshal(text, &result)
		}
		if err != nil || result.Failed+result.Skipped > 0 || len(result.Programs) != len(start.Programs) {
			t.Fatalf("preload %q: %v\n%s", args, err, text)
		}
		for i, p := range result.Programs {
			if want := start.Programs[i]; p.Key != want.Key || p.Name != want.Name || p.Origin != "disk" {
				t.Errorf("preload %q: %+v of %s", args, p, want.Name)
			}
		}
	}
	text, err := command("preload", "--json", "--from-history", "--budget", "1ns", "--no-isolate").Output()
	if err == nil {
		err = json.Unmarshal(text, &result)
	}
	if err != nil || len(result.Programs) != 0 || result.Skipped != len(start.Programs) {
		t.Errorf("without time: %v\n%s", err, text)
	}
	text, err = command("preload", "--from-history", "--executable", "other").CombinedOutput()
	if err == nil || !strings.Contains(string(text), "has no history of such starts") {
		t.Errorf("of another executable: %v\n%s", err, text)
	}
}
