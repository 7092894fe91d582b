package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/tune"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/internal/bench/kernels"
	"github.com/shadercache/shadercache/internal/cli"
	"github.com/shadercache/shadercache/shader"
)

// tuneDevice is a GPU that measures.
type tuneDevice struct {
	Device      string        `json:"device"`       // that chooses it with --device; "" = the one that is used without
	GPU         string        `json:"gpu"`          // its name
	Driver      string        `json:"driver"`       // its name and build
	Folder      string        `json:"folder"`       // in the cache directory; GPUs with one folder divide the problems
	DriverCache string        `json:"driver_cache"` // where the driver's own cache is, and what it held
	Measured    int           `json:"measured"`     // problems
	Busy        time.Duration `json:"busy_ns"`      // the time that they took
	Error       string        `json:"error"`        // why it did not measure, or no more
}

// tuner is an open GPU that measures.
type tuner struct {
	*cli.GPU
	device *tuneDevice
	turn   *sync.Mutex // of the GPU: contexts on one would disturb each other's times
}

// tuning is a run of tune.
type tuning struct {
	o      *options
	flags  tuneFlags
	shapes []conv2d.Shape
	result *tuneResult
}

// openTuners opens the GPUs of --device. One of several that cannot be opened has an error.
func (t *tuning) openTuners(ctx context.Context) (all *shadercache.GPUs, tuners []tuner, err error) {
	open := shadercache.Options{NoExecutor: true, Cache: cache.Options{FillOnly: true}}
	if t.o.Device == "" {
		open.Devices = []string{""}
	}
	if all, err = t.o.OpenAll(open); err != nil {
		return nil, nil, err
	}
	t.result.Devices = make([]tuneDevice, all.Len())
	turns := map[int]*sync.Mutex{}
	for i := range all.Len() {
		device := &t.result.Devices[i]
		device.Device = all.Device(i)
		gpu, err := all.Wait(ctx, i)
		if err != nil {
			device.Error = err.Error()
			continue
		}
		g := &cli.GPU{GPU: gpu}
		device.GPU, device.Driver, device.DriverCache = g.Name(), g.Driver(), g.DriverCacheState()
		device.Folder = gpu.Context.Fingerprint().DirName()
		tuners = append(tuners, tuner{g, device, turnOf(turns, device.Device)})
	}
	return all, tuners, nil
}

// turnOf returns what contexts on the GPU of a name share.
func turnOf(turns map[int]*sync.Mutex, name string) *sync.Mutex {
	index := -1
	if list, err := glctx.Devices(); err == nil && name != "" {
		if d, err := glctx.FindDevice(list, name); err == nil {
			index = d.Index
		}
	}
	if turns[index] == nil {
		turns[index] = &sync.Mutex{}
	}
	return turns[index]
}

// byModel returns the tuners of each model, in their order.
func byModel(tuners []tuner) (models [][]tuner) {
	at := map[shader.Digest]int{}
	for _, t := range tuners {
		driver := t.Context.Fingerprint().Digest()
		i, known := at[driver]
		if !known {
			i = len(models)
			at[driver], models = i, append(models, nil)
		}
		models[i] = append(models[i], t)
	}
	return models
}

// tuneModel tunes the problems on GPUs of one model, which divide them, and appends a line
// for each. Their figures are for all of them.
func (t *tuning) tuneModel(ctx context.Context, tuners []tuner) error {
	first := tuners[0]
	if t.flags.table != "" {
		if err := addToTable(first.GPU, t.flags.table, nil); err != nil {
			return err
		}
	}
	lines, winners := make([]*tunedResult, len(t.shapes)), make([]*tune.Result, len(t.shapes))
	var search []int // problems
	for i, s := range t.shapes {
		known, there := conv2d.Tuned(first.Context.Info(), s, t.flags.exact, first.Cache.Store())
		if there && !t.flags.again {
			line := knownResult(s, t.flags.exact, known)
			lines[i], winners[i] = &line, &tune.Result{Problem: line.Problem, Best: line.Best}
			continue
		}
		search = append(search, i)
	}
	progress := t.newProgress(len(search), len(tuners) > 1)
	left, err := divide(tuners, len(search), func(by tuner, piece int) (err error) {
		i := search[piece]
		lines[i], winners[i], err = t.tuneOne(ctx, by, t.shapes[i], progress)
		return err
	})
	progress.finish()
	if len(left) == 0 {
		err = nil // another GPU did what one could not
	}
	t.addLines(first.device.Folder, lines)
	if err == nil && t.flags.table != "" {
		err = t.addWinners(first.GPU, winners)
	}
	return err
}

// addLines appends the lines that there are to the result.
func (t *tuning) addLines(folder string, lines []*tunedResult) {
	for _, line := range lines {
		if line != nil {
			line.Folder = folder
			t.result.Problems = append(t.result.Problems, *line)
		}
	}
}

func (t *tuning) addWinners(g *cli.GPU, winners []*tune.Result) error {
	var list []tune.Result
	for _, w := range winners {
		if w != nil {
			list = append(list, *w)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return addToTable(g, t.flags.table, list)
}

// tuneOne searches for one problem on one GPU, when no other context measures on it. After an
// interrupt it returns no line. An error is one of the GPU, on which nothing more can be
// measured.
func (t *tuning) tuneOne(ctx context.Context, by tuner, s conv2d.Shape, progress *tuneProgress) (*tunedResult, *tune.Result, error) {
	by.turn.Lock()
	defer by.turn.Unlock()
	if ctx.Err() != nil {
		return nil, nil, nil
	}
	progress.begin(s)
	defer progress.end(s)
	began := time.Now()
	found, err := tune.Search(ctx, by.Context, by.Cache, s,
		tune.Options{Budget: t.flags.budget, Runs: t.flags.runs, Exact: t.flags.exact, Progress: progress.candidate})
	if ctx.Err() != nil {
		return nil, nil, nil
	}
	if kernels.Fatal(err) != nil {
		by.device.Error = err.Error()
		return nil, nil, fmt.Errorf("%s: %w", s, err)
	}
	by.device.Measured++
	by.device.Busy += time.Since(began)
	line := newTunedResult(found, t.flags.all)
	line.Device = by.device.Device
	if err != nil {
		line.Problem, line.Error = s.String(), err.Error()
		return &line, nil, nil
	}
	line.Kept = t.o.storeTuned(ctx, by.GPU, s, found)
	return &line, &found, nil
}

// close closes the GPUs. A directory that cannot be written was logged already.
func closeTuners(all *shadercache.GPUs, tuners []tuner) error {
	for _, t := range tuners {
		_ = t.Cache.Close()
	}
	return all.Close()
}

// tune tunes the problems for each model among the GPUs of --device.
func (o *options) tune(shapes []conv2d.Shape, f tuneFlags) (r *tuneResult, err error) {
	ctx, stop := cli.Interruptible()
	defer stop()
	r = &tuneResult{Origin: cli.NewOrigin(), Devices: []tuneDevice{}, Problems: []tunedResult{}}
	began := time.Now()
	t := &tuning{o: o, flags: f, shapes: shapes, result: r}
	all, tuners, err := t.openTuners(ctx)
	if err != nil {
		return nil, err
	}
	for _, each := range tuners {
		defer cli.ClearMarksOnInterrupt(each.Cache)()
	}
	defer func() { err = errors.Join(err, closeTuners(all, tuners)) }()
	for _, model := range byModel(tuners) {
		if err := t.tuneModel(ctx, model); err != nil {
			return nil, err
		}
	}
	r.Interrupted, r.Elapsed = ctx.Err() != nil, time.Since(began)
	return r, nil
}
