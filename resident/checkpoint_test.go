//go:build linux

package resident

import (
	"bytes"
	"errors"
	"testing"
	"time"
)

// TestCheckpointsContinueElsewhere saves a session after some steps, as bytes, and
// continues it on another context with another strategy.
func TestCheckpointsContinueElsewhere(t *testing.T) {
	want := chainAfter(1500)
	f, elsewhere := newFixture(t), newFixture(t)
	s := f.session(chainKernel(), quick)
	run(t, s, 700)
	c, err := s.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c.Steps != 700 {
		t.Errorf("the checkpoint is at step %d, not 700", c.Steps)
	}
	var file bytes.Buffer
	if _, err := c.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	read, err := ReadCheckpoint(&file)
	if err != nil {
		t.Fatal(err)
	}
	other := elsewhere.session(chainKernel(), Options{Strategy: Chain, TickTime: time.Millisecond})
	run(t, other, 3) // to be overwritten
	if err := other.Restore(t.Context(), read); err != nil {
		t.Fatal(err)
	}
	run(t, other, 800)
	wantWords(t, words(t, other, "Cells", chainCells), want)
	run(t, s, 800)
	wantWords(t, words(t, s, "Cells", chainCells), want)
	// The first session again, from the same place.
	if err := s.Restore(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if p := s.Progress(); p != 700 {
		t.Errorf("progress is %d after restoring 700", p)
	}
	run(t, s, 800)
	wantWords(t, words(t, s, "Cells", chainCells), want)
}

// The signal that ended a run does not end the one after a Restore.
func TestRestoreAfterASignal(t *testing.T) {
	f := newFixture(t)
	const text = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer Cells { uint cells[]; };
uint residentStep(uvec2 step) {
    cells[gl_GlobalInvocationID.x] += step.x;
    if (step.x == 20u && residentLeader()) {
        residentSignal(RESIDENT_CHECKPOINT, 7u);
    }
    return RESIDENT_GO;
}
`
	k := Kernel{Source: MustSource("signals", text, nil), Groups: 1, State: []State{{Block: "Cells", Bytes: 128}}}
	for _, strategy := range []Strategy{Redispatch, Mega, Double, Chain} {
		s := f.session(k, Options{Strategy: strategy})
		run(t, s, 10)
		c, err := s.Checkpoint(t.Context())
		must(t, err)
		if out, err := s.Run(t.Context(), 100); err != nil || out.Signal.Kind != SignalCheckpoint {
			t.Fatalf("%v: %+v, %v", strategy, out, err)
		}
		must(t, s.Restore(t.Context(), c))
		if out, err := s.Run(t.Context(), 5); err != nil || out != (Outcome{Steps: 5}) || s.Progress() != 15 {
			t.Errorf("%v: a run of 5 steps after Restore: %+v, %v; progress %d", strategy, out, err, s.Progress())
		}
	}
}

// TestCheckpointsOfOtherKernelsAreRefused restores checkpoints of other kernels.
func TestCheckpointsOfOtherKernelsAreRefused(t *testing.T) {
	f := newFixture(t)
	s := f.session(chainKernel(), quick)
	c, err := s.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	more := chainKernel()
	more.Groups--
	for name, k := range map[string]Kernel{"groups": more, "kernel": echoKernel()} {
		if err := f.session(k, quick).Restore(t.Context(), c); !errors.Is(err, ErrOtherKernel) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	if err := s.Restore(t.Context(), c); !errors.Is(err, ErrRunning) {
		t.Errorf("restore while it runs: %v", err)
	}
}

// TestDamagedCheckpointsAreRefused flips each byte of a small checkpoint, and cuts it to
// each length.
func TestDamagedCheckpointsAreRefused(t *testing.T) {
	good := smallCheckpoint(t)
	if _, err := ReadCheckpoint(bytes.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		if _, err := ReadCheckpoint(bytes.NewReader(bad)); !errors.Is(err, ErrDamaged) {
			t.Errorf("byte %d flipped: %v", i, err)
		}
		if _, err := ReadCheckpoint(bytes.NewReader(good[:i])); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut to %d bytes: %v", i, err)
		}
	}
}

func smallCheckpoint(t testing.TB) []byte {
	t.Helper()
	c := Checkpoint{Steps: 77, base: 70, least: 7, most: 7, groups: []groupProgress{{7, 0}, {5, 1}},
		states: []savedState{{"Cells", []byte("0123456789abcdef")}, {"Empty", nil}}}
	var file bytes.Buffer
	if n, err := c.WriteTo(&file); err != nil || n != int64(file.Len()) {
		t.Fatalf("wrote %d of %d bytes: %v", n, file.Len(), err)
	}
	return file.Bytes()
}

func FuzzReadCheckpoint(f *testing.F) {
	f.Add(smallCheckpoint(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ReadCheckpoint(bytes.NewReader(data))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if _, err := c.WriteTo(&again); err != nil || !bytes.Equal(again.Bytes(), data[:again.Len()]) {
			t.Errorf("it is not written as it was read: %v", err)
		}
	})
}
