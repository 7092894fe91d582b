//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/conv2d/imaging"
)

// TestPreloadWithAServer makes programs resident in a server: a run finds them.
func TestPreloadWithAServer(t *testing.T) {
	t.Parallel()
	s := serveProcess(t, nil)
	broken := filepath.Join(t.TempDir(), "broken.comp")
	if err := os.WriteFile(broken, []byte("layout(local_size_x = 1) in;\nvoid main() { no; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	type result struct {
		Server   bool
		Failed   int
		Programs []struct{ Name, Origin, Cause string }
	}
	preload := func(server string, programs ...string) (r result) {
		t.Helper()
		cmd := clitest.SelfAs(t, "shadercache", append([]string{"preload", "--json", "--server", server}, programs...)...)
		cmd.Env = append(os.Environ(), "SHADERCACHE_SERVER=", "XDG_RUNTIME_DIR="+t.TempDir(), "SHADERCACHE_DIR="+t.TempDir())
		out, _ := cmd.Output() // a program that fails makes it fail
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return r
	}
	r := preload(s.path, "conv2d_3x3", broken, "conv2d_3x3")
	if !r.Server || r.Failed != 1 || r.Programs[0].Origin != "compiled" || r.Programs[1].Cause != "compile" || r.Programs[2].Origin != "resident" {
		t.Errorf("the first preload: %+v", r)
	}
	if r := preload(s.path, "conv2d_3x3"); !r.Server || r.Failed != 0 || r.Programs[0].Origin != "resident" {
		t.Errorf("the second preload: %+v", r)
	}
	if r := preload("auto", "conv2d_3x3"); r.Server || r.Failed != 0 || r.Programs[0].Origin != "compiled" {
		t.Errorf("where no server runs: %+v", r)
	}

	picture := filepath.Join(t.TempDir(), "small.png")
	if err := imaging.WritePNG(picture, clitest.SmallPicture()); err != nil {
		t.Fatal(err)
	}
	var ran struct {
		Verified, Server    bool
		Compiles            uint64
		DiskHits            uint64  `json:"disk_hits"`
		ReadyMillis         float64 `json:"ready_ms"`
		TimeToFirstResultMs float64 `json:"time_to_first_result_ms"`
	}
	out, err := clitest.SelfAs(t, "shadercache", "run", "--json", "--server", s.path, "--image", picture, "--out", filepath.Join(t.TempDir(), "out.png")).Output()
	if err == nil {
		err = json.Unmarshal(out, &ran)
	}
	if err != nil || !ran.Verified || !ran.Server || ran.Compiles != 0 || ran.DiskHits != 0 || ran.ReadyMillis <= 0 || ran.ReadyMillis >= ran.TimeToFirstResultMs {
		t.Errorf("the run: %v, %+v", err, ran)
	}

	for _, args := range [][]string{{"--dir", t.TempDir()}, {"--jobs", "2"}, {"--no-isolate"}, {"--keep-sources"}} {
		out, err := clitest.SelfAs(t, "shadercache", append([]string{"preload", "--server", s.path, "conv2d_3x3"}, args...)...).CombinedOutput()
		if err == nil || !bytes.Contains(out, []byte(args[0]+" has no effect here: it is for programs that this process compiles")) {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	out, err = clitest.SelfAs(t, "shadercache", "run", "--server", "relative").CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("give an absolute path, auto, start or off")) {
		t.Errorf("%v\n%s", err, out)
	}
}
