package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/internal/cli"
	"github.com/shadercache/shadercache/shader"
)

// startupChildName is the hidden command that runs one scenario.
const startupChildName = "startup-child"

// startedEnvironment carries the moment, in nanoseconds since 1970, at which
// the parent started the child.
const startedEnvironment = "SHADERCACHE_BENCH_STARTED"

// guaranteedSharedBytes is what OpenGL 4.5 promises every kernel, which lets
// the sources be built before there is a context to ask.
const guaranteedSharedBytes = 32 << 10

// childResult is what the child prints.
type childResult struct {
	GPU    string `json:"gpu"`
	Driver string `json:"driver"`
	scenarioFigures
}

func newStartupChild(o *options) *cobra.Command {
	var programs int
	var memoryOnly, preload bool
	cmd := &cobra.Command{
		Use:     startupChildName,
		Short:   "Run one scenario of bench startup in this process",
		Hidden:  true,
		Example: "  shadercache bench startup-child --json",
		Args:    cli.UsageArgs(cli.NoArguments),
		RunE: func(*cobra.Command, []string) error {
			r, err := o.startupChild(programs, memoryOnly, preload)
			if err != nil {
				return err
			}
			return json.NewEncoder(o.Stdout).Encode(r)
		},
	}
	cmd.Flags().IntVar(&programs, "programs", 48, "number of programs")
	cmd.Flags().BoolVar(&memoryOnly, "memory-only", false, "keep no program binaries")
	cmd.Flags().BoolVar(&preload, "preload", false, "get all programs before the first dispatch")
	return cmd
}

// startupChild opens the GPU while another goroutine prepares sources and
// expected results, then runs every program once.
func (o *options) startupChild(programs int, memoryOnly, preload bool) (r *childResult, err error) {
	started := processStart()
	var w startupWork
	var prepare errgroup.Group
	prepare.Go(func() error { return w.prepare(programs) })
	g, err := o.OpenGPU(cache.Options{MemoryOnly: memoryOnly, MaxPrograms: programs})
	if err := errors.Join(err, prepare.Wait()); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	w.preload = preload
	if err := w.run(g); err != nil {
		return nil, err
	}
	verified := w.verify()
	process := time.Since(started)
	return &childResult{
		GPU:    g.Name(),
		Driver: g.Driver(),
		scenarioFigures: scenarioFigures{
			GetMillis:           median(w.get),
			FirstDispatchMillis: median(w.dispatch),
			ToFirstResultMillis: median(w.both),
			TotalMillis:         cli.Milliseconds(w.total),
			ContextMillis:       cli.Milliseconds(g.ContextTime),
			ProcessMillis:       cli.Milliseconds(process),
			Compiles:            g.Cache.Stats().Compiles,
			DriverCache:         unmanaged(g.Context.DriverCache()),
			Verified:            verified,
		},
	}, nil
}

// unmanaged says that the driver's cache is not where the scenario wants it, or
// nothing.
func unmanaged(d drivercache.State) string {
	if d.Managed && d.Reason == "" {
		return ""
	}
	return d.String()
}

// processStart is when the parent started this process, or now.
func processStart() time.Time {
	nanos, err := strconv.ParseInt(os.Getenv(startedEnvironment), 10, 64)
	if err != nil {
		return time.Now()
	}
	return time.Unix(0, nanos)
}

// startupWork is the workload: programs, inputs, what should come out, and what
// came out.
type startupWork struct {
	problem  conv2d.GEMMProblem
	programs []conv2d.StartupProgram
	sources  []*shader.Source
	a, b     []float32
	expected []conv2d.Expected // of each program; shared between tiles
	results  [][]float32
	preload  bool

	shares              []float64 // of preloading, milliseconds
	get, dispatch, both []float64 // milliseconds
	total               time.Duration
}

