package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/shadercache/shadercache/conv2d/imaging"
	"github.com/shadercache/shadercache/demo/wave"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/internal/cli"
)

const runWaveUsage = `Run a 2-D wave equation that stays on the GPU, poke it, take pictures of it.

The grid is cut into tiles. Each owns its cells and exchanges messages with its
four neighbours before a step; the state never leaves the GPU. A poke is a
message too: it raises the surface around a cell and is acknowledged by the tile.
Pokes happen while it runs, before the step that is written behind the @.

With --out a picture is written every so many steps: water at rest is dark,
crests go over orange to cream, troughs over blue to ice. With --verify the CPU
computes the same, and every cell of every picture and of the end is compared:
they have to agree in every bit.

JSON fields: gpu, driver, width, height, tiles_x, tiles_y, border, steps,
pokes [{x, y, amplitude, step}], energy, largest, steps_per_s, frames, out,
verified. energy and largest are of the end; steps_per_s is without pictures and
comparing; verified is null without --verify.

The exit code is 1 when a cell was wrong, or a poke was not acknowledged.`

// waveFlags are the flags of run wave.
type waveFlags struct {
	size, tiles   cli.Pair
	steps, every  int
	pokes         []string
	out           string
	absorb        bool
	scale         float64
	verify        bool
	scheduled     []scheduledPoke
	largestHeight float64
}

// scheduledPoke is a poke before a step.
type scheduledPoke struct {
	wave.Poke
	step int
}

// waveResult is what run wave prints.
type waveResult struct {
	GPU            string     `json:"gpu"`
	Driver         string     `json:"driver"`
	Width          int        `json:"width"`
	Height         int        `json:"height"`
	TilesX         int        `json:"tiles_x"`
	TilesY         int        `json:"tiles_y"`
	Border         string     `json:"border"`
	Steps          uint32     `json:"steps"`
	Pokes          []wavePoke `json:"pokes"`
	Energy         float64    `json:"energy"`
	Largest        float64    `json:"largest"`
	StepsPerSecond float64    `json:"steps_per_s"`
	Frames         int        `json:"frames"`
	Out            string     `json:"out"`
	Verified       *bool      `json:"verified"`
}

type wavePoke struct {
	X         int     `json:"x"`
	Y         int     `json:"y"`
	Amplitude float32 `json:"amplitude"`
	Step      uint32  `json:"step"` // as acknowledged
}

func newRunWave(o *options) *cobra.Command {
	f := waveFlags{size: cli.Pair{X: 512, Y: 512}, tiles: cli.Pair{X: 8, Y: 8}}
	cmd := &cobra.Command{
		Use:                   "wave [--size WxH] [--tiles WxH] [--steps N] [--poke X,Y,HEIGHT[@STEP]]... [--out DIR]",
		DisableFlagsInUseLine: true,
		Short:                 "Run a wave equation that stays on the GPU",
		Long:                  runWaveUsage,
		Example:               "  shadercache run wave --size 512x512 --steps 600 --poke 200,200,1 --poke 320,300,-1@100 --every 20 --out frames --verify",
		Args:                  cli.UsageArgs(cli.NoArguments),
	}
	flags := cmd.Flags()
	flags.Var(&f.size, "size", "cells")
	flags.Var(&f.tiles, "tiles", "tiles, a work group each")
	flags.IntVar(&f.steps, "steps", 600, "steps to do")
	flags.StringArrayVar(&f.pokes, "poke", nil, "raise the surface at X,Y by HEIGHT before step STEP, any number of times (default three of them)")
	flags.IntVar(&f.every, "every", 20, "steps from picture to picture")
	flags.StringVar(&f.out, "out", "", "folder for pictures, made where there is none (default none are taken)")
	flags.BoolVar(&f.absorb, "absorb", false, "borders absorb waves rather than reflect them")
	flags.Float64Var(&f.scale, "scale", 0, "height with the last colour (default an eighth of the highest poke)")
	flags.BoolVar(&f.verify, "verify", false, "compare every cell with the CPU's")
	_ = cmd.MarkFlagDirname("out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.check(); err != nil {
			return cli.Usage(cmd, err)
		}
		if f.out != "" {
			if err := cli.MakeFolder(f.out); err != nil {
				return err
			}
		}
		r, err := o.runWave(f)
		if r == nil {
			return err
		}
		return errors.Join(o.Result(r, r.Print), err)
	}
	return cmd
}

