//go:build linux

package wave

import (
	"context"
	"fmt"
	"image"
	"slices"
	"time"

	"github.com/shadercache/shadercache/executor"
)

// Row is one figure of Bench.
//
//	name    what is timed, the median of Repeat
//	inject  a poke, until it is acknowledged and, traditionally, back on the host
//	query   the height of one cell, as it is now
//	step    one step, until it is done
//	frame   a poke, FrameSteps steps and a query: 60 times a second leaves 16,667 us
type Row struct {
	Name     string  `json:"name"`
	Form     string  `json:"form"` // traditional or resident
	Micros   float64 `json:"us"`
	Repeat   int     `json:"repeat"`
	Verified bool    `json:"verified"` // every answer, and every cell afterwards
}

// FrameSteps is how many steps a frame of Bench has.
const FrameSteps = 8

// BenchOptions say what Bench does.
type BenchOptions struct {
	Options

	// Repeat is how often each thing is done. It must be at least 1.
	Repeat int

	// Progress is called after each thing that was done, on the CPU or by a form,
	// if it is set.
	Progress func(done, of int)
}

// Bench compares two forms on the same grid with the same kernels. Traditional:
// the host has the state, and for everything that is done it goes up, is
// dispatched, and comes down again; to answer a question it comes down. Resident:
// the state stays, and only messages and answers travel.
//
// The CPU does everything once before anything is timed, on all cores, and keeps
// its answers and four fields: both forms are compared with them, and nothing but
// the form at work runs meanwhile. Bench fails with what simulation and executor
// report; where a result is wrong the row says so.
func Bench(ctx context.Context, e *executor.Executor, programs executor.Programs, o BenchOptions) ([]Row, error) {
	if o.Repeat < 1 {
		return nil, fmt.Errorf("wave: a bench repeated %d times", o.Repeat)
	}
	of, done := (1+len(benchForms))*(warmUp+len(benchThings)*o.Repeat), 0
	step := func() {
		if done++; o.Progress != nil {
			o.Progress(done, of)
		}
	}
	foreseen, err := foresee(ctx, o, step)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, form := range benchForms {
		b, err := newBench(ctx, e, programs, o.Options, form)
		if err != nil {
			return nil, err
		}
		for i, want := range foreseen {
			row, err := b.row(want, step)
			if err != nil {
				b.sim.Close()
				return nil, fmt.Errorf("wave: bench %s, %s: %w", want.what, form, err)
			}
			if i > 0 {
				rows = append(rows, row)
			}
		}
		b.sim.Close()
	}
	return rows, nil
}

var (
	benchForms  = []string{"traditional", "resident"}
	benchThings = []string{"inject", "query", "step", "frame"}
)

// warmUp is how many frames are done before anything is timed, which also makes
// something to see.
const warmUp = 2

// foreseen is a row as the CPU has it.
type foreseen struct {
	what    string
	pokes   []Poke // a repeat each, as all of these
	cells   []image.Point
	heights []float32
	after   *Reference // as it was then
}

// steps are how many a thing has.
func (f *foreseen) steps() int { return map[string]int{"step": 1, "frame": FrameSteps}[f.what] }

// poked and asked say what a thing has besides steps.
func (f *foreseen) poked() bool { return f.what == "inject" || f.what == "frame" }
func (f *foreseen) asked() bool { return f.what == "query" || f.what == "frame" }

// foresee does on the CPU what every form will do: the warm-up and then the rows.
func foresee(ctx context.Context, o BenchOptions, step func()) ([]*foreseen, error) {
	r, err := NewReference(o.Options)
	if err != nil {
		return nil, err
	}
	list := []*foreseen{{what: "frame", pokes: make([]Poke, warmUp)}}
	for _, what := range benchThings {
		list = append(list, &foreseen{what: what, pokes: make([]Poke, o.Repeat)})
	}
	number := 0
	for _, f := range list {
		for i := range f.pokes {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			number++
			f.foresee(r, i, number)
			step()
		}
		f.after = r.clone()
	}
	return list, nil
}

