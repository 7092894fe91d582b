package systemtest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

var traced = shader.MustSource("traced", `
layout(local_size_x = 4) in;
layout(std430, binding = 0) buffer Values { uint values[]; };
void main() { values[gl_GlobalInvocationID.x] += 19u; }`, nil)

// events returns the names of the events about a program, or of those about none.
func events(r trace.Recording, lane trace.Lane, program string) (names []string) {
	for _, e := range r.Events {
		if e.Lane == lane && e.Program == program {
			names = append(names, e.Name)
		}
	}
	return names
}

func wantEvents(t *testing.T, r trace.Recording, lane trace.Lane, program string, want ...string) {
	t.Helper()
	got := events(r, lane, program)
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("lane %q, program %q: no event %q in %q", lane, program, name, got)
		}
	}
}

func TestTracerSeesAStart(t *testing.T) {
	gltest.Open(t) // skips or fails where there is no driver
	dir := t.TempDir()
	start := func() trace.Recording {
		recorder := trace.NewRecorder(0)
		gpu, err := shadercache.Open(shadercache.Options{Dir: dir, NoExecutor: true, Tracer: recorder})
		if err != nil {
			t.Fatal(err)
		}
		program, err := gpu.Cache.Get(context.Background(), traced)
		if err != nil {
			t.Fatal(err)
		}
		program.Release()
		if err := gpu.Close(); err != nil {
			t.Fatal(err)
		}
		return recorder.Recording()
	}
	cold := start()
	wantEvents(t, cold, trace.Process, "", trace.Start, trace.Open, trace.OpenContext, trace.NewCache, trace.Close)
	wantEvents(t, cold, trace.Requests, "traced", trace.Get)
	wantEvents(t, cold, trace.Requests, "traced", trace.Wait)
	wantEvents(t, cold, trace.Loads, "traced", trace.Compile)
	wantEvents(t, cold, trace.GL, "traced", trace.FrontEnd, trace.BackEnd)
	wantEvents(t, cold, trace.GL, "", trace.EGLInitialize, trace.EGLContext, trace.EGLMakeCurrent, trace.Prime, trace.BinaryOut)
	wantEvents(t, cold, trace.Writes, "", trace.Write, trace.Flush)

	warm := start()
	wantEvents(t, warm, trace.Requests, "traced", trace.Get, trace.Load)
	wantEvents(t, warm, trace.Requests, "traced", trace.ReadBlob)
	wantEvents(t, warm, trace.GL, "traced", trace.ProgramBinary)
	if slices.Contains(events(warm, trace.Loads, "traced"), trace.Compile) {
		t.Error("the second start compiled")
	}
	for _, e := range warm.Events {
		if e.Name == trace.Get && e.Attr("origin") != "disk" {
			t.Errorf("the program came from %v", e.Attr("origin"))
		}
	}
}

func TestTracerSeesWhatWasPreloadedForNothing(t *testing.T) {
	gltest.Open(t) // skips or fails where there is no driver
	other := shader.MustSource("other", traced.Text()+"// other", nil)
	recorder := trace.NewRecorder(0)
	gpu, err := shadercache.Open(shadercache.Options{Dir: t.TempDir(), NoExecutor: true, Tracer: recorder})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gpu.Cache.Preload(context.Background(), []*shader.Source{traced, other}, nil); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		program, err := gpu.Cache.Get(context.Background(), traced)
		if err != nil {
			t.Fatal(err)
		}
		program.Release()
	}
	if err := gpu.Close(); err != nil {
		t.Fatal(err)
	}
	r := recorder.Recording()
	if got := events(r, trace.Requests, "traced"); !slices.Equal(got, []string{trace.FirstUse}) {
		t.Errorf("the program that was used has events %q, want one first use", got)
	}
	if got := events(r, trace.Requests, "other"); !slices.Equal(got, []string{trace.Unused}) {
		t.Errorf("the program that was not used has events %q", got)
	}
}

// TestTraceOfTheEnvironment runs this test's executable with the variable set.
func TestTraceOfTheEnvironment(t *testing.T) {
	gltest.Open(t) // skips or fails where there is no driver
	file := filepath.Join(t.TempDir(), "trace-%p.json")
	cmd := exec.Command(os.Args[0], "-test.run", "^TestTraceChild$")
	cmd.Env = append(os.Environ(), trace.Variable+"="+file, "SHADERCACHE_TRACE_CHILD=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	matches, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "trace-*.json"))
	if len(matches) != 1 {
		t.Fatalf("%d files were written: %s", len(matches), out)
	}
	f, err := os.Open(matches[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := trace.ReadChrome(f)
	if err != nil {
		t.Fatal(err)
	}
	wantEvents(t, r, trace.Requests, "traced", trace.Get)
	if !slices.ContainsFunc(r.About, func(a trace.Attr) bool { return a.Name == "driver" && a.Value != "" }) {
		t.Errorf("the file does not name the driver: %v", r.About)
	}
}

func TestTraceChild(t *testing.T) {
	if os.Getenv("SHADERCACHE_TRACE_CHILD") == "" {
		t.Skip("a part of TestTraceOfTheEnvironment")
	}
	gpu, err := shadercache.Open(shadercache.Options{Dir: t.TempDir(), NoExecutor: true})
	if err != nil {
		t.Fatal(err)
	}
	program, err := gpu.Cache.Get(context.Background(), traced)
	if err != nil {
		t.Fatal(err)
	}
	program.Release()
	if err := gpu.Close(); err != nil {
		t.Fatal(err)
	}
}
