package group

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/startup"
	"github.com/shadercache/shadercache/lab/bench/measure"
)

// ChildCommand is the hidden command below bench that prints a StartRow.
const ChildCommand = "devices-child"

// child is a process that loads programs on several GPUs.
type child struct {
	began    time.Time // when the process did
	programs int
	row      *StartRow
}

// RunChild loads programs on the GPUs of the flags, all of them at the same time, or on the
// first alone, in this process.
func RunChild(o *cli.Options, programs int, first bool) (row *StartRow, err error) {
	c := &child{began: startup.ProcessStart(), programs: programs, row: &StartRow{Programs: programs, Verified: true}}
	if first {
		c.row.Scenario = "one"
		return c.row, c.runOne(o)
	}
	c.row.Scenario = "all"
	return c.row, c.runAll(o)
}

// runOne loads the programs as a process with one GPU does.
func (c *child) runOne(o *cli.Options) (err error) {
	names, err := o.DeviceNames()
	if err != nil {
		return err
	}
	own := *o
	if own.Device = ""; len(names) > 0 {
		own.Device = names[0]
	}
	var work *startup.Work
	var preparing errgroup.Group
	preparing.Go(func() (err error) {
		work, err = startup.NewWork(c.programs)
		return err
	})
	gpu, err := own.OpenGPU(cache.Options{})
	if err := errors.Join(err, preparing.Wait()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gpu.Close()) }()
	c.grow(1)
	c.opened(0, gpu.GPU)
	if err := work.Run(gpu); err != nil {
		return err
	}
	c.done(0)
	c.end([]*startup.Work{work}, gpu.GPU)
	return nil
}

// runAll loads the programs on every GPU as soon as that is open.
func (c *child) runAll(o *cli.Options) (err error) {
	var first *startup.Work
	var preparing errgroup.Group
	preparing.Go(func() (err error) {
		first, err = startup.NewWork(c.programs)
		return err
	})
	all, err := o.OpenAll(shadercache.Options{NoExecutor: true})
	if err := errors.Join(err, preparing.Wait()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, all.Close()) }()
	c.grow(all.Len())
	work, gpus := make([]*startup.Work, all.Len()), make([]*shadercache.GPU, all.Len())
	var running errgroup.Group
	for i := range all.Len() {
		running.Go(func() (err error) {
			if work[i] = first; i > 0 {
				work[i], err = startup.NewWork(c.programs) // while the context is made
			}
			if err == nil {
				<-all.Opened(i) // not earlier, as Wait would have it
				gpus[i], err = all.Wait(context.Background(), i)
			}
			if err != nil {
				return err
			}
			c.opened(i, gpus[i])
			err = work[i].Run(&cli.GPU{GPU: gpus[i]})
			c.done(i)
			return err
		})
	}
	if err := running.Wait(); err != nil {
		return err
	}
	c.end(work, gpus...)
	return nil
}

// grow makes room for the figures of n devices.
func (c *child) grow(n int) {
	c.row.Contexts, c.row.Opened, c.row.Loads = make([]float64, n), make([]float64, n), make([]float64, n)
}

func (c *child) opened(i int, gpu *shadercache.GPU) {
	c.row.Contexts[i] = measure.Millis(gpu.ContextTime)
	if i == 0 {
		c.row.GPU, c.row.Driver = gpu.Context.Info().GPU, gpu.Context.Info().Driver
	}
	c.row.Opened[i] = measure.Millis(time.Since(c.began))
}

func (c *child) done(i int) { c.row.Loads[i] = measure.Millis(time.Since(c.began)) - c.row.Opened[i] }

// end completes the row when all results are there.
func (c *child) end(work []*startup.Work, gpus ...*shadercache.GPU) {
	for i := range work {
		finished := c.row.Opened[i] + c.row.Loads[i]
		if i == 0 {
			c.row.FirstDone = finished
		}
		c.row.AllDone = max(c.row.AllDone, finished)
		c.row.Compiles += gpus[i].Cache.Stats().Compiles
		c.row.Verified = c.row.Verified && work[i].Verify()
	}
}

// starts measures processes with one device and with all, in turn, in a directory that a
// process before them has filled.
func (r *run) starts() error {
	dir, err := os.MkdirTemp("", "shadercache-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if _, err := r.child(dir, false); err != nil {
		return err
	}
	runs := map[bool][]StartRow{}
	for range max(r.Repeat, leastStarts) {
		for _, first := range []bool{true, false} {
			row, err := r.child(dir, first)
			if err != nil {
				return err
			}
			runs[first] = append(runs[first], *row)
		}
	}
	for _, first := range []bool{true, false} {
		row := measure.MedianBy(runs[first], func(row StartRow) float64 { return row.AllDone })
		for _, each := range runs[first] {
			r.result.Verified = r.result.Verified && each.Verified
		}
		r.result.GPU, r.result.Driver = row.GPU, row.Driver
		r.result.Devices = len(row.Opened)
		r.result.Starts = append(r.result.Starts, row)
	}
	return nil
}

// leastStarts is the number of processes of each kind: single starts vary by a half.
const leastStarts = 5

// child runs RunChild in a process of this executable.
func (r *run) child(dir string, first bool) (*StartRow, error) {
	cmd, err := r.cli.ChildCommand(r.ctx, dir, []string{"bench", ChildCommand}, "--programs", strconv.Itoa(r.Programs), "--first="+strconv.FormatBool(first))
	if err != nil {
		return nil, err
	}
	cmd.Env = append(os.Environ(), startup.StartedNow())
	row := &StartRow{}
	return row, cli.ReadChild(r.ctx, cmd, row)
}