// foresee does a thing for the i-th time, the number-th of all.
func (f *foreseen) foresee(r *Reference, i, number int) {
	w, h := r.options.Width, r.options.Height
	at := image.Pt(number*37%w, number*53%h) // comes to the whole grid in the end
	cell := image.Pt((at.X+3)%w, at.Y)
	f.pokes[i] = Poke{at.X, at.Y, 0.5}
	if f.poked() {
		r.poke(f.pokes[i])
	}
	r.Step(f.steps())
	f.cells, f.heights = append(f.cells, cell), append(f.heights, r.u[cell.Y*w+cell.X])
}

// bench is one form.
type bench struct {
	ctx   context.Context
	form  string
	sim   *Sim
	state [][]float32 // of the traditional form
}

func newBench(ctx context.Context, e *executor.Executor, programs executor.Programs, o Options, form string) (*bench, error) {
	sim, err := New(ctx, e, programs, o)
	if err != nil {
		return nil, err
	}
	b := &bench{ctx: ctx, form: form, sim: sim}
	for _, m := range sim.memory.changing() {
		b.state = append(b.state, make([]float32, m.Len()))
	}
	return b, nil
}

// row times one thing, compares every answer, and at last every cell. It calls
// step after each repeat.
func (b *bench) row(want *foreseen, step func()) (Row, error) {
	repeat := len(want.pokes)
	verified, micros := true, make([]float64, repeat)
	for i := range micros {
		spent, height, err := b.once(want, i)
		if err != nil {
			return Row{}, err
		}
		micros[i] = float64(spent) / float64(time.Microsecond)
		verified = verified && (!want.asked() || height == want.heights[i])
		step()
	}
	field, _, err := b.sim.Field(b.ctx)
	if err != nil {
		return Row{}, err
	}
	verified = verified && want.after.Compare(field) == nil
	slices.Sort(micros)
	return Row{want.what, b.form, micros[repeat/2], repeat, verified}, nil
}

// once does a thing for the i-th time, and returns the height that it asked for.
func (b *bench) once(want *foreseen, i int) (spent time.Duration, height float32, err error) {
	var parts []func() error
	if want.poked() {
		parts = append(parts, b.poke(want.pokes[i]))
	}
	if n := want.steps(); n > 0 {
		parts = append(parts, b.step(n))
	}
	if want.asked() {
		parts = append(parts, b.query(want.cells[i], &height))
	}
	start := time.Now()
	for _, part := range parts {
		if err := part(); err != nil {
			return 0, 0, err
		}
	}
	return time.Since(start), height, nil
}

func (b *bench) poke(p Poke) func() error {
	return b.inForm(func() error {
		_, err := b.sim.Poke(b.ctx, p)
		return err
	})
}

func (b *bench) step(n int) func() error {
	return b.inForm(func() error { return b.sim.Step(b.ctx, n) })
}

// inForm is work, in the traditional form with all state going up before it and
// coming down after it.
func (b *bench) inForm(work func() error) func() error {
	if b.form == "resident" {
		return work
	}
	return func() error {
		if err := b.transfer((*executor.Buffer[float32]).Upload); err != nil {
			return err
		}
		if err := work(); err != nil {
			return err
		}
		return b.transfer((*executor.Buffer[float32]).Download)
	}
}

func (b *bench) transfer(way func(*executor.Buffer[float32], context.Context, int, []float32) error) error {
	for i, m := range b.sim.memory.changing() {
		if err := way(m, b.ctx, 0, b.state[i]); err != nil {
			return err
		}
	}
	return nil
}

// query reads a cell: traditionally in the field that comes down for it.
func (b *bench) query(cell image.Point, height *float32) func() error {
	return func() error {
		if b.form == "resident" {
			heights, err := b.sim.Heights(b.ctx, cell)
			if err == nil {
				*height = heights[0]
			}
			return err
		}
		now := b.sim.now
		err := b.sim.memory.fields[now].Download(b.ctx, 0, b.state[now])
		*height = b.state[now][b.sim.options.index(cell.X, cell.Y)]
		return err
	}
}
