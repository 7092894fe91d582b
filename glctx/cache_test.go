//go:build linux && cgo

package glctx_test

import (
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

var _ cache.Device = (*glctx.Context)(nil)

// TestCacheHitsOnTheRealDevice gets one program cold, resident and from disk, and
// asserts the GL calls of each.
func TestCacheHitsOnTheRealDevice(t *testing.T) {
	dir := t.TempDir()
	source := shader.MustSource("two", doubler, shader.Defines{"FACTOR": "2.0"})
	for _, round := range []struct {
		first           job.Origin
		compiles, loads uint64
	}{
		{job.Compiled, 1, 0},
		{job.Disk, 0, 1},
		{job.Disk, 0, 1},
	} {
		c := gltest.Open(t)
		programs, err := cache.New(c, cache.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []job.Origin{round.first, job.Resident, job.Resident} {
			h, err := programs.Get(t.Context(), source)
			if err != nil {
				t.Fatal(err)
			}
			if h.Origin() != want {
				t.Errorf("origin %v, want %v", h.Origin(), want)
			}
			wantTimes(t, run(t, c, h.Program()), 2)
			h.Release()
		}
		if s := programs.Stats(); !strings.Contains(s.DriverCache, "managed") || s.MemoryOnly != "" {
			t.Errorf("stats %+v", s)
		}
		if err := programs.Close(); err != nil {
			t.Error(err)
		}
		if err := c.Do(func(*glctx.GL) error { return nil }); err != nil {
			t.Error(err)
		}
		if n := c.Counters(); n.Compiles != round.compiles || n.BinaryLoads != round.loads || n.Programs != 0 {
			t.Errorf("counters %+v, want %d compiles, %d loads and no program left", n, round.compiles, round.loads)
		}
	}
}
