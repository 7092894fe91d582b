//go:build linux

package actors

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/shadercache/shadercache/resident/internal/loops"
)

// loopHandler adds up what a loop of a number of turns yields, which word 1 of its state
// has: word 0 is the sum of a tick, word 2 that of all messages.
const loopHandler = `
uint loopSum() {
    uint sum = 0u;
    for (uint i = 0u; i < actorGet(1u); ++i) {
        sum = sum * 3u + i;
    }
    return sum;
}
void ON_MESSAGE(Message m) { actorSet(2u, actorGet(2u) + loopSum()); }
void ON_TICK() { actorSet(0u, loopSum()); }
`

func loopSum(turns uint32) (sum uint32) {
	for i := range turns {
		sum = sum*3 + i
	}
	return sum
}

// TestLoopsThatTheDriverEnds has handlers with more loops than the driver allows: in one
// call, or over the messages of a tick. No state is returned then. Mesa 25.0's ends none.
func TestLoopsThatTheDriverEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if !f.GPU.Info().Software() {
		t.Skip("this driver ends no loops")
	}
	options := Options{Slots: 64, Handlers: []Handler{{Name: "LOOP", Text: loopHandler}}}
	for name, turns := range map[string]uint32{"one call": 70_000, "messages": 20_000} {
		w := f.world(options)
		actor := w.spawn("LOOP", 0, turns)
		if turns < 60_000 {
			w.step(1)
			if got := w.words(actor)[0]; got != loopSum(turns) {
				t.Errorf("%s: %#x, not %#x", name, got, loopSum(turns))
			}
			for range 3 {
				w.send(actor, 1)
			}
		}
		if r, err := w.Step(t.Context(), 1); err == nil {
			want := []uint32{loopSum(turns), turns, 0}
			if turns < 60_000 {
				want[2] = 3 * loopSum(turns)
			}
			if got := w.words(actor); !slices.Equal(got[:3], want) {
				t.Errorf("%s: without an error the state is %#x, not %#x: %+v", name, got[:3], want, r)
			}
			continue
		}
		_, err := w.Step(t.Context(), 1)
		wantIs(t, err, loops.ErrTooLong)
		_, err = w.StateWords(t.Context(), actor)
		wantIs(t, err, loops.ErrTooLong)
		_, err = w.Registry(t.Context())
		wantIs(t, err, loops.ErrTooLong)
		wantIs(t, w.Send(t.Context(), actor, 1), loops.ErrTooLong)
	}
	// Declared, a full mailbox has to fit: 16 messages, 4 broadcasts and a tick.
	options.Handlers[0].Loops = 2_800
	f.world(options)
	options.Handlers[0].Loops = 3_000
	_, err := New(t.Context(), f.Executor, f.Cache, options)
	wantIs(t, err, loops.ErrTooLong)
	w := f.world(Options{Slots: 64, Handlers: []Handler{{Name: "LOOP", Text: loopHandler}}})
	wantIs(t, w.SetHandlers(t.Context(), options.Handlers...), loops.ErrTooLong)
}

// TestLoopCheckIsTheSame compares the file that finds ended loops with that of sessions.
func TestLoopCheckIsTheSame(t *testing.T) {
	want, err := os.ReadFile("../kernels/resident_loops.glsl")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"kernels/resident_loops.glsl", "../queue/kernels/resident_loops.glsl"} {
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not a copy of resident/kernels/resident_loops.glsl: %v", file, err)
		}
	}
}
