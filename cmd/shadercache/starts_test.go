package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/internal/doctor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// A time stamp in the text makes each start compile. Resident hits must not hide it.
func TestATimeStampIsFound(t *testing.T) {
	gl := gltest.Open(t)
	dir := filepath.Join(t.TempDir(), "cache")
	for n := range 10 {
		text := fmt.Sprintf("#version 430\n// built at %d\nlayout(local_size_x = 1) in; void main() {}", n)
		startOnce(t, gl, dir, shader.MustSource("stamped", text, nil), 999)
	}
	out, err := exec.Command("shadercache", "--dir", dir, "stats", "--fail-under", "99%").CombinedOutput()
	for _, want := range []string{
		"10 starts: 1.0 compiled a start, 0.0% found on disk, 99.9% of requests resident, the first program ready after ",
		"shadercache: starts found 0.0% of their programs on disk, less than 99%\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != cli.ExitFailed {
		t.Errorf("exit %v", err)
	}
	r, code := doctorOn(t, exec.Command("shadercache", "--dir", dir, "doctor", "--json"))
	found := doctor.Finding{}
	for _, f := range r.Findings {
		if f.Check == "hits" {
			found = f
		}
	}
	want := `each of the last 10 starts compiled "stamped" anew: its texts differ in line`
	if code != cli.ExitFailed || found.Level != doctor.LevelWrong || !strings.HasPrefix(found.Detail, want) || !strings.HasSuffix(found.Detail, ": // built at 9") {
		t.Errorf("exit code %d, %+v", code, found)
	}

	// The same text from now on.
	zero := exec.Command("shadercache", "--dir", dir, "stats", "--zero")
	if out, err := zero.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	constant := shader.MustSource("stamped", "#version 430\nlayout(local_size_x = 1) in; void main() {}", nil)
	for range 4 {
		startOnce(t, gl, dir, constant, 0)
	}
	var figures statsResult
	out, err = exec.Command("shadercache", "--dir", dir, "stats", "--json", "--fail-under", "75%").Output()
	if err != nil || json.Unmarshal(out, &figures) != nil || figures.Starts.DiskRate != 0.75 || figures.Starts.CompilesPerStart != 0.25 {
		t.Errorf("%v, %+v", err, figures.Starts)
	}
	if r, code := doctorOn(t, exec.Command("shadercache", "--dir", dir, "doctor", "--json")); code != 0 {
		t.Errorf("exit code %d, %+v", code, r)
	}
}

// startOnce is one start of an application: it gets a program, and then hits it.
func startOnce(t *testing.T, gl *glctx.Context, dir string, src *shader.Source, hits int) {
	t.Helper()
	c, err := cache.New(gl, cache.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for range 1 + hits {
		h, err := c.Get(context.Background(), src)
		if err != nil {
			t.Fatal(err)
		}
		h.Release()
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}
