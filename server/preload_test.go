//go:build linux

package server_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/shader"
)

// TestPreloadUsesSeveralSessions preloads programs, one of which does not compile, in a
// server that admits three sessions: they are all used, each program is reported once and
// compiled once, and the further sessions end.
func TestPreloadUsesSeveralSessions(t *testing.T) {
	const sessions, programs, broken = 3, 12, 5
	f := serve(t, server.Options{Sessions: sessions})
	c := f.dial()
	sources := make([]*shader.Source, programs)
	for i := range sources {
		text := fmt.Sprintf("layout(local_size_x = 64) in;\nlayout(std430, binding = 0) buffer B { uint x[]; };\nvoid main() { x[gl_GlobalInvocationID.x] = %du; }", i)
		if i == broken {
			text = "layout(local_size_x = 64) in;\nvoid main() { no; }"
		}
		sources[i] = shader.MustSource(fmt.Sprint("program", i), text, nil)
	}
	tried, most := map[int]int{}, 0
	err := c.Preload(t.Context(), sources, func(done client.Preloaded) {
		tried[done.Index]++
		most = max(most, len(f.Status().Sessions))
		_, isCompile := errors.AsType[*shader.CompileError](done.Err)
		if (done.Index == broken) != isCompile || done.Err == nil && (done.Program.Origin() != job.Compiled || done.Took <= 0) {
			t.Errorf("program %d: %+v", done.Index, done)
		}
	})
	if err != nil || len(tried) != programs || most != sessions {
		t.Errorf("%v; %v; %d sessions at most", err, tried, most)
	}
	if n := f.Status().Cache.Compiles; n != programs-1 {
		t.Errorf("%d programs were compiled", n)
	}
	eventually(t, "the further sessions end", func() bool { return len(f.Status().Sessions) == 1 })
	f.stop()
	eventually(t, "the session ends", func() bool { return c.Err() != nil })
	if err := c.Preload(t.Context(), sources, func(done client.Preloaded) { t.Errorf("after the end: %+v", done) }); err == nil {
		t.Error("a preload after the end has no error")
	}
}
