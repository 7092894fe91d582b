package workloads

import (
	"context"
	"fmt"
	"image"
	"io"
	"time"

	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/bench/stats"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/lab/bench/measure"
	"github.com/shadercache/shadercache/lab/demo/wave"
)

// WaveOptions configure RunWave.
type WaveOptions struct {
	wave.Options

	// Repeat is how often each operation is timed, at least 1.
	Repeat int
}

// Validate returns an error for options that RunWave does not accept.
func (o WaveOptions) Validate() error {
	return checkRepeat(o.Repeat)
}

// WaveResult is what bench wave prints.
type WaveResult struct {
	Workload string `json:"workload"` // what was measured
	bench.Header
	Width    int       `json:"width"`    // cells or pixels across
	Height   int       `json:"height"`   // cells or pixels down
	TilesX   int       `json:"tiles_x"`  // work groups across
	TilesY   int       `json:"tiles_y"`  // work groups down
	Rows     []WaveRow `json:"rows"`     // one for each measurement
	Verified bool      `json:"verified"` // every result is right
}

// WaveRow is one operation in one form, the median of Repeat:
//
//	inject  a poke, until it is acknowledged and, traditionally, back on the host
//	query   the height of one cell, as it is now
//	step    one step, until it is done
//	frame   a poke, 8 steps and a query: 60 times a second leaves 16,667 us
type WaveRow struct {
	Name     string  `json:"name"`
	Form     string  `json:"form"` // traditional or resident
	Micros   float64 `json:"us"`
	Repeat   int     `json:"repeat"`   // runs of each row
	Verified bool    `json:"verified"` // every answer, and every cell afterwards
}

var (
	waveForms      = []string{"traditional", "resident"}
	waveOperations = []string{"inject", "query", "step", "frame"}
)

// waveWarmUp is how many frames run before anything is timed, so that the surface moves.
const waveWarmUp = 2

// RunWave compares two forms on the same grid with the same kernels. Traditional: the
// host has the state, and for every operation it is uploaded, dispatched on, and
// downloaded; a query downloads it. Resident: the state stays on the GPU, and only
// messages and answers are copied.
//
// The CPU runs all operations once before anything is timed, on all cores, and keeps its
// answers and fields: both forms are compared with them, and nothing but the form that is
// timed runs meanwhile.
func RunWave(o *cli.Options, options WaveOptions) (*WaveResult, error) {
	return measure.OnExecutor(o, func(ctx context.Context, gpu *cli.GPU, h bench.Header) (*WaveResult, error) {
		bar := o.NewProgress(0, "wave")
		defer func() { _ = bar.Finish() }()
		rows, err := measureWave(ctx, gpu.Executor, gpu.Cache, options, func(done, of int) {
			bar.ChangeMax(of)
			_ = bar.Set(done)
		})
		result := &WaveResult{Workload: "wave", Header: h, Width: options.Width, Height: options.Height,
			TilesX: options.TilesX, TilesY: options.TilesY, Rows: rows, Verified: err == nil}
		for _, row := range rows {
			result.Verified = result.Verified && row.Verified
		}
		return result, err
	})
}

// measureWave returns the rows of both forms. It calls progress after each operation,
// on the CPU or by a form. A wrong result is in its row, not an error.
func measureWave(ctx context.Context, e *executor.Executor, programs executor.Programs, o WaveOptions, progress func(done, of int)) ([]WaveRow, error) {
	if o.Repeat < 1 {
		return nil, fmt.Errorf("wave: a bench repeated %d times", o.Repeat)
	}
	of, done := (1+len(waveForms))*(waveWarmUp+len(waveOperations)*o.Repeat), 0
	step := func() {
		done++
		progress(done, of)
	}
	expected, err := expectWave(ctx, o, step)
	if err != nil {
		return nil, err
	}
	var rows []WaveRow
	for _, form := range waveForms {
		f, err := newWaveForm(ctx, e, programs, o.Options, form)
		if err != nil {
			return nil, err
		}
		for i, want := range expected {
			row, err := f.row(want, step)
			if err != nil {
				f.sim.Close()
				return nil, fmt.Errorf("wave: bench %s, %s: %w", want.operation, form, err)
			}
			if i > 0 {
				rows = append(rows, row)
			}
		}
		f.sim.Close()
	}
	return rows, nil
}

// waveForm is the simulation in one form.
type waveForm struct {
	ctx   context.Context
	form  string
	sim   *wave.Sim
	state [][]float32 // on the host, in the traditional form
}