// check reads the pokes and refuses what makes no sense.
func (f *waveFlags) check() error {
	switch {
	case f.steps < 1 || f.steps > 100_000_000:
		return errors.New("--steps must be 1 to 100000000")
	case f.every < 1:
		return errors.New("--every must be at least 1")
	case !(f.scale >= 0):
		return errors.New("--scale must be more than 0")
	}
	if f.pokes == nil {
		w, h := f.size.X, f.size.Y
		f.scheduled = []scheduledPoke{
			{wave.Poke{X: w / 3, Y: h * 2 / 5, Amplitude: 1}, 0},
			{wave.Poke{X: w * 2 / 3, Y: h / 4, Amplitude: -1}, f.steps / 6},
			{wave.Poke{X: w * 3 / 5, Y: h * 3 / 4, Amplitude: 1}, f.steps / 3},
		}
	}
	for _, text := range f.pokes {
		p, err := parsePoke(text)
		if err != nil {
			return err
		}
		if p.step >= f.steps {
			return fmt.Errorf("--poke %s comes after the last of %d steps", text, f.steps)
		}
		f.scheduled = append(f.scheduled, p)
	}
	slices.SortStableFunc(f.scheduled, func(a, b scheduledPoke) int { return a.step - b.step })
	for _, p := range f.scheduled {
		f.largestHeight = max(f.largestHeight, float64(max(p.Amplitude, -p.Amplitude)))
	}
	if f.scale == 0 {
		f.scale = max(f.largestHeight, 1e-6) / 8
	}
	return nil
}

// parsePoke reads "X,Y,HEIGHT" or "X,Y,HEIGHT@STEP".
func parsePoke(text string) (p scheduledPoke, err error) {
	wrong := fmt.Errorf("--poke %q is not X,Y,HEIGHT or X,Y,HEIGHT@STEP", text)
	place, step, later := strings.Cut(text, "@")
	if later {
		if p.step, err = strconv.Atoi(step); err != nil || p.step < 0 {
			return p, wrong
		}
	}
	parts := strings.Split(place, ",")
	if len(parts) != 3 {
		return p, wrong
	}
	x, errX := strconv.Atoi(parts[0])
	y, errY := strconv.Atoi(parts[1])
	height, errHeight := strconv.ParseFloat(parts[2], 32)
	if errors.Join(errX, errY, errHeight) != nil {
		return p, wrong
	}
	p.Poke = wave.Poke{X: x, Y: y, Amplitude: float32(height)}
	return p, nil
}

func (f *waveFlags) options() wave.Options {
	o := wave.Options{Width: f.size.X, Height: f.size.Y, TilesX: f.tiles.X, TilesY: f.tiles.Y}
	if f.absorb {
		o.Border = wave.Absorbing
	}
	return o
}

