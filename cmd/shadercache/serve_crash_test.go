//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/internal/faultgl"
)

// TestServeTriesAProgramAgain crashes the driver once, in the first job of a program. The
// worker that follows refuses the program: it has the driver's own cache open, which may be
// the cause. The one after it starts with that set aside, and runs the program.
func TestServeTriesAProgramAgain(t *testing.T) {
	t.Parallel()
	s := serveProcess(t, faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Crash, At: "glDispatchCompute", Once: true}))
	if err := runJob(t.Context(), s.dial()); err == nil {
		t.Fatal("the driver did not crash")
	}
	second := s.dial()
	if err := runJob(t.Context(), second); err == nil || !strings.Contains(err.Error(), "is in quarantine") || second.Welcome().Generation != 2 {
		t.Errorf("generation %d: %v", second.Welcome().Generation, err)
	}
	for _, worker := range clitest.ChildrenOf(t, s.cmd.Process.Pid) {
		_ = syscall.Kill(worker, syscall.SIGKILL)
	}
	clitest.Eventually(t, "the second session ended", func() bool { return second.Err() != nil })
	third := s.dial()
	if err := runJob(t.Context(), third); err != nil || third.Welcome().Generation != 3 {
		t.Errorf("generation %d: %v", third.Welcome().Generation, err)
	}
	third.Close()
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Errorf("%v\n%s", err, s.messages)
	}
}

// TestPreloadWithAServerThatCrashes has a server compile a program that crashes the driver: its
// worker ends, and the next one compiles the others and refuses that one.
func TestPreloadWithAServerThatCrashes(t *testing.T) {
	t.Parallel()
	s := serveProcess(t, faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Crash, At: "glLinkProgram", Source: "victim"}))
	dir := t.TempDir()
	for i, name := range []string{"victim", "first", "second"} {
		text := fmt.Sprintf("layout(local_size_x = %d) in;\nlayout(std430, binding = 0) buffer Out { uint %s[]; };\nvoid main() { %s[0] = 1u; }\n", i+1, name, name)
		if err := os.WriteFile(filepath.Join(dir, name+".comp"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := clitest.SelfAs(t, "shadercache", "preload", "--json", "--server", s.path, dir).Output()
	var r struct {
		Failed   int
		Programs []struct{ Name, Origin, Error string }
	}
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err == nil || r.Failed != 1 || len(r.Programs) != 3 {
		t.Fatalf("%v: %+v", err, r)
	}
	for _, p := range r.Programs {
		if victim := strings.Contains(p.Name, "victim"); victim != strings.Contains(p.Error, "a child process crashed") || victim == (p.Origin != "") {
			t.Errorf("%+v", p)
		}
	}
}
