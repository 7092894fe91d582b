//go:build linux

package resident

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/shadercache/shadercache/glctx"
)

// loopText adds to the sum of each invocation what a loop of its number of turns yields.
const loopText = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer Sums { uint sums[]; };
layout(std430, binding = 1) readonly buffer Turns { uint turnsOf[]; };
uint residentStep(uvec2 step) {
    uint sum = 0u;
    uint turns = turnsOf[gl_LocalInvocationIndex];
    for (uint i = 0u; i < turns; ++i) {
        sum = sum * 3u + (i ^ step.x);
    }
    sums[gl_GlobalInvocationID.x] += sum;
    return RESIDENT_GO;
}
`

const loopGroups = 2

// loopKernel returns a kernel of loops and what it declares.
func loopKernel(turns, declared uint32) Kernel {
	return Kernel{Source: MustSource("loops", loopText, nil), Groups: loopGroups, Loops: declared, State: []State{
		{Block: "Sums", Bytes: 4 * 32 * loopGroups},
		{Block: "Turns", Init: glctx.Bytes(slices.Repeat([]uint32{turns}, 32)), Constant: true}}}
}

// sumAfter returns what steps of a number of turns add to a sum.
func sumAfter(steps, turns uint32) (sum uint32) {
	for step := range steps {
		one := uint32(0)
		for i := range turns {
			one = one*3 + (i ^ step)
		}
		sum += one
	}
	return sum
}

// limited skips a test where no driver is known to end loops. A software driver may: Mesa
// 22.3's does, and 25.0's does not. So the tests have either an error or a right result.
func limited(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	if !f.context.Info().Software() {
		t.Skip("this driver ends no loops")
	}
	return f
}

// trySteps runs steps of a kernel and returns the sums, or the error of the session.
func trySteps(t *testing.T, s *Session, steps uint64) ([]uint32, error) {
	t.Helper()
	out, err := s.Run(t.Context(), steps)
	if err != nil {
		if again := s.Read(t.Context(), "Sums", 0, make([]byte, 4)); !errors.Is(again, ErrLoopLimit) {
			t.Errorf("after %v the state is read, with %v", err, again)
		}
		return nil, err
	}
	if out.Steps != steps || out.Signal.Kind != SignalRunning {
		t.Fatalf("run of %d steps did %d and ended with %v", steps, out.Steps, out.Signal)
	}
	return words(t, s, "Sums", 32*loopGroups), nil
}

// wantCutOrRight asserts that steps of loops were either cut, with the error for that, or
// gave the sums.
func wantCutOrRight(t *testing.T, got []uint32, err error, want func(invocation int) uint32) {
	t.Helper()
	if err != nil {
		if !errors.Is(err, ErrLoopLimit) {
			t.Errorf("error %v", err)
		}
		return
	}
	for i, sum := range got {
		if sum != want(i) {
			t.Fatalf("without an error, sum %d is %#x, not %#x", i, sum, want(i))
		}
	}
}

// TestLoopsThatTheDriverEnds has a kernel with more loops than it declares: 40,000 turns
// fit into a dispatch once. Its budget is fixed, since an estimated one may be a single
// step.
func TestLoopsThatTheDriverEnds(t *testing.T) {
	f := limited(t)
	for _, strategy := range Strategies() {
		t.Run(strategy.String(), func(t *testing.T) {
			// A chain divides its steps among 32 dispatches: each has two.
			got, err := trySteps(t, f.session(loopKernel(40_000, 0), Options{Strategy: strategy, Budget: 4}), 64)
			wantCutOrRight(t, got, err, func(int) uint32 { return sumAfter(64, 40_000) })
		})
	}
	t.Run("claim", func(t *testing.T) {
		k := loopKernel(40_000, 0)
		k.Claim = true
		got, err := trySteps(t, f.session(k, Options{Budget: 4}), 20)
		if err == nil {
			for i := range got[:32] { // each step was done by one of the groups
				got[i] += got[32+i]
			}
			got = got[:32]
		}
		wantCutOrRight(t, got, err, func(int) uint32 { return sumAfter(20, 40_000) })
	})
	t.Run("one invocation", func(t *testing.T) {
		turns := make([]uint32, 32)
		turns[29] = 70_000
		k := loopKernel(0, 0)
		k.State[1].Init = glctx.Bytes(turns)
		got, err := trySteps(t, f.session(k, Options{}), 1)
		wantCutOrRight(t, got, err, func(i int) uint32 { return sumAfter(1, turns[i%32]) })
	})
}

// leaveText has group 1 do a step a tick, of which one has too many turns.
const leaveText = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Sums { uint sums[]; };
uint residentStep(uvec2 step) {
    uint turns = gl_WorkGroupID.x == 1u && step.x == 2u ? 100000u : 1u;
    for (uint i = 0u; i < turns; ++i) {
        sums[gl_WorkGroupID.x] += 1u + (i & step.y);
    }
    return gl_WorkGroupID.x == 1u ? RESIDENT_LEAVE : RESIDENT_GO;
}
`