func newWaveForm(ctx context.Context, e *executor.Executor, programs executor.Programs, o wave.Options, form string) (*waveForm, error) {
	sim, err := wave.New(ctx, e, programs, o)
	if err != nil {
		return nil, err
	}
	f := &waveForm{ctx: ctx, form: form, sim: sim}
	buffers, _ := sim.State()
	for _, b := range buffers {
		f.state = append(f.state, make([]float32, b.Len()))
	}
	return f, nil
}

// row times one operation, compares every answer, and at the end every cell. It calls
// step after each repeat.
func (f *waveForm) row(want *waveExpected, step func()) (WaveRow, error) {
	repeat := len(want.pokes)
	verified, micros := true, make([]float64, repeat)
	for i := range micros {
		spent, height, err := f.once(want, i)
		if err != nil {
			return WaveRow{}, err
		}
		micros[i] = measure.Micros(spent)
		verified = verified && (!want.queries() || height == want.heights[i])
		step()
	}
	field, _, err := f.sim.Field(f.ctx)
	if err != nil {
		return WaveRow{}, err
	}
	verified = verified && want.after.Compare(field) == nil
	return WaveRow{want.operation, f.form, stats.Median(micros), repeat, verified}, nil
}

// once runs an operation for the i-th time, and returns the height that it queried.
func (f *waveForm) once(want *waveExpected, i int) (spent time.Duration, height float32, err error) {
	var parts []func() error
	if want.injects() {
		parts = append(parts, f.poke(want.pokes[i]))
	}
	if n := want.steps(); n > 0 {
		parts = append(parts, f.step(n))
	}
	if want.queries() {
		parts = append(parts, f.query(want.cells[i], &height))
	}
	start := time.Now()
	for _, part := range parts {
		if err := part(); err != nil {
			return 0, 0, err
		}
	}
	return time.Since(start), height, nil
}

func (f *waveForm) poke(p wave.Impulse) func() error {
	return f.withState(func() error {
		_, err := f.sim.Excite(f.ctx, p)
		return err
	})
}

func (f *waveForm) step(n int) func() error {
	return f.withState(func() error { return f.sim.Step(f.ctx, n) })
}

// withState returns work, in the traditional form between an upload and a download of
// all state.
func (f *waveForm) withState(work func() error) func() error {
	if f.form == "resident" {
		return work
	}
	return func() error {
		if err := f.transfer((*executor.Buffer[float32]).Upload); err != nil {
			return err
		}
		if err := work(); err != nil {
			return err
		}
		return f.transfer((*executor.Buffer[float32]).Download)
	}
}

// transfer copies all state in one direction.
func (f *waveForm) transfer(direction func(*executor.Buffer[float32], context.Context, int, []float32) error) error {
	buffers, _ := f.sim.State()
	for i, b := range buffers {
		if err := direction(b, f.ctx, 0, f.state[i]); err != nil {
			return err
		}
	}
	return nil
}

// query reads a cell: in the traditional form from the field, which it downloads.
func (f *waveForm) query(cell image.Point, height *float32) func() error {
	return func() error {
		if f.form == "resident" {
			heights, err := f.sim.Heights(f.ctx, cell)
			if err == nil {
				*height = heights[0]
			}
			return err
		}
		buffers, current := f.sim.State()
		err := buffers[current].Download(f.ctx, 0, f.state[current])
		*height = f.state[current][f.sim.Index(cell.X, cell.Y)]
		return err
	}
}

// Verdict returns an error where a row is wrong.
func (r *WaveResult) Verdict() error {
	if !r.Verified {
		return bench.Unverified("results on the GPU were wrong")
	}
	return nil
}

// Print writes the result for people.
func (r *WaveResult) Print(w io.Writer) {
	r.Header.Print(w, fmt.Sprintf("wave, %dx%d cells in %dx%d tiles on %s", r.Width, r.Height, r.TilesX, r.TilesY, r.GPU))
	fmt.Fprint(w, "\nmicroseconds\ttraditional\tresident\tspeed-up\n")
	for i, traditional := range r.Rows[:len(r.Rows)/2] {
		resident := r.Rows[len(r.Rows)/2+i]
		fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.2f\n", traditional.Name, traditional.Micros, resident.Micros, traditional.Micros/resident.Micros)
	}
	fmt.Fprintln(w)
	bench.PrintVerified(w, r.Verified, "every answer and every cell was verified", "RESULTS WERE WRONG")
}
