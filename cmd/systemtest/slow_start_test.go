package systemtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cmd/internal/report"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// The faults of docs/slow-start.md: each start is a process of its own with $SHADERCACHE_TRACE,
// and the report of its trace names the cause.

// faultVariable names the fault that a child of TestSlowStarts has.
const faultVariable = "SHADERCACHE_FAULT"

// heavy returns a program of so many statements that a driver needs far longer for its
// machine code than for anything else.
func heavy(name, comment string) *shader.Source {
	var b strings.Builder
	fmt.Fprintf(&b, "// %s\nlayout(local_size_x = 64) in;\nlayout(std430, binding = 0) buffer Values { float values[]; };\nvoid main() {\n    uint i = gl_GlobalInvocationID.x;\n    float v = values[i];\n", comment)
	for n := range 24 {
		fmt.Fprintf(&b, "    v = sin(v * %d.5 + values[(i + %du) %% 64u]) * exp(-v * v) + sqrt(abs(v) + %d.0);\n", n+len(name), n, n)
	}
	b.WriteString("    values[i] = v;\n}\n")
	return shader.MustSource(name, b.String(), nil)
}

func TestSlowStarts(t *testing.T) {
	gltest.Open(t) // skips or fails where there is no driver
	for _, fault := range []struct {
		name     string
		cause    report.Cause
		programs int
		between  func(t *testing.T, dir string) // the first start and the slow one
	}{
		{"cold driver cache", report.ColdDriver, 2, emptyDriverCache},
		{"time stamp", report.Changing, 1, nil},
		{"late preload", report.CauseLate, 1, removeAll},
	} {
		t.Run(fault.name, func(t *testing.T) {
			dir := t.TempDir()
			startWith(t, fault.name, "1", dir)
			if fault.between != nil {
				fault.between(t, dir)
			}
			s := startWith(t, fault.name, "2", dir)
			i := slices.IndexFunc(s.Advice, func(a report.Advice) bool { return a.Cause == fault.cause })
			if i < 0 || s.Advice[i].Programs != fault.programs || s.Advice[i].Millis <= 0 {
				t.Fatalf("the report says %+v, not %q of %d programs", s.Advice, fault.cause, fault.programs)
			}
			if first := s.Advice[0].Cause; first != fault.cause && first != report.Compiled {
				t.Errorf("the first cause is %q", first)
			}
		})
	}
}

// startWith runs a process with a fault, and returns the report of its start.
func startWith(t *testing.T, fault, run, dir string) *report.Start {
	t.Helper()
	file := filepath.Join(t.TempDir(), "start.json")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), trace.Variable+"="+file, faultVariable+"="+fault, "SHADERCACHE_FAULT_RUN="+run, "SHADERCACHE_FAULT_DIR="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s, err := report.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d, err := binary.OpenDir(dir)
	if err == nil {
		err = s.CountOthers(d)
	}
	if err != nil {
		t.Fatal(err)
	}
	keepPage(t, s, strings.ReplaceAll(fault, " ", "-")+"-"+run)
	return s
}

// keepPage writes the page where SHADERCACHE_PAGES names a folder, for the pictures of
// docs/slow-start.md.
func keepPage(t *testing.T, s *report.Start, name string) {
	t.Helper()
	folder := os.Getenv("SHADERCACHE_PAGES")
	if folder == "" {
		return
	}
	var page bytes.Buffer
	err := (&report.Report{Start: s}).WriteHTML(&page)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name+".html"), page.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// runSlowStart is the process with the fault: it ends the process, where that is one.
func runSlowStart() {
	fault := os.Getenv(faultVariable)
	if fault == "" {
		return
	}
	gltest.IsolateEnvironment()
	if err := slowStart(fault); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func slowStart(fault string) error {
	gpu, err := shadercache.Open(shadercache.Options{Dir: os.Getenv("SHADERCACHE_FAULT_DIR"), NoExecutor: true})
	if err != nil {
		return err
	}
	comment := "made by a tool"
	if fault == "time stamp" {
		comment += " in run " + os.Getenv("SHADERCACHE_FAULT_RUN")
	}
	blur, sharpen := heavy("blur", comment), heavy("sharpen", "made by hand")
	if fault == "late preload" {
		err = preloadLate(gpu.Cache, sharpen)
	} else {
		err = getAll(gpu.Cache, blur, sharpen)
	}
	return errors.Join(err, gpu.Close())
}

// getAll asks for programs, one after the other.
func getAll(c *cache.Cache, sources ...*shader.Source) error {
	for _, src := range sources {
		h, err := c.Get(context.Background(), src)
		if err != nil {
			return err
		}
		h.Release()
	}
	return nil
}

// preloadLate asks for the second program of a preload while the preload makes it: it is
// compiled when the first one, which is small, is ready.
func preloadLate(c *cache.Cache, late *shader.Source) error {
	first, ended := make(chan struct{}), make(chan error)
	var once sync.Once
	go func() {
		_, err := c.Preload(context.Background(), []*shader.Source{traced, late}, func(cache.PreloadResult) { once.Do(func() { close(first) }) })
		ended <- err
	}()
	<-first
	return errors.Join(getAll(c, traced, late), <-ended)
}

// emptyDriverCache removes the driver's own cache below a cache directory.
func emptyDriverCache(t *testing.T, dir string) {
	t.Helper()
	removeAll(t, filepath.Join(dir, "driver"))
}

// removeAll removes what a folder holds.
func removeAll(t *testing.T, dir string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil || len(list) == 0 {
		t.Fatalf("%s holds nothing, %v", dir, err)
	}
	for _, e := range list {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}
