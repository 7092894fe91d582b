package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/demo/wave"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/internal/cli"
)

const benchWaveUsage = `Compare two forms of a simulation: the same grid, the same kernels.

In the traditional form the host has the state: for everything that is done, it
goes up, is dispatched, and comes down again. In the resident form the state
stays on the GPU, and only messages and answers travel.

What is timed, in microseconds, as the median of --repeat:
  inject  a poke, until it is acknowledged and, traditionally, back on the host
  query   the height of one cell as it is now
  step    one step, until it is done
  frame   a poke, 8 steps and a query: 60 times a second leaves 16,667

Every answer, and every cell after each row, is compared with the CPU's. The CPU
does all of it once, on all cores, before anything is timed.

JSON fields: workload, gpu, driver, ` + cli.OriginFields + `,
width, height, tiles_x, tiles_y, rows [{name,
form, us, repeat, verified}], verified.

The exit code is 1 when a result was wrong.`

// waveBenchResult is what bench wave prints.
type waveBenchResult struct {
	Workload string     `json:"workload"`
	GPU      string     `json:"gpu"`
	Driver   string     `json:"driver"`
	Origin   cli.Origin `json:"origin"`
	Width    int        `json:"width"`
	Height   int        `json:"height"`
	TilesX   int        `json:"tiles_x"`
	TilesY   int        `json:"tiles_y"`
	Rows     []wave.Row `json:"rows"`
	Verified bool       `json:"verified"`
}

func newBenchWave(o *options) *cobra.Command {
	size, tiles := cli.Pair{X: 512, Y: 512}, cli.Pair{X: 16, Y: 16}
	repeat := 100
	cmd := &cobra.Command{
		Use:                   "wave [--size WxH] [--tiles WxH] [--repeat N]",
		DisableFlagsInUseLine: true,
		Short:                 "Compare a simulation that stays on the GPU with one that does not",
		Long:                  benchWaveUsage,
		Example:               "  shadercache bench wave --size 512x512 --json",
		Args:                  cli.UsageArgs(cli.NoArguments),
	}
	flags := cmd.Flags()
	flags.Var(&size, "size", "cells")
	flags.Var(&tiles, "tiles", "tiles, a work group each")
	flags.IntVar(&repeat, "repeat", repeat, "times that each thing is done")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if repeat < 1 || repeat > 100_000 {
			return cli.Usage(cmd, errors.New("--repeat must be 1 to 100000"))
		}
		r := &waveBenchResult{Workload: "wave", Width: size.X, Height: size.Y, TilesX: tiles.X, TilesY: tiles.Y}
		return o.Show(r, r.run(o, repeat))
	}
	return cmd
}

func (r *waveBenchResult) run(o *options, repeat int) (err error) {
	ctx, stop := cli.Interruptible()
	defer stop()
	g, err := o.OpenExecutor(executor.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	r.GPU, r.Driver, r.Origin = g.Name(), g.Driver(), cli.NewOrigin()
	bar := o.NewProgress(0, "wave")
	r.Rows, err = wave.Bench(ctx, g.Executor, g.Cache, wave.BenchOptions{
		Options: wave.Options{Width: r.Width, Height: r.Height, TilesX: r.TilesX, TilesY: r.TilesY},
		Repeat:  repeat,
		Progress: func(done, of int) {
			bar.ChangeMax(of)
			_ = bar.Set(done)
		},
	})
	_ = bar.Finish()
	r.Verified = err == nil
	for _, row := range r.Rows {
		r.Verified = r.Verified && row.Verified
	}
	return err
}

func (r *waveBenchResult) Verdict() error {
	if !r.Verified {
		return unverified("results on the GPU were wrong")
	}
	return nil
}

func (r *waveBenchResult) Print(w io.Writer) {
	fmt.Fprintf(w, "wave, %dx%d cells in %dx%d tiles on %s\ndriver %s\n%s\n\n", r.Width, r.Height, r.TilesX, r.TilesY, r.GPU, r.Driver, r.Origin)
	fmt.Fprint(w, "microseconds\ttraditional\tresident\tspeed-up\n")
	for i, traditional := range r.Rows[:len(r.Rows)/2] {
		resident := r.Rows[len(r.Rows)/2+i]
		fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.2f\n", traditional.Name, traditional.Micros, resident.Micros, traditional.Micros/resident.Micros)
	}
	if r.Verified {
		fmt.Fprintln(w, "\nevery answer and every cell was verified")
	} else {
		fmt.Fprintln(w, "\nRESULTS WERE WRONG")
	}
}
