package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/conv2d/imaging"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/lab/demo/wave"
)

const runWaveUsage = `Run a 2-D wave equation that stays on the GPU, poke it, take pictures of it.

The grid is cut into tiles. Each owns its cells and exchanges messages with its
four neighbours before a step; the state never leaves the GPU. A poke is a
message too: it raises the surface around a cell and is acknowledged by the
tile. Pokes happen while it runs, before the step behind the @.

With --out a picture is written every --every steps: water at rest is dark,
crests are orange to cream, troughs blue to ice. With --verify the CPU computes
the same, and every cell of every picture and of the end is compared: every bit
has to be equal.

With --checkpoint the wave is a session that is saved every so often, at the
end, and when it is interrupted. However its process ends, --resume continues
from the last checkpoint until --steps, also on another GPU: give it the same
size, tiles, borders and pokes, with numbers of steps that are even.

The exit code is 1 when a cell was wrong, or a poke was not acknowledged.`

// waveFlags are the flags of run wave.
type waveFlags struct {
	Size   Pair     `flag:"size" help:"cells"`
	Tiles  Pair     `flag:"tiles" help:"tiles, a work group each"`
	Steps  int      `flag:"steps" help:"steps to do"`
	Pokes  []string `flag:"poke" help:"raise the surface at X,Y by HEIGHT before step STEP, any number of times (default three, before steps 0, 100 and 200)"`
	Every  int      `flag:"every" help:"steps from picture to picture"`
	Out    string   `flag:"out" help:"folder for pictures, made if it is missing (default no pictures)" files:"/"`
	Absorb bool     `flag:"absorb" help:"borders absorb waves rather than reflect them"`
	Scale  float64  `flag:"scale" help:"height with the last colour (default an eighth of the highest poke)" must:"above 0"`
	Verify bool     `flag:"verify" help:"compare every cell with the CPU's"`
	waveCheckpoints

	scheduled []wave.ScheduledPoke // of Pokes
}

// waveResult is what run wave prints.
type waveResult struct {
	GPU            string     `json:"gpu"`
	Driver         string     `json:"driver"`
	Width          int        `json:"width"`   // cells or pixels across
	Height         int        `json:"height"`  // cells or pixels down
	TilesX         int        `json:"tiles_x"` // work groups across
	TilesY         int        `json:"tiles_y"` // work groups down
	Border         string     `json:"border"`
	Steps          uint32     `json:"steps"` // that were done
	Pokes          []wavePoke `json:"pokes"`
	Energy         float64    `json:"energy"`      // at the end
	Largest        float64    `json:"largest"`     // height at the end
	StepsPerSecond float64    `json:"steps_per_s"` // without pictures and comparing
	Frames         int        `json:"frames"`      // pictures
	Out            string     `json:"out"`         // the file that was written
	Verified       *bool      `json:"verified"`    // null without --verify
	waveSaved
}

// wavePoke is a poke that a tile acknowledged.
type wavePoke struct {
	X         int     `json:"x"`
	Y         int     `json:"y"`
	Amplitude float32 `json:"amplitude"`
	Step      uint32  `json:"step"` // as acknowledged
}

func newRunWave(o *options) cli.Command {
	f := waveFlags{Size: Pair{X: 512, Y: 512}, Tiles: Pair{X: 8, Y: 8}, Steps: 600, Every: 20, waveCheckpoints: waveCheckpoints{CheckpointEvery: time.Second}}
	return cli.Command{
		Use:     "wave [--size WxH] [--tiles WxH] [--steps N] [--poke X,Y,HEIGHT[@STEP]]... [--out DIR]",
		Short:   "Run a wave equation that stays on the GPU",
		Long:    runWaveUsage,
		Example: "  shadercache-lab run wave --size 512x512 --steps 600 --poke 200,200,1 \\\n    --poke 320,300,-1@100 --every 20 --out frames --verify",
		Result:  waveResult{},
		Flags:   &f,
		Run: func(cmd *cobra.Command, _ []string) (cli.Result, error) {
			if err := cmp.Or(cli.RefuseUnused(cmd, f.Checkpoint != "", "--checkpoint", "checkpoint-every"), cli.RefuseUnused(cmd, f.Out != "", "pictures, with --out", "every", "scale")); err != nil {
				return nil, err
			}
			if err := f.check(); err != nil {
				return nil, cli.Usage(cmd, err)
			}
			if f.Out != "" {
				if err := cli.MakeFolder(f.Out); err != nil {
					return nil, err
				}
			}
			r, err := o.runWave(f)
			if r == nil {
				return nil, err
			}
			return nil, errors.Join(o.Result(r, r.Print), err)
		},
	}
}

