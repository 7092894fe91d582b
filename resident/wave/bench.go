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

// Bench compares two forms on the same grid with the same kernels. Traditional:
// the host has the state, and for everything that is done it goes up, is
// dispatched, and comes down again; to answer a question it comes down. Resident:
// the state stays, and only messages and answers travel. It fails with what
// simulation and executor report; where a result is wrong the row says so.
func Bench(ctx context.Context, e *executor.Executor, programs executor.Programs, o Options, repeat int) ([]Row, error) {
	if repeat < 1 {
		return nil, fmt.Errorf("wave: a bench repeated %d times", repeat)
	}
	var rows []Row
	for _, form := range []string{"traditional", "resident"} {
		b, err := newBench(ctx, e, programs, o, form)
		if err != nil {
			return nil, err
		}
		for _, what := range []string{"inject", "query", "step", "frame"} {
			row, err := b.row(what, repeat)
			if err != nil {
				b.sim.Close()
				return nil, fmt.Errorf("wave: bench %s, %s: %w", what, form, err)
			}
			rows = append(rows, row)
		}
		b.sim.Close()
	}
	return rows, nil
}

// bench is one form with a reference that does the same.
type bench struct {
	ctx       context.Context
	form      string
	sim       *Sim
	reference *Reference
	state     [][]float32 // of the traditional form
	pokes     int
	wrong     bool
}

func newBench(ctx context.Context, e *executor.Executor, programs executor.Programs, o Options, form string) (*bench, error) {
	reference, err := NewReference(o)
	if err != nil {
		return nil, err
	}
	sim, err := New(ctx, e, programs, o)
	if err != nil {
		return nil, err
	}
	b := &bench{ctx: ctx, form: form, sim: sim, reference: reference}
	for _, m := range sim.memory.changing() {
		b.state = append(b.state, make([]float32, m.Len()))
	}
	// Everything once before it is timed, which also makes something to see.
	if _, err := b.row("frame", 2); err != nil {
		sim.Close()
		return nil, err
	}
	return b, nil
}

// row times one thing, and then compares every cell.
func (b *bench) row(what string, repeat int) (Row, error) {
	b.wrong = false
	micros := make([]float64, repeat)
	for i := range micros {
		spent, err := b.once(what)
		if err != nil {
			return Row{}, err
		}
		micros[i] = float64(spent) / float64(time.Microsecond)
	}
	field, _, err := b.sim.Field(b.ctx)
	if err != nil {
		return Row{}, err
	}
	verified := !b.wrong && b.reference.Compare(field) == nil
	slices.Sort(micros)
	return Row{what, b.form, micros[repeat/2], repeat, verified}, nil
}

// once does one thing and has the reference follow, untimed.
func (b *bench) once(what string) (time.Duration, error) {
	poke, cell := b.next()
	var height float32
	parts := map[string][]func() error{
		"inject": {b.poke(poke)},
		"query":  {b.query(cell, &height)},
		"step":   {b.step(1)},
		"frame":  {b.poke(poke), b.step(FrameSteps), b.query(cell, &height)},
	}[what]
	start := time.Now()
	for _, part := range parts {
		if err := part(); err != nil {
			return 0, err
		}
	}
	spent := time.Since(start)
	if what == "inject" || what == "frame" {
		if err := b.reference.Poke(poke); err != nil {
			return 0, err
		}
	}
	b.reference.Step(map[string]int{"step": 1, "frame": FrameSteps}[what])
	if what == "query" || what == "frame" {
		want := b.reference.Field()[cell.Y*b.sim.options.Width+cell.X]
		b.wrong = b.wrong || height != want
	}
	return spent, nil
}

// next is where the next poke goes, and the cell to ask for: it comes to the
// whole grid in the end.
func (b *bench) next() (Poke, image.Point) {
	b.pokes++
	w, h := b.sim.options.Width, b.sim.options.Height
	at := image.Pt(b.pokes*37%w, b.pokes*53%h)
	return Poke{at.X, at.Y, 0.5}, image.Pt((at.X+3)%w, at.Y)
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
