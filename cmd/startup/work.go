package startup

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// SharedBytes is the shared memory that OpenGL 4.5 guarantees every kernel.
// With it the sources are built before there is a context to ask.
const SharedBytes = 32 << 10

// Work is the workload for one GPU: its programs are loaded one after the other, each until its
// first result is in host memory.
type Work struct {
	problem  conv2d.GEMMProblem
	programs []Program
	sources  []*shader.Source
	a, b     []float32
	expected []conv2d.Expected // of each program; shared between tiles
	results  [][]float32
	preload  bool

	shares              []float64 // of preloading, milliseconds
	get, dispatch, both []float64 // milliseconds
	total               time.Duration
}

// NewWork prepares the workload with a number of programs. It needs no GPU.
func NewWork(programs int) (w *Work, err error) {
	w = &Work{problem: problem()}
	if w.programs, err = Programs(programs, SharedBytes); err != nil {
		return nil, err
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
			known[key] = p.Expected(product)
		}
		w.expected = append(w.expected, known[key])
		w.results = append(w.results, make([]float32, w.problem.CLen()))
	}
	return w, nil
}

// matrices are those of the product on the device.
type matrices struct{ a, b, c glctx.Buffer }

// Run gets and dispatches every program on a GPU, with one set of buffers.
func (w *Work) Run(g *cli.GPU) (err error) {
	if err := g.Context.Require45("these programs"); err != nil {
		return err
	}
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
		// In order before the dispatch, without waiting for it.
		g.Context.Post(func(gl *glctx.GL) { gl.Fill(buffers.c, conv2d.Poison) })
		if err := w.runOne(g, i, buffers); err != nil {
			return err
		}
	}
	w.total = time.Since(began)
	return nil
}

func (w *Work) upload(gl *glctx.GL) (b matrices, err error) {
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

// preloadAll makes all programs resident. A program's share of the time is what passed
// since the one before it was ready, so that the shares add up.
func (w *Work) preloadAll(g *cli.GPU, began time.Time) error {
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

// runOne times one program: getting it, then its first dispatch until the result is in
// host memory.
func (w *Work) runOne(g *cli.GPU, i int, buffers matrices) error {
	start := time.Now()
	handle, err := g.Cache.Get(context.Background(), w.sources[i])
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

// Verify reports whether every element of every result is right. It compares on all processors.
func (w *Work) Verify() bool {
	var checks errgroup.Group
	for i := range w.results {
		checks.Go(func() error {
			return conv2d.Compare(w.results[i], w.expected[i], conv2d.Tolerance(w.problem.ReductionLen())).Err()
		})
	}
	return checks.Wait() == nil
}
