package workloads

import (
	"testing"

	"github.com/shadercache/shadercache/lab/demo/wave"
	"github.com/shadercache/shadercache/resident/residenttest"
)

func TestWaveVerifiesBothForms(t *testing.T) {
	f := residenttest.New(t)
	o := WaveOptions{Options: wave.Options{Width: 48, Height: 40, TilesX: 4, TilesY: 4, Local: 32}, Repeat: 3}
	steps := 0
	progress := func(done, of int) {
		if steps++; done != steps || of != 3*(2+4*3) {
			t.Errorf("%d of %d", done, of)
		}
	}
	rows, err := measureWave(t.Context(), f.Executor, f.Cache, o, progress)
	if err != nil || steps != 3*(2+4*3) {
		t.Fatal(steps, err)
	}
	if len(rows) != 8 {
		t.Errorf("%d rows", len(rows))
	}
	for _, r := range rows {
		if !r.Verified || r.Micros <= 0 || r.Repeat != 3 {
			t.Errorf("%+v", r)
		}
	}
	_, err = measureWave(t.Context(), f.Executor, f.Cache, WaveOptions{}, progress)
	residenttest.WantError(t, err, "repeated 0 times")
}

// A wrong cell, and a wrong answer, are not verified.
func TestWaveFindsWhatIsWrong(t *testing.T) {
	f := residenttest.New(t)
	o := WaveOptions{Options: wave.Options{Width: 16, Height: 16, TilesX: 2, TilesY: 2}, Repeat: 1}
	expected, err := expectWave(t.Context(), o, func() {})
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range waveForms {
		w, err := newWaveForm(t.Context(), f.Executor, f.Cache, o.Options, form)
		if err != nil {
			t.Fatal(err)
		}
		verified := func(i int) bool {
			row, err := w.row(expected[i], func() {})
			if err != nil {
				t.Fatal(err)
			}
			return row.Verified
		}
		if !verified(0) || !verified(1) {
			t.Errorf("%s: right cells are not verified", form)
		}
		expected[2].heights[0]++
		if verified(2) {
			t.Errorf("%s: a wrong answer is verified", form)
		}
		expected[2].heights[0]--
		wrong := []float32{0.1}
		buffers, current := w.sim.State()
		w.state[current][5] = wrong[0] // what the traditional form uploads
		if err := buffers[current].Upload(t.Context(), 5, wrong); err != nil {
			t.Fatal(err)
		}
		if verified(3) {
			t.Errorf("%s: a wrong cell is verified", form)
		}
		w.sim.Close()
	}
}