// A session that fails while it aligns its groups for a checkpoint saves none: the state is wrong.
func TestNoCheckpointOfAWrongState(t *testing.T) {
	f := limited(t)
	o := Options{Budget: 64, Checkpoints: OpenCheckpointFile(filepath.Join(t.TempDir(), "state")), CheckpointEvery: 1, Strategy: Redispatch}
	k := Kernel{Source: MustSource("leave", leaveText, nil), Groups: 2, State: []State{{Block: "Sums", Bytes: 8}}}
	s := f.session(k, o)
	_, err := s.Run(t.Context(), 64)
	if !errors.Is(err, ErrLoopLimit) {
		t.Skipf("this driver ends no loops: %v", err)
	}
	_ = s.Close() // a save is over

	if c, err := o.Checkpoints.Load(); err == nil {
		t.Errorf("a checkpoint of step %d", c.Steps)
	}
}

// TestDeclaredLoops has a kernel that declares its loops: it does one step a dispatch, and
// all of them are right. One step that has too many is refused.
func TestDeclaredLoops(t *testing.T) {
	f := limited(t)
	s := f.session(loopKernel(40_000, 40_000), Options{Budget: 4})
	got, err := trySteps(t, s, 12)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := 0, sumAfter(12, 40_000); i < len(got); i++ {
		if got[i] != want {
			t.Fatalf("sum %d is %#x, not %#x", i, got[i], want)
		}
	}
	if n := s.Stats().Ticks; n != 12 {
		t.Errorf("%d ticks for 12 steps", n)
	}
	for _, declared := range []uint32{60_533, 70_000, ^uint32(0)} {
		if _, err := New(t.Context(), f.context, f.cache, loopKernel(1, declared), Options{}); !errors.Is(err, ErrLoopLimit) {
			t.Errorf("%d turns in a step are accepted: %v", declared, err)
		}
	}
}

// TestEveryLengthOfLoops has loops around the limit, in one step and in several: a result
// without an error is right.
func TestEveryLengthOfLoops(t *testing.T) {
	f := limited(t)
	cut := 0
	for _, steps := range []uint32{1, 3} {
		for turns := uint32(65_535/steps) - 24; turns < 65_535/steps+8; turns++ {
			t.Run(fmt.Sprint(steps, " of ", turns), func(t *testing.T) {
				got, err := trySteps(t, f.session(loopKernel(turns, 0), Options{Budget: steps}), uint64(steps))
				switch want := sumAfter(steps, turns); {
				case errors.Is(err, ErrLoopLimit):
					cut++
				case err != nil:
					t.Error(err)
				case got[0] != want || got[63] != want:
					t.Errorf("sums %#x and %#x, not %#x, without an error", got[0], got[63], want)
				}
			})
		}
	}
	if cut > 0 && (cut < 4 || cut > 60) {
		t.Errorf("%d of 64 lengths are beyond the limit", cut)
	}
}

func TestStepsWithinTheLimitOfLoops(t *testing.T) {
	for _, c := range []struct {
		kernel Kernel
		want   uint32 // steps of a dispatch
	}{
		{Kernel{Groups: 1}, 3560},
		{Kernel{Groups: 1, Phases: 2}, 3363},
		{Kernel{Groups: 1, Loops: 60_518}, 1},
		{Kernel{Groups: 1, Loops: ^uint32(0)}, 1}, // New refuses it
	} {
		if got := chooseMode(c.kernel, Options{}, glctx.Info{GPU: "llvmpipe (LLVM 15)"}).MaxSteps; got != c.want {
			t.Errorf("%+v: %d steps", c.kernel, got)
		}
	}
}

// TestMostStepsOfADispatch runs as many steps in one dispatch as a session may have, of kernels
// with few and with many loop turns, and gets right results without an error.
func TestMostStepsOfADispatch(t *testing.T) {
	f := limited(t)
	for _, turns := range []uint32{1, 100, 1000} {
		k := loopKernel(turns, turns)
		s := f.session(k, Options{Strategy: Mega, Budget: epochSteps})
		most := s.config.mode.MaxSteps
		sums, err := trySteps(t, s, uint64(most))
		if err != nil {
			t.Errorf("%d steps of %d turns: %v", most, turns, err)
			continue
		}
		if want := sumAfter(most, turns); sums[0] != want {
			t.Errorf("%d steps of %d turns: the sum is %d, should be %d", most, turns, sums[0], want)
		}
		if n := s.Stats().Dispatches; n != 1 {
			t.Errorf("%d steps of %d turns took %d dispatches", most, turns, n)
		}
	}
}
