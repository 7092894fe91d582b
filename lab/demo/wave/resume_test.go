//go:build linux

package wave

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/shadercache/shadercache/resident"
	"github.com/shadercache/shadercache/resident/residenttest"
)

// session returns a session, which is closed when the test ends.
func (f *fixture) session(o Options) *Session {
	f.T.Helper()
	s, err := NewSession(f.T.Context(), f.GPU, f.Cache, o, resident.Options{})
	if err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(func() {
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			f.T.Error(err)
		}
	})
	return s
}

// TestSessionsContinueOnAnotherContext saves a session between two pokes of the same step,
// and continues it on another context: all cells, tiles and acknowledgements are those of
// the CPU.
func TestSessionsContinueOnAnotherContext(t *testing.T) {
	t.Parallel()
	f, elsewhere := newFixture(t), newFixture(t)
	o := Options{Width: 61, Height: 45, TilesX: 4, TilesY: 3, Border: Absorbing, Sponge: 6, Local: 32}
	pokes := []ScheduledPoke{{Impulse{20, 20, 1}, 0}, {Impulse{16, 15, -0.5}, 20}, {Impulse{60, 44, 2}, 20}, {Impulse{1, 30, 1}, 30}}
	first := f.session(o)
	got, err := Experiment{Steps: 20, Pokes: pokes[:2]}.Run(t.Context(), first)
	if err != nil || got.Steps != 20 || len(got.Pokes) != 2 || got.Pokes[1].Step != 20 {
		t.Fatalf("%+v, %v", got, err)
	}
	saved, err := first.Resident().Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := saved.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	read, err := resident.ReadCheckpoint(&file)
	if err != nil {
		t.Fatal(err)
	}
	second := elsewhere.session(o)
	if err := second.Resident().Restore(t.Context(), read); err != nil {
		t.Fatal(err)
	}
	applied, err := second.Impulses(t.Context())
	if err != nil || applied.Count != 2 || second.Steps() != 20 {
		t.Fatalf("%+v impulses after %d steps, %v", applied, second.Steps(), err)
	}
	reference, err := NewReference(o)
	if err != nil {
		t.Fatal(err)
	}
	got, err = Experiment{Steps: 60, Pokes: pokes, Done: 20, Applied: applied, Reference: reference}.Run(t.Context(), second)
	if err != nil || got.Verified == nil || !*got.Verified || got.Steps != 60 || len(got.Pokes) != 2 || got.Pokes[0].Step != 20 {
		t.Errorf("%+v, %v", got, err)
	}
	tiles, err := second.Tiles(t.Context())
	if err != nil || tiles[0].Steps != 60 {
		t.Errorf("%+v, %v", tiles[0], err)
	}
	had, err := second.Impulses(t.Context())
	if err != nil || had.Count != 4 {
		t.Fatalf("%+v, %v", had, err)
	}
	later := slices.Clone(pokes)
	later[1].Step = 18
	for _, wrong := range [][]ScheduledPoke{pokes[1:], append(slices.Clone(pokes), ScheduledPoke{Impulse{1, 1, 1}, 58}), later,
		{pokes[0], pokes[1], pokes[2], {Impulse{1, 30, 2}, 30}}} {
		if _, err := (Experiment{Steps: 60, Pokes: wrong, Done: 60, Applied: had}).Run(t.Context(), second); !errors.Is(err, ErrOtherPokes) {
			t.Errorf("pokes of another simulation: %v", err)
		}
	}
	if _, err := (Experiment{Steps: 60, Pokes: pokes, Done: 60, Applied: had}).Run(t.Context(), second); err != nil {
		t.Error(err)
	}
	residenttest.WantError(t, second.Step(t.Context(), 3), "in pairs")
	_, err = second.Excite(t.Context(), Impulse{61, 1, 1})
	residenttest.WantError(t, err, "outside of 61x45 cells")
}
