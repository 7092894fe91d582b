package workloads

import (
	"context"
	"image"

	"github.com/shadercache/shadercache/lab/demo/wave"
)

// frameSteps is how many steps a frame has.
const frameSteps = 8

// waveExpected is a row as the CPU computes it.
type waveExpected struct {
	operation string
	pokes     []wave.Impulse // one for each repeat, as are cells and heights
	cells     []image.Point
	heights   []float32
	after     *wave.Reference // the surface after all repeats
}

// steps returns how many steps the operation has.
func (w *waveExpected) steps() int {
	return map[string]int{"step": 1, "frame": frameSteps}[w.operation]
}

// injects reports whether the operation has a poke.
func (w *waveExpected) injects() bool { return w.operation == "inject" || w.operation == "frame" }

// queries reports whether the operation reads a cell.
func (w *waveExpected) queries() bool { return w.operation == "query" || w.operation == "frame" }

// expectWave computes on the CPU what every form will do: the warm-up and then the rows.
func expectWave(ctx context.Context, o WaveOptions, step func()) ([]*waveExpected, error) {
	r, err := wave.NewReference(o.Options)
	if err != nil {
		return nil, err
	}
	list := []*waveExpected{{operation: "frame", pokes: make([]wave.Impulse, waveWarmUp)}}
	for _, operation := range waveOperations {
		list = append(list, &waveExpected{operation: operation, pokes: make([]wave.Impulse, o.Repeat)})
	}
	number := 0
	for _, w := range list {
		for i := range w.pokes {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			number++
			if err := w.compute(r, o.Options, i, number); err != nil {
				return nil, err
			}
			step()
		}
		w.after = r.Clone()
	}
	return list, nil
}

// compute runs the operation for the i-th time, as operation number of all.
func (w *waveExpected) compute(r *wave.Reference, o wave.Options, i, number int) error {
	at := image.Pt(number*37%o.Width, number*53%o.Height) // visits the whole grid over time
	cell := image.Pt((at.X+3)%o.Width, at.Y)
	w.pokes[i] = wave.Impulse{X: at.X, Y: at.Y, Amplitude: 0.5}
	if w.injects() {
		if err := r.Excite(w.pokes[i]); err != nil {
			return err
		}
	}
	r.Step(w.steps())
	w.cells, w.heights = append(w.cells, cell), append(w.heights, r.Field()[cell.Y*o.Width+cell.X])
	return nil
}