// runWave runs the simulation. Where a cell was wrong the result comes with an
// error.
func (o *options) runWave(f waveFlags) (r *waveResult, err error) {
	ctx, stop := cli.Interruptible()
	defer stop()
	g, err := o.OpenExecutor(executor.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	sim, err := wave.New(ctx, g.Executor, g.Cache, f.options())
	if err != nil {
		return nil, err
	}
	defer sim.Close()
	w := &waveRun{ctx: ctx, flags: f, sim: sim, bar: o.NewProgress(f.steps, "steps"), result: &waveResult{
		GPU: g.Name(), Driver: g.Driver(),
		Width: f.size.X, Height: f.size.Y, TilesX: f.tiles.X, TilesY: f.tiles.Y, Border: f.options().Border.String(),
		Pokes: []wavePoke{}, Out: f.out,
	}}
	if f.verify {
		if w.reference, err = wave.NewReference(f.options()); err != nil {
			return nil, err
		}
	}
	w.pictures.SetLimit(2)
	if err := errors.Join(w.run(), w.pictures.Wait()); err != nil {
		if !errors.Is(err, wave.ErrDiffers) {
			return nil, err
		}
		return w.result, cli.Hint(err, "the figures mean nothing; the driver may be broken")
	}
	return w.result, nil
}

// waveRun is one run, with the reference where it is asked for.
type waveRun struct {
	ctx       context.Context
	flags     waveFlags
	sim       *wave.Sim
	reference *wave.Reference
	bar       *progressbar.ProgressBar
	pictures  errgroup.Group // being written
	stepping  time.Duration
	result    *waveResult
}

// stepsWithoutPictures is how many steps are done between two looks at the
// progress where no pictures are taken.
const stepsWithoutPictures = 128

// run goes from event to event: a poke, a picture, the end.
func (w *waveRun) run() error {
	pokes, every := w.flags.scheduled, w.flags.every
	if w.flags.out == "" {
		every = stepsWithoutPictures
	}
	for step := 0; ; {
		for len(pokes) > 0 && pokes[0].step == step {
			if err := w.poke(pokes[0].Poke); err != nil {
				return err
			}
			pokes = pokes[1:]
		}
		if step == w.flags.steps {
			break
		}
		next := min(step+every-step%every, w.flags.steps)
		if len(pokes) > 0 {
			next = min(next, pokes[0].step)
		}
		if err := w.step(next - step); err != nil {
			return err
		}
		step = next
		if w.flags.out != "" && step%w.flags.every == 0 {
			if err := w.picture(); err != nil {
				return err
			}
		}
	}
	return w.finish()
}

func (w *waveRun) poke(p wave.Poke) error {
	acks, err := w.sim.Poke(w.ctx, p)
	if err != nil {
		return err
	}
	w.result.Pokes = append(w.result.Pokes, wavePoke{p.X, p.Y, p.Amplitude, acks[0].Step})
	if w.reference != nil {
		return w.reference.Poke(p)
	}
	return nil
}

func (w *waveRun) step(n int) error {
	start := time.Now()
	if err := w.sim.Step(w.ctx, n); err != nil {
		return err
	}
	w.stepping += time.Since(start)
	if w.reference != nil {
		w.reference.Step(n)
	}
	return w.bar.Add(n)
}

// picture takes a picture, compares it, and has it written while the simulation
// goes on.
func (w *waveRun) picture() error {
	field, step, err := w.field()
	if err != nil {
		return err
	}
	w.result.Frames++
	file := filepath.Join(w.flags.out, fmt.Sprintf("wave-%06d.png", step))
	w.pictures.Go(func() error {
		return imaging.WritePNG(file, wave.Picture(field, w.flags.size.X, w.flags.scale))
	})
	return nil
}

// field is the surface, compared with the reference.
func (w *waveRun) field() ([]float32, uint32, error) {
	field, step, err := w.sim.Field(w.ctx)
	if err != nil || w.reference == nil {
		return field, step, err
	}
	err = w.reference.Compare(field)
	verified := err == nil
	w.result.Verified = &verified
	return field, step, err
}

// finish takes stock.
func (w *waveRun) finish() error {
	tiles, err := w.sim.Tiles(w.ctx)
	if err != nil {
		return err
	}
	r := w.result
	for _, t := range tiles {
		r.Energy += float64(t.Energy)
		r.Largest = max(r.Largest, float64(t.Largest))
	}
	r.Steps = w.sim.Steps()
	r.StepsPerSecond = float64(r.Steps) / w.stepping.Seconds()
	_, _, err = w.field()
	return errors.Join(err, w.bar.Finish())
}

func (r *waveResult) Print(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n", r.GPU)
	fmt.Fprintf(w, "cells\t%dx%d in %dx%d tiles, %s borders\n", r.Width, r.Height, r.TilesX, r.TilesY, r.Border)
	fmt.Fprintf(w, "steps\t%d, %.0f a second\n", r.Steps, r.StepsPerSecond)
	for _, p := range r.Pokes {
		fmt.Fprintf(w, "poke\tat %d,%d by %g, acknowledged at step %d\n", p.X, p.Y, p.Amplitude, p.Step)
	}
	fmt.Fprintf(w, "energy\t%.6g\nlargest\t%.4g\n", r.Energy, r.Largest)
	if r.Out != "" {
		fmt.Fprintf(w, "pictures\t%d in %s\n", r.Frames, r.Out)
	}
	switch {
	case r.Verified == nil:
		fmt.Fprint(w, "verified\tnot asked for, see --verify\n")
	case *r.Verified:
		fmt.Fprint(w, "verified\tyes, every cell as the CPU has it\n")
	default:
		fmt.Fprint(w, "verified\tNO, CELLS ARE WRONG\n")
	}
}