// check checks the command line and parses the pokes.
func (f *waveFlags) check() error {
	switch {
	case f.Steps < 1 || f.Steps > 100_000_000:
		return errors.New("--steps must be 1 to 100000000")
	case f.Every < 1:
		return errors.New("--every must be at least 1")
	case !(f.Scale >= 0):
		return errors.New("--scale must be more than 0")
	}
	if f.Pokes == nil {
		w, h := f.Size.X, f.Size.Y
		// The same ones for any number of steps, so that --resume finds them: those after
		// the last step are left out.
		f.scheduled = []wave.ScheduledPoke{
			{Impulse: wave.Impulse{X: w / 3, Y: h * 2 / 5, Amplitude: 1}},
			{Impulse: wave.Impulse{X: w * 2 / 3, Y: h / 4, Amplitude: -1}, Step: 100},
			{Impulse: wave.Impulse{X: w * 3 / 5, Y: h * 3 / 4, Amplitude: 1}, Step: 200},
		}
	}
	for _, text := range f.Pokes {
		p, err := wave.ParseScheduledPoke(text)
		if err != nil {
			return fmt.Errorf("--poke %w", err)
		}
		if p.Step >= f.Steps {
			return fmt.Errorf("--poke %s comes after the last of %d steps", text, f.Steps)
		}
		f.scheduled = append(f.scheduled, p)
	}
	if err := f.checkEven(); err != nil {
		return err
	}
	if f.Scale == 0 {
		highest := float32(1e-6)
		for _, p := range f.scheduled {
			highest = max(highest, p.Amplitude, -p.Amplitude)
		}
		f.Scale = float64(highest) / 8
	}
	return nil
}

func (f *waveFlags) options() wave.Options {
	o := wave.Options{Width: f.Size.X, Height: f.Size.Y, TilesX: f.Tiles.X, TilesY: f.Tiles.Y}
	if f.Absorb {
		o.Border = wave.Absorbing
	}
	return o
}

// runWave runs the simulation. Where a cell was wrong the result comes with an error.
func (o *options) runWave(f waveFlags) (r *waveResult, err error) {
	ctx, stop := cli.Interruptible()
	defer stop()
	g, err := o.OpenExecutor(executor.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	e := wave.Experiment{Steps: f.Steps, Pokes: f.scheduled, Every: f.Every}
	sim, end, err := f.simulation(ctx, g, &e)
	if err != nil {
		return nil, err
	}
	defer func() {
		saved, failed := end()
		if err = errors.Join(err, failed); r != nil {
			r.waveSaved = saved
		}
	}()
	bar := o.NewProgress(f.Steps-e.Done, "steps")
	e.Progress = bar.Add
	if f.Verify {
		if e.Reference, err = wave.NewReference(f.options()); err != nil {
			return nil, err
		}
	}
	var pictures errgroup.Group // written while the simulation runs
	pictures.SetLimit(2)
	if f.Out != "" {
		e.Frame = func(field []float32, step uint32) error {
			file := filepath.Join(f.Out, fmt.Sprintf("wave-%06d.png", step))
			pictures.Go(func() error { return imaging.WritePNG(file, wave.Picture(field, f.Size.X, f.Scale)) })
			return nil
		}
	}
	done, err := e.Run(ctx, sim)
	if err = errors.Join(err, bar.Finish(), pictures.Wait()); err != nil && !errors.Is(err, wave.ErrDiffers) {
		return nil, err
	}
	if err != nil {
		err = cli.Hint(err, "the figures mean nothing; the driver may be broken")
	}
	r = newWaveResult(g, f, done)
	if done.Stepping > 0 {
		r.StepsPerSecond = float64(int(done.Steps)-e.Done) / done.Stepping.Seconds()
	}
	return r, err
}

func newWaveResult(g *cli.GPU, f waveFlags, done wave.Outcome) *waveResult {
	r := &waveResult{
		GPU: g.Name(), Driver: g.Driver(), Width: f.Size.X, Height: f.Size.Y, TilesX: f.Tiles.X, TilesY: f.Tiles.Y,
		Border: f.options().Border.String(), Steps: done.Steps, Pokes: []wavePoke{}, Energy: done.Energy, Largest: done.Largest,
		Frames: done.Frames, Out: f.Out, Verified: done.Verified,
	}
	for _, p := range done.Pokes {
		r.Pokes = append(r.Pokes, wavePoke{p.X, p.Y, p.Amplitude, p.Step})
	}
	return r
}

func (r *waveResult) Print(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n", r.GPU)
	fmt.Fprintf(w, "cells\t%dx%d in %dx%d tiles, %s borders\n", r.Width, r.Height, r.TilesX, r.TilesY, r.Border)
	fmt.Fprintf(w, "steps\t%d, %.0f a second\n", r.Steps, r.StepsPerSecond)
	r.waveSaved.print(w)
	for _, p := range r.Pokes {
		fmt.Fprintf(w, "poke\tat %d,%d by %g, acknowledged at step %d\n", p.X, p.Y, p.Amplitude, p.Step)
	}
	fmt.Fprintf(w, "energy\t%.6g\nlargest\t%.4g\n", r.Energy, r.Largest)
	if r.Out != "" {
		fmt.Fprintf(w, "pictures\t%d in %s\n", r.Frames, r.Out)
	}
	switch {
	case r.Verified == nil:
		fmt.Fprint(w, "verified\tno, see --verify\n")
	case *r.Verified:
		fmt.Fprint(w, "verified\tyes, every cell equals the CPU's\n")
	default:
		fmt.Fprint(w, "verified\tNO, CELLS ARE WRONG\n")
	}
}
