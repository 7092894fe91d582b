//go:build linux

package systemtest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

var onES = glctx.Options{Kind: glctx.Kind{API: glctx.OpenGLES, Major: 3, Minor: 1}}

// TestOpenWithOpenGLES runs a start that compiles, one that loads, and the default kind:
// the same text is compiled once for each.
func TestOpenWithOpenGLES(t *testing.T) {
	dir := t.TempDir()
	text := shader.MustSource("es", "#version 310 es\nlayout(local_size_x = 1) in;\nvoid main() {}\n", nil)
	for start, want := range []struct {
		context glctx.Options
		origin  job.Origin
	}{{onES, job.Compiled}, {onES, job.Disk}, {glctx.Options{}, job.Compiled}, {onES, job.Disk}, {glctx.Options{}, job.Disk}} {
		gpu := open(t, shadercache.Options{Dir: dir, Context: want.context, NoExecutor: true})
		program, err := gpu.Cache.Get(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		if program.Origin() != want.origin || gpu.Executor != nil {
			t.Errorf("start %d in %s: origin %v, want %v", start, gpu.Context.Kind(), program.Origin(), want.origin)
		}
		program.Release()
		if err := gpu.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenGLESHasNoExecutor(t *testing.T) {
	gltest.Open(t)
	_, err := shadercache.Open(shadercache.Options{Dir: t.TempDir(), Context: onES})
	if !errors.Is(err, glctx.ErrNeeds45) || !strings.Contains(err.Error(), "NoExecutor") {
		t.Errorf("got %v", err)
	}
}

// A text of another GLSL does not compile, and the log names both.
func TestDesktopTextInAContextOfES(t *testing.T) {
	gpu := open(t, shadercache.Options{Dir: t.TempDir(), Context: onES, NoExecutor: true})
	defer gpu.Close()
	_, err := gpu.Cache.Get(t.Context(), triple)
	refused, ok := errors.AsType[*shader.CompileError](err)
	if !ok || !strings.Contains(refused.Log, "#version 450 core, and the context is OpenGL ES 3.") {
		t.Errorf("got %v", err)
	}
}
