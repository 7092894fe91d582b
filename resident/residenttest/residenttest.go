//go:build linux

// Package residenttest holds test helpers of resident and of the packages that use it.
package residenttest

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// Open makes an executor over a new context and cache, and closes them when the test ends.
// Handles that are left then are an error.
func Open(t testing.TB) (*executor.Executor, *cache.Cache) {
	t.Helper()
	gpu, err := shadercache.New(gltest.Open(t), shadercache.Options{
		Cache: cache.Options{MemoryOnly: true},
		// zink compiles for the CPU at the first dispatch, which takes tens of seconds of a busy one.
		Executor: executor.Options{Timeout: 3 * time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := gpu.Close(); err != nil {
			t.Errorf("handles are left: %v", err)
		}
	})
	return gpu.Executor, gpu.Cache
}

// Fixture holds the results of Open, and the test.
type Fixture struct {
	*executor.Executor
	T     testing.TB
	GPU   *glctx.Context
	Cache *cache.Cache
}

// New returns the results of Open as a Fixture.
func New(t testing.TB) Fixture {
	t.Helper()
	e, programs := Open(t)
	return Fixture{e, t, e.Context(), programs}
}

// In returns the fixture for a subtest.
func (f Fixture) In(t testing.TB) Fixture {
	f.T = t
	return f
}

// WantError checks that an error contains text.
func WantError(t testing.TB, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v does not contain %q", err, text)
	}
}

// CompileAlone checks the number of kernels that match a pattern, and that each compiles
// without defines.
func CompileAlone(t *testing.T, kernels fs.FS, pattern string, want int) {
	t.Helper()
	_, programs := Open(t)
	files, err := fs.Glob(kernels, pattern)
	if err != nil || len(files) != want {
		t.Fatalf("kernels %v, %v", files, err)
	}
	for _, file := range files {
		source, err := shader.ReadSource(kernels, file, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		program, err := programs.Get(t.Context(), source)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		program.Release()
	}
}
