//go:build linux

package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache/isolate"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/recording"
	"github.com/shadercache/shadercache/shader"
)

// childDir is the cache directory of a child process of these tests.
const childDir = "REPLAY_TEST_DIR"

func TestMain(m *testing.M) {
	if isolate.IsChild() {
		if err := Serve(glctx.Options{CacheDir: os.Getenv(childDir)}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	gltest.Main(m)
}

func kernel(n int) *recording.Program {
	return &recording.Program{
		Context: recording.Context{API: recording.OpenGL, Major: 4, Minor: 5, Profile: recording.ProfileCore},
		Stages: []recording.Stage{{Kind: recording.Compute, Text: fmt.Sprintf(
			"#version 430\nlayout(local_size_x = 8) in;\nlayout(std430) buffer B { float b[]; };\nvoid main() { b[0] += %d.0; } // kernel_%d_\n", n, n)}},
	}
}

// machine is a cache directory, and a pool for it whose drivers fail.
type machine struct {
	dir  *binary.Dir
	pool isolate.Pool
}

func newMachine(t *testing.T, faults ...faultgl.Fault) machine {
	t.Helper()
	dir, err := binary.OpenDir(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	faulty := os.Environ()
	if len(faults) > 0 {
		faulty = append(faulty, faultgl.Environment(t, faults...)...)
	}
	return machine{dir, isolate.Pool{Jobs: 2, Timeout: 30 * time.Second, Command: func() (*exec.Cmd, error) {
		command, err := isolate.ChildCommand()
		if err == nil {
			command.Env = append(append(command.Env, faulty...), childDir+"="+dir.Path())
		}
		return command, err
	}}}
}

// run replays a recording, and returns the results by program.
func (m machine) run(t *testing.T, driver binary.Fingerprint, r *recording.Recording) map[shader.Digest]Result {
	t.Helper()
	digests, err := r.Digests()
	if err != nil {
		t.Fatal(err)
	}
	var items []Item
	for _, d := range digests {
		items = append(items, Item{r.Path(), d})
	}
	got := map[shader.Digest]Result{}
	if _, err := Run(context.Background(), m.pool, m.dir, driver, items, func(r Result) {
		if _, again := got[items[r.Index].Program]; again {
			t.Errorf("program %s has two results", items[r.Index].Program.Short())
		}
		got[items[r.Index].Program] = r
	}); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(items) {
		t.Errorf("%d results for %d programs", len(got), len(items))
	}
	return got
}

func record(t *testing.T, programs ...*recording.Program) *recording.Recording {
	t.Helper()
	r, err := recording.Create(filepath.Join(t.TempDir(), "recording"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		if _, err := r.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestRun(t *testing.T) {
	driver := gltest.Open(t).Fingerprint()
	bad := kernel(3)
	bad.Stages[0].Text = "#version 430\nvoid main() { missing(); }"
	damaged := kernel(4)
	r := record(t, kernel(1), kernel(2), bad, damaged)
	file := filepath.Join(r.Path(), "v1", "programs", damaged.Digest().String()[:2], damaged.Digest().String()+".bin")
	if err := os.WriteFile(file, []byte("SCPROG1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := newMachine(t)
	for _, made := range []bool{true, false} { // the second time the driver has all of it
		got := m.run(t, driver, r)
		for n := 1; n <= 2; n++ {
			g := got[kernel(n).Digest()]
			g.Context.Minor = min(g.Context.Minor, kernel(n).Context.Minor) // most drivers make the newest
			if g.Err != nil || (g.Origin == job.Compiled) != made || g.Primed != glctx.Dispatched || g.Context != kernel(n).Context || g.CompileNanos <= 0 {
				t.Errorf("kernel %d: %+v", n, g)
			}
		}
		if g := got[bad.Digest()]; !errors.As(g.Err, new(*shader.CompileError)) || !strings.Contains(g.Err.Error(), "missing") {
			t.Errorf("a text that does not compile: %+v", g)
		}
		if g := got[damaged.Digest()]; g.Err == nil || !strings.Contains(g.Err.Error(), "digest") {
			t.Errorf("a damaged file: %+v", g)
		}
	}
	infos, err := m.dir.Drivers()
	if err != nil || len(infos) != 1 || infos[0].Digest != driver.Digest() {
		t.Errorf("a push would find the drivers %v, %v", infos, err)
	}
}

// A crash or a hang of the driver costs the program that it had, and no other.
func TestACrashCostsOneProgram(t *testing.T) {
	driver := gltest.Open(t).Fingerprint()
	r := record(t, kernel(1), kernel(2), kernel(3), kernel(4), kernel(5))
	m := newMachine(t, faultgl.Fault{Mode: faultgl.Crash, At: "glLinkProgram", Source: "kernel_2_"},
		faultgl.Fault{Mode: faultgl.Hang, At: "glCompileShader", Source: "kernel_4_"})
	got := m.run(t, driver, r)
	for n := 1; n <= 5; n++ {
		g := got[kernel(n).Digest()]
		lost, isLost := errors.AsType[*isolate.LostError](g.Err)
		switch n {
		case 2:
			if !isLost || !lost.Crashed() {
				t.Errorf("kernel 2 crashes: %+v", g)
			}
		case 4:
			if !isLost || !lost.TimedOut {
				t.Errorf("kernel 4 hangs: %+v", g)
			}
		default:
			// It is not made again where the driver had it before its child was lost with another program.
			if g.Err != nil || g.Primed != glctx.Dispatched {
				t.Errorf("kernel %d: %+v", n, g)
			}
		}
	}
}
