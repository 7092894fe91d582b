//go:build linux

package wave

import (
	"context"
	"errors"
	"testing"
)

func TestParseScheduledPoke(t *testing.T) {
	for text, want := range map[string]ScheduledPoke{
		"1,2,3":       {Impulse{1, 2, 3}, 0},
		"1,2,-0.5@33": {Impulse{1, 2, -0.5}, 33},
	} {
		if got, err := ParseScheduledPoke(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "1,2", "1,2,3,4", "a,2,3", "1,2,3@", "1,2,3@-1", "1,2,x"} {
		if got, err := ParseScheduledPoke(text); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// Frames, pokes and the end happen before the steps that they are for, and a cell that
// differs ends the experiment.
func TestExperiment(t *testing.T) {
	f := newFixture(t)
	o := Options{Width: 64, Height: 48, TilesX: 4, TilesY: 3}
	s, reference := f.pair(o)
	defer s.Close()
	var frames []uint32
	steps := 0
	e := Experiment{
		Steps: 50, Every: 20,
		Pokes:     []ScheduledPoke{{Impulse{40, 30, -0.5}, 33}, {Impulse{10, 10, 1}, 0}, {Impulse{1, 1, 1}, 50}, {Impulse{2, 2, 1}, 51}},
		Frame:     func(_ []float32, step uint32) error { frames = append(frames, step); return nil },
		Reference: reference,
		Progress:  func(n int) error { steps += n; return nil },
	}
	got, err := e.Run(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	if len(frames) != 2 || frames[0] != 20 || frames[1] != 40 || got.Frames != 2 || steps != 50 || got.Steps != 50 {
		t.Errorf("frames %v, %d steps, %+v", frames, steps, got)
	}
	if len(got.Pokes) != 3 || got.Pokes[0].Step != 0 || got.Pokes[1].Step != 33 || got.Pokes[2].Step != 50 {
		t.Errorf("%+v", got.Pokes)
	}
	if got.Verified == nil || !*got.Verified || got.Energy <= 0 || got.Largest <= 0 || got.Stepping <= 0 {
		t.Errorf("%+v", got)
	}
	if e.Pokes[0].Step != 33 {
		t.Error("Run changed the caller's pokes")
	}
	reference.Step(1) // a step ahead of the simulation
	got, err = Experiment{Steps: 5, Reference: reference}.Run(context.Background(), s)
	if !errors.Is(err, ErrDiffers) || got.Verified == nil || *got.Verified {
		t.Errorf("%+v, %v", got, err)
	}
	stop := errors.New("stop")
	if _, err = (Experiment{Steps: 5, Every: 2, Frame: func([]float32, uint32) error { return stop }}).Run(context.Background(), s); err != stop {
		t.Errorf("%v", err)
	}
}
