//go:build linux

package resident

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// factorText adds up a factor that the host changes, and records the step at which each
// group first saw its present value.
const factorText = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Factor { uint spare; uint factor; };
layout(std430, binding = 1) buffer Sums { uint sums[]; };
layout(std430, binding = 2) buffer Seen { uvec2 seen[]; }; // factor, step
uint residentStep(uvec2 step) {
    uint g = gl_WorkGroupID.x;
    if (seen[g].x != factor) {
        seen[g] = uvec2(factor, step.x);
    }
    sums[g] += factor;
    return RESIDENT_GO;
}
`

// persistentOptions returns options for a strategy, which claim that the driver can do
// what Persistent needs.
func persistentOptions(strategy Strategy) Options {
	return Options{Strategy: strategy, TickTime: time.Millisecond, Slice: time.Millisecond, Capabilities: claimed}
}

// waitStep waits until the session has done another step.
func waitStep(t *testing.T, s *Session) {
	t.Helper()
	if before := s.Progress(); !eventually(func() bool { return s.Progress() != before }) {
		t.Fatalf("no step after %d", before)
	}
}

// TestWriteChangesAStateForAllGroupsAtOnce writes while a session runs, with every
// strategy: all groups see each value from the same step on.
func TestWriteChangesAStateForAllGroupsAtOnce(t *testing.T) {
	const groups = 3
	f := newFixture(t)
	k := Kernel{Source: MustSource("factor", factorText, nil), Groups: groups, State: []State{
		{Block: "Factor", Bytes: 8}, {Block: "Sums", Bytes: 4 * groups}, {Block: "Seen", Bytes: 8 * groups}}}
	for _, strategy := range Strategies() {
		t.Run(strategy.String(), func(t *testing.T) {
			s, ctx := started(t, f, k, persistentOptions(strategy))
			sum, since := uint32(0), uint32(0)
			for factor := uint32(1); factor < 5; factor++ {
				if err := s.Write(ctx, "Factor", 4, binary.LittleEndian.AppendUint32(nil, factor)); err != nil {
					t.Fatal(err)
				}
				waitStep(t, s) // with this factor
				seen := words(t, s, "Seen", 2*groups)
				at := seen[1]
				sum += (factor - 1) * (at - since)
				since = at
				wantWords(t, seen, []uint32{factor, at, factor, at, factor, at})
			}
			if _, err := s.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			sum += 4 * (uint32(s.Progress()) - since)
			wantWords(t, words(t, s, "Sums", groups), []uint32{sum, sum, sum})
			wantWords(t, words(t, s, "Factor", 2), []uint32{0, 4})
		})
	}
}

// TestWithBuffersChangesStatesBetweenTicks has another kernel change a state while the
// session runs, and compares every word with the CPU.
func TestWithBuffersChangesStatesBetweenTicks(t *testing.T) {
	f := newFixture(t)
	h, err := f.cache.Get(t.Context(), shader.MustSource("more", `
layout(local_size_x = 32) in;
layout(std430, binding = 3) buffer Cells { uint cells[]; };
void main() { cells[gl_GlobalInvocationID.x] += 1000u; }`, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Release()
	for _, strategy := range Strategies() {
		t.Run(strategy.String(), func(t *testing.T) {
			s, ctx := started(t, f, chainKernel(), persistentOptions(strategy))
			var at uint64
			waitStep(t, s)
			err := s.WithBuffers(ctx, func(gl *glctx.GL, buffers map[string]glctx.Buffer) error {
				if names := slices.Collect(maps.Keys(buffers)); len(names) != 1 || buffers["Cells"].Size != 4*chainCells {
					t.Errorf("got the buffers %v, %d bytes", names, buffers["Cells"].Size)
				}
				at = s.Progress()
				gl.UseProgram(h.Program())
				gl.BindStorage(3, buffers["Cells"])
				gl.Dispatch(chainGroups, 1, 1)
				gl.MemoryBarrier(glctx.BarrierStorage | glctx.BarrierUpdate)
				return gl.Err()
			})
			if err != nil {
				t.Fatal(err)
			}
			waitStep(t, s)
			if _, err := s.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			want := chainAfter(at)
			for i := range want {
				want[i] += 1000
				for step := at; step < s.Progress(); step++ {
					want[i] = want[i]*1664525 + uint32(step) + uint32(i)
				}
			}
			wantWords(t, words(t, s, "Cells", chainCells), want)
		})
	}
}

func TestWritesThatCannotBeAreRefused(t *testing.T) {
	f := newFixture(t)
	s := f.session(chainKernel(), quick)
	for want, err := range map[string]error{
		"kernel chain has no state Cell":                               s.Write(t.Context(), "Cell", 0, make([]byte, 4)),
		"bytes 508 to 516 of state Cells, which has 512":               s.Write(t.Context(), "Cells", 508, make([]byte, 8)),
		"bytes -4 to 0 of state Cells, which has 512":                  s.Write(t.Context(), "Cells", -4, make([]byte, 4)),
		"bytes 9223372036854775807 to -9223372036854775805 of state C": s.Read(t.Context(), "Cells", 1<<63-1, make([]byte, 4)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	wantWords(t, words(t, s, "Cells", chainCells), chainStart())
	stop := errors.New("stop")
	if err := s.WithBuffers(t.Context(), func(*glctx.GL, map[string]glctx.Buffer) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the callback's error comes back as %v", err)
	}
	run(t, s, 1) // it does not fail the session
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), "Cells", 0, make([]byte, 4)); !errors.Is(err, errClosed) {
		t.Errorf("a write to a closed session: %v", err)
	}
	if err := s.WithBuffers(t.Context(), func(*glctx.GL, map[string]glctx.Buffer) error { return nil }); !errors.Is(err, errClosed) {
		t.Errorf("WithBuffers of a closed session: %v", err)
	}
}
