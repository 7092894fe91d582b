package glctx_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/recording"
)

const (
	embeddedVertex   = "#version 300 es\nin vec4 position; void main() { gl_Position = position; }"
	embeddedFragment = "#version 300 es\nprecision mediump float; out vec4 colour; void main() { colour = vec4(1.0); }"
	oldVertex        = "#version 120\nvoid main() { gl_Position = gl_ModelViewProjectionMatrix * gl_Vertex; }"
	oldFragment      = "void main() { gl_FragColor = vec4(1.0); }" // no #version, and none is put in front
)

// newReplayer returns a replayer, which is closed when the test ends.
func newReplayer(t testing.TB) *glctx.Replayer {
	gltest.Open(t) // skips where there is no driver
	managed, ok := drivercache.Managed()
	if !ok {
		t.Fatalf("another test loaded the driver first: %s", managed)
	}
	r := glctx.NewReplayer(glctx.Options{CacheDir: filepath.Dir(managed.Dir)})
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// Each program is replayed in a context of its API, version, profile and flags.
func TestReplayerUsesTheContextOfEachProgram(t *testing.T) {
	r := newReplayer(t)
	isMesa := strings.Contains(gltest.Open(t).Info().Driver, "Mesa")
	for _, test := range []struct {
		like             recording.Context
		vertex, fragment string
	}{
		{recording.Context{API: recording.OpenGL, Major: 4, Minor: 5, Profile: recording.ProfileCore}, strings.ReplaceAll(embeddedVertex, "300 es", "330"), strings.ReplaceAll(embeddedFragment, "300 es", "330")},
		{recording.Context{API: recording.OpenGLES, Major: 3, Minor: 2}, embeddedVertex, embeddedFragment},
		{recording.Context{API: recording.OpenGL, Major: 4, Minor: 5, Profile: recording.ProfileCompatibility}, oldVertex, oldFragment},
		{recording.Context{API: recording.OpenGL, Major: 2, Minor: 1}, oldVertex, oldFragment},
		{recording.Context{API: recording.OpenGL, Major: 4, Minor: 5, Profile: recording.ProfileCore, Flags: recording.FlagDebug}, strings.ReplaceAll(embeddedVertex, "300 es", "330"), strings.ReplaceAll(embeddedFragment, "300 es", "330")},
		{recording.Context{API: recording.OpenGL, Major: 4, Minor: 5, Profile: recording.ProfileCore, Flags: recording.FlagForwardCompatible}, strings.ReplaceAll(embeddedVertex, "300 es", "330"), strings.ReplaceAll(embeddedFragment, "300 es", "330")},
	} {
		p := &recording.Program{Context: test.like, Stages: []recording.Stage{
			{Kind: recording.Vertex, Text: test.vertex}, {Kind: recording.Fragment, Text: test.fragment}}}
		got, err := r.Replay(context.Background(), p)
		if err != nil || got.Primed != glctx.Drawn {
			t.Errorf("%s: %+v, %v", test.like, got, err)
		}
		made := got.Context
		made.Minor = min(made.Minor, test.like.Minor) // most drivers make the newest
		if isMesa && test.like.Major >= 3 && made != test.like {
			t.Errorf("%s: replayed in %s", test.like, got.Context)
		}
	}
}

// A version that the driver lacks is replaced by the next older one.
func TestReplayerTakesTheNextOlderVersion(t *testing.T) {
	r := newReplayer(t)
	p := recordedPrograms(t)["compute"]
	p.Context.Minor = 9
	got, err := r.Replay(context.Background(), p)
	if err != nil || got.Context.Major != 4 || got.Context.Minor >= 9 || got.Primed != glctx.Dispatched {
		t.Errorf("%+v, %v", got, err)
	}
	p.Context = recording.Context{API: recording.OpenGLES, Major: 9}
	p.Stages[0].Text = "#version 310 es\nlayout(local_size_x = 8) in; layout(std430) buffer B { float b[]; };\nvoid main() { b[0] += 9.5; }"
	if got, err = r.Replay(context.Background(), p); err != nil || got.Context.API != recording.OpenGLES {
		t.Errorf("%+v, %v", got, err)
	}
}