// prepare does all that needs no GPU.
func (w *startupWork) prepare(programs int) (err error) {
	w.problem = conv2d.StartupProblem()
	if w.programs, err = conv2d.StartupPrograms(programs, guaranteedSharedBytes); err != nil {
		return err
	}
	w.a = conv2d.RandomValues(w.problem.ALen(), 1)
	w.b = conv2d.RandomValues(w.problem.BLen(), 2)
	product := conv2d.ReferenceGEMM(w.problem, conv2d.GEMMTensors{A: w.a, B: w.b})
	type outcome struct {
		activation conv2d.Activation
		alpha      float32
	}
	known := map[outcome]conv2d.Expected{}
	for _, p := range w.programs {
		w.sources = append(w.sources, p.Source)
		key := outcome{p.Activation, p.Alpha}
		if _, done := known[key]; !done {
			known[key] = p.Of(product)
		}
		w.expected = append(w.expected, known[key])
		w.results = append(w.results, make([]float32, w.problem.CLen()))
	}
	return nil
}

// matrices are the product's on the device.
type matrices struct{ a, b, c glctx.Buffer }

// run gets and dispatches every program, with one set of buffers.
func (w *startupWork) run(g *cli.GPU) (err error) {
	var buffers matrices
	err = g.Context.Do(func(gl *glctx.GL) (err error) {
		buffers, err = w.upload(gl)
		return err
	})
	if err != nil {
		return err
	}
	defer g.Context.Post(func(gl *glctx.GL) {
		for _, b := range []glctx.Buffer{buffers.a, buffers.b, buffers.c} {
			gl.DeleteBuffer(b)
		}
	})
	began := time.Now()
	if w.preload {
		if err := w.preloadAll(g, began); err != nil {
			return err
		}
	}
	for i := range w.sources {
		// In order before the dispatch, and not waited for.
		g.Context.Post(func(gl *glctx.GL) { gl.Fill(buffers.c, conv2d.Poison) })
		if err := w.runOne(g, i, buffers); err != nil {
			return err
		}
	}
	w.total = time.Since(began)
	return nil
}

func (w *startupWork) upload(gl *glctx.GL) (b matrices, err error) {
	a, c := glctx.Bytes(w.a), glctx.Bytes(w.b)
	if b.a, err = gl.NewBuffer(len(a), a); err != nil {
		return b, err
	}
	if b.b, err = gl.NewBuffer(len(c), c); err != nil {
		return b, err
	}
	b.c, err = gl.NewBuffer(4*w.problem.CLen(), nil)
	return b, err
}

// preloadAll makes all programs resident. A program's share of the time is what
// passed since the one before it was ready, so that the shares add up.
func (w *startupWork) preloadAll(g *cli.GPU, began time.Time) error {
	results, err := g.Cache.Preload(context.Background(), w.sources, func(cache.PreloadResult) {
		now := time.Now()
		w.shares = append(w.shares, cli.Milliseconds(now.Sub(began)))
		began = now
	})
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	return err
}

// runOne times one program: getting it, then its first dispatch until the
// result is in host memory.
func (w *startupWork) runOne(g *cli.GPU, i int, buffers matrices) error {
	ctx := context.Background()
	start := time.Now()
	handle, err := g.Cache.Get(ctx, w.sources[i])
	if err != nil {
		return err
	}
	defer handle.Release()
	got := time.Now()
	err = g.Context.Do(func(gl *glctx.GL) error {
		w.programs[i].Dispatch(gl, handle.Program(), buffers.a, buffers.b, buffers.c)
		gl.MemoryBarrier(glctx.BarrierUpdate)
		gl.Download(buffers.c, 0, glctx.Bytes(w.results[i]))
		return gl.Err()
	})
	done := time.Now()
	get, dispatch := cli.Milliseconds(got.Sub(start)), cli.Milliseconds(done.Sub(got))
	if w.preload {
		get += w.shares[i]
	}
	w.get = append(w.get, get)
	w.dispatch = append(w.dispatch, dispatch)
	w.both = append(w.both, get+dispatch)
	return err
}

// verify compares every element of every result, on all processors.
func (w *startupWork) verify() bool {
	wrong := make([]int, len(w.results))
	var checks errgroup.Group
	for i := range w.results {
		checks.Go(func() error {
			wrong[i] = conv2d.Compare(w.results[i], w.expected[i], conv2d.Tolerance(w.problem.ReductionLen())).Wrong
			return nil
		})
	}
	_ = checks.Wait()
	for _, n := range wrong {
		if n > 0 {
			return false
		}
	}
	return true
}
