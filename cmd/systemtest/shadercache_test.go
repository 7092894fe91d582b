//go:build linux

package systemtest_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

var triple = shader.MustSource("triple", `
layout(local_size_x = 4) in;
layout(std430, binding = 0) readonly buffer In { float from[]; };
layout(std430, binding = 1) writeonly buffer Out { float to[]; };
void main() { to[gl_GlobalInvocationID.x] = 3.0 * from[gl_GlobalInvocationID.x]; }`, nil)

// open opens a GPU for a test, which closes it.
func open(t *testing.T, o shadercache.Options) *shadercache.GPU {
	t.Helper()
	gltest.Open(t) // skips or fails where there is no driver
	gpu, err := shadercache.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return gpu
}

func TestOpenCompilesOnceForAllStarts(t *testing.T) {
	dir := t.TempDir()
	for start := range 2 {
		gpu := open(t, shadercache.Options{Dir: dir, Executor: executor.Options{SlotBytes: 1 << 16}})
		program, err := gpu.Cache.Get(t.Context(), triple)
		if err != nil {
			t.Fatal(err)
		}
		from, to := []float32{1, 2, 3, 4}, []float32{-1, -1, -1, -1}
		pending, err := gpu.Executor.Submit(t.Context(), job.Job{
			Dispatch: job.Dispatch{Program: program, Groups: [3]uint32{1, 1, 1}},
			Inputs:   []job.Input{{Binding: 0, Data: glctx.Bytes(from)}},
			Outputs:  []job.Output{{Binding: 1, To: glctx.Bytes(to)}},
		})
		if err == nil {
			err = pending.Wait(t.Context())
		}
		program.Release()
		if err != nil || !slices.Equal(to, []float32{3, 6, 9, 12}) {
			t.Errorf("start %d: %v, %v", start, to, err)
		}
		stats := gpu.Cache.Stats()
		if err := gpu.Close(); err != nil {
			t.Error(err)
		}
		if stats.Compiles != uint64(1-start) || stats.DiskHits != uint64(start) {
			t.Errorf("start %d: %d compiles, %d from disk", start, stats.Compiles, stats.DiskHits)
		}
	}
}

func TestOpenWithADirectoryThatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	gpu := open(t, shadercache.Options{
		Dir:        file,
		NoExecutor: true,
		Logger:     slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	program, err := gpu.Cache.Get(t.Context(), triple)
	if err != nil {
		t.Fatal(err)
	}
	program.Release()
	if gpu.Executor != nil || gpu.Cache.Stats().MemoryOnly == "" {
		t.Errorf("executor %v, memory only %q", gpu.Executor, gpu.Cache.Stats().MemoryOnly)
	}
	if err := gpu.Close(); err != nil {
		t.Error(err)
	}
	if warnings := strings.Count(log.String(), "level=WARN"); warnings != 1 {
		t.Errorf("%d warnings:\n%s", warnings, &log)
	}
}

// Without a Logger nothing is logged, also where a directory cannot be used: Stats says it.
func TestNoLogger(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	gpu := open(t, shadercache.Options{Dir: file, NoExecutor: true})
	reason := gpu.Cache.Stats().MemoryOnly
	if err := gpu.Close(); err != nil || reason == "" || log.Len() > 0 {
		t.Errorf("%v, memory only %q, logged:\n%s", err, reason, &log)
	}
}

func TestCloseWithAProgramInUse(t *testing.T) {
	gpu := open(t, shadercache.Options{Dir: t.TempDir(), NoExecutor: true})
	program, err := gpu.Cache.Get(t.Context(), triple)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Release()
	if err := gpu.Close(); !isInUse(err) {
		t.Errorf("got %v, want a *cache.InUseError", err)
	}
	if err := gpu.Context.Do(func(*glctx.GL) error { return nil }); !errors.Is(err, shader.ErrClosed) {
		t.Errorf("the context is still open: %v", err)
	}
}

func TestOpenWithoutSuchADevice(t *testing.T) {
	if _, err := shadercache.Open(shadercache.Options{Dir: t.TempDir(), Device: "no-such-gpu"}); !errors.Is(err, glctx.ErrNoDevice) && !errors.Is(err, glctx.ErrNoDriver) {
		t.Errorf("got %v, want glctx.ErrNoDevice", err)
	}
}

func TestNewRefusesOptionsOfTheContext(t *testing.T) {
	for name, o := range map[string]shadercache.Options{
		"Device":         {Device: "0"},
		"Context.Device": {Context: glctx.Options{Device: "0"}},
		"Context.Debug":  {Context: glctx.Options{Debug: true}},
	} {
		context := gltest.Open(t)
		_, err := shadercache.New(context, o)
		if err == nil || !strings.Contains(err.Error(), "Device and Context") {
			t.Errorf("%s: got %v, want an error about it", name, err)
		}
		if err := context.Do(func(*glctx.GL) error { return nil }); !errors.Is(err, shader.ErrClosed) {
			t.Errorf("%s: New failed and the context is open: %v", name, err)
		}
	}
}

// Each part can be given a directory, and the two layers would end in two.
func TestUnequalDirectoriesAreAnError(t *testing.T) {
	gltest.Open(t) // the process manages the driver's cache in the default directory
	for name, o := range map[string]shadercache.Options{
		"Context.CacheDir": {Context: glctx.Options{CacheDir: t.TempDir()}},
		"Cache.Dir":        {Cache: cache.Options{Dir: t.TempDir()}},
	} {
		if _, err := shadercache.Open(o); err == nil || !strings.Contains(err.Error(), "Options.Dir") {
			t.Errorf("%s: got %v, want an error about it", name, err)
		}
	}
	context, err := glctx.Open(glctx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shadercache.New(context, shadercache.Options{Dir: t.TempDir()}); !errors.Is(err, cache.ErrApart) {
		t.Errorf("a cache in another directory than the context: %v", err)
	}
}
