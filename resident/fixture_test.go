//go:build linux

package resident

import (
	"context"
	"encoding/binary"
	"runtime"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
)

func TestMain(m *testing.M) { gltest.Main(m) }

// chainText makes every cell depend on all steps before, in their order.
const chainText = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer Cells { uint cells[]; };
uint residentStep(uvec2 step) {
    uint i = gl_GlobalInvocationID.x;
    cells[i] = cells[i] * 1664525u + step.x + i;
    if (residentLeader()) {
        residentLanes(32u);
    }
    return RESIDENT_GO;
}
`

const (
	chainGroups = 4
	chainCells  = 32 * chainGroups
)

func chainKernel() Kernel {
	return Kernel{Source: MustSource("chain", chainText, nil), Groups: chainGroups,
		State: []State{{Block: "Cells", Init: glctx.Bytes(chainStart())}}}
}

func chainStart() []uint32 {
	cells := make([]uint32, chainCells)
	for i := range cells {
		cells[i] = uint32(i) * 7919
	}
	return cells
}

// chainAfter returns the cells after a number of steps, computed on the CPU.
func chainAfter(steps uint64) []uint32 {
	cells := chainStart()
	for step := range steps {
		for i := range cells {
			cells[i] = cells[i]*1664525 + uint32(step) + uint32(i)
		}
	}
	return cells
}

// fixture holds a context with a cache, for sessions.
type fixture struct {
	t       testing.TB
	context *glctx.Context
	cache   *cache.Cache
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	c := gltest.Open(t)
	goroutines := runtime.NumGoroutine()
	programs, err := cache.New(c, cache.Options{MemoryOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := programs.Close(); err != nil {
			t.Errorf("handles are left: %v", err)
		}
		if !eventually(func() bool { return runtime.NumGoroutine() <= goroutines }) {
			t.Errorf("%d goroutines, there were %d", runtime.NumGoroutine(), goroutines)
		}
	})
	return &fixture{t, c, programs}
}

// session returns a session that is closed when the test ends.
func (f *fixture) session(k Kernel, o Options) *Session {
	f.t.Helper()
	s, err := New(context.Background(), f.context, f.cache, k, o)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			f.t.Error(err)
		}
	})
	return s
}

// stopped returns a session whose scheduler does not run, and its scheduler, so that a
// test can use it. It is closed when the test ends.
func (f *fixture) stopped(k Kernel, o Options) (*Session, *scheduler) {
	f.t.Helper()
	s, sc, err := open(context.Background(), f.context, f.cache, k, o)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		go sc.loop()
		if err := s.Close(); err != nil {
			f.t.Error(err)
		}
	})
	return s, sc
}

// eventuallyTime bounds waits of tests: far beyond what a loaded machine needs.
const eventuallyTime = 2 * time.Minute

// eventually polls until met holds, and reports whether it did.
func eventually(met func() bool) bool {
	for began := time.Now(); !met(); time.Sleep(time.Millisecond) {
		if time.Since(began) > eventuallyTime {
			return false
		}
	}
	return true
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run does all the steps.
func run(t testing.TB, s *Session, steps uint64) {
	t.Helper()
	out, err := s.Run(t.Context(), steps)
	if err != nil {
		t.Fatal(err)
	}
	if out.Steps != steps || out.Signal.Kind != SignalRunning {
		t.Fatalf("run of %d steps did %d and ended with %v", steps, out.Steps, out.Signal)
	}
}

// words reads n words of a state.
func words(t testing.TB, s *Session, block string, n int) []uint32 {
	t.Helper()
	data := make([]byte, 4*n)
	for i := range data {
		data[i] = 0xcd
	}
	if err := s.Read(t.Context(), block, 0, data); err != nil {
		t.Fatal(err)
	}
	list := make([]uint32, n)
	for i := range list {
		list[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return list
}

func wantWords(t testing.TB, got, want []uint32) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("word %d of %d is %#x, not %#x", i, len(want), got[i], want[i])
		}
	}
}
