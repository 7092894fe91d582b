// Package kernels measures convolutions and matrix products as a plan would compute
// them, verified against the CPU, and compares them with another library.
package kernels

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/tune"
	"github.com/shadercache/shadercache/lab/bench/measure"
	"github.com/shadercache/shadercache/lab/bench/peers"
)

// Options configure Run.
type Options struct {
	Shapes      []conv2d.Shape
	Named       map[string]bool // shapes that also a software driver runs, however long they take
	Tune        bool            `flag:"tune" help:"tune what was not tuned, first"`
	Budget      time.Duration   `flag:"budget" help:"how long to search for each problem" must:"1ms to 1h"`
	Exact       bool            `flag:"exact" help:"only algorithms with the error of a sum of products"`
	NoCPU       bool            `flag:"no-cpu" help:"on software drivers, only algorithms with kernels"`
	PeerFile    string          `flag:"peer" help:"file of a peer's times" files:"json"`
	PeerCommand string          `flag:"peer-command" help:"program that measures a peer's times"`
	PeerEach    bool            `flag:"peer-each" help:"run the peer's program after each row"`
}

// Validate returns an error for options that Run does not accept.
func (o Options) Validate() error {
	switch {
	case o.PeerFile != "" && o.PeerCommand != "":
		return errors.New("--peer and --peer-command exclude each other")
	case o.PeerEach && o.PeerCommand == "":
		return errors.New("--peer-each needs --peer-command")
	}
	return nil
}

// ParseShapes reads shapes and names of workloads of one kind. It also returns the
// shapes that were named one by one.
func ParseShapes(kind string, words []string) (shapes []conv2d.Shape, named map[string]bool, err error) {
	named = map[string]bool{}
	for _, word := range words {
		if list, err := conv2d.ParseShapeWord(kind, word); err == nil && len(list) == 1 {
			named[list[0].String()] = true
		}
	}
	shapes, err = conv2d.ParseShapes(kind, words)
	return shapes, named, err
}

// run is one call of Run.
type run struct {
	Options
	cli    *cli.Options
	ctx    context.Context
	gpu    *cli.GPU
	result *Result

	tunings cache.Tunings // of the user: those of a benchmark would be used by no plan

	times  peers.Times // that the peer's program measured
	failed bool        // the peer's program; it is not run again
}

// Run measures the shapes, and compares them with the peer. After an interrupt, and
// where the peer fails, it returns the rows that are done.
func Run(o *cli.Options, options Options) (*Result, error) {
	ctx, stop := cli.Interruptible()
	defer stop()
	known, err := peers.Read(options.PeerFile)
	if err != nil {
		return nil, err
	}
	r := &run{Options: options, cli: o, ctx: ctx, times: peers.Times{}}
	if err := r.measure(); err != nil {
		return nil, err
	}
	if r.PeerCommand != "" && !r.PeerEach && len(r.result.Rows) > 0 && !r.result.Interrupted {
		r.measurePeer(r.result.shapes())
	}
	r.result.compare(known)
	r.result.compare(r.times)
	r.result.summarize()
	return r.result, nil
}

// measure fills the rows. The context is closed before the peer of all rows runs.
func (r *run) measure() (err error) {
	origin := cli.NewOrigin()
	if r.gpu, err = measure.Own(r.cli).OpenGPU(cache.Options{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.gpu.Close()) }()
	if r.tunings, err = r.userTunings(); err != nil {
		return err
	}
	r.result = &Result{Header: measure.NewHeader(r.gpu, origin).WithDriverCache(r.gpu), Rows: []Row{}, Verified: true}
	shapes := r.Shapes
	if r.gpu.Context.Info().Software() {
		shapes, r.result.LeftOut = withoutSlowest(shapes, r.Named)
	}
	bar := r.cli.NewProgress(len(shapes), "measuring")
	defer func() { _ = bar.Finish() }()
	for _, s := range shapes {
		row, timer, err := r.row(s)
		if r.result.Interrupted = r.ctx.Err() != nil; r.result.Interrupted {
			return nil
		}
		if err != nil {
			return err
		}
		r.result.Rows = append(r.result.Rows, row)
		r.result.Verified = r.result.Verified && row.Verified
		if row.Verified {
			r.result.Timer = timer
		}
		if r.PeerEach && !r.failed {
			r.measurePeer([]string{row.Shape})
		}
		_ = bar.Add(1)
	}
	return nil
}

// userTunings returns the store of the user's cache directory, where plans find what was
// tuned; in memory where there is none.
func (r *run) userTunings() (cache.Tunings, error) {
	if r.gpu.Cache.Stats().MemoryOnly != "" {
		return r.gpu.Cache.Tunings(), nil
	}
	path, err := r.cli.Directory()
	if err != nil {
		return nil, err
	}
	dir, err := binary.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return dir.Store(r.gpu.Context.Fingerprint())
}

// measurePeer runs the peer's program for shapes.
func (r *run) measurePeer(shapes []string) {
	times, err := peers.Measure(r.ctx, r.PeerCommand, shapes, r.cli.Stderr)
	maps.Copy(r.times, times)
	r.failed, r.result.peerErr, r.result.Interrupted = err != nil, err, r.ctx.Err() != nil
}

// row measures one problem. An error ends the benchmark; others are in the row.
func (r *run) row(s conv2d.Shape) (Row, string, error) {
	row := Row{Shape: s.String()}
	found, err := r.search(s, &row)
	if err != nil {
		row.Error = err.Error()
		if len(found.Candidates) > 0 {
			row.MaxRelError = found.Candidates[0].MaxError
		}
		return row, "", cli.Fatal(err)
	}
	best := found.Best
	row.Verified = true
	row.Millis, row.TFLOPS, row.MaxRelError = best.Nanos/1e6, best.GFLOPS/1e3, best.MaxError
	row.LeastMillis, row.MostMillis = best.LeastNanos/1e6, best.MostNanos/1e6
	return row, found.Timer, nil
}

// search measures the choice of a plan, or with Tune the fastest of all choices, which
// it stores. It sets what was chosen and how it was checked.
func (r *run) search(s conv2d.Shape, row *Row) (tune.Result, error) {
	choice, basis, err := conv2d.Choose(r.ctx, r.gpu.Context, r.gpu.Cache, s, conv2d.PlanOptions{Exact: r.Exact, NoCPU: r.NoCPU, Tunings: r.tunings})
	if err != nil {
		return tune.Result{}, err
	}
	row.Algorithm, row.Basis = choice.String(), basis
	if _, known := conv2d.Tuned(r.gpu.Context.Info(), s, conv2d.Restriction{Exact: r.Exact, NoCPU: r.NoCPU}, r.tunings); r.Tune && !known {
		if choice, err = r.tune(s); err != nil {
			return tune.Result{}, err
		}
		row.Algorithm, row.Basis = choice.String(), conv2d.ByTuning
	}
	found, err := tune.Search(r.ctx, r.gpu.Context, r.gpu.Cache, s, tune.Options{Only: []conv2d.Choice{choice}, Exact: r.Exact, NoCPU: r.NoCPU, CheckTimed: true})
	row.Check = found.Check
	return found, err
}

// tune finds the fastest of all choices and stores it.
func (r *run) tune(s conv2d.Shape) (conv2d.Choice, error) {
	found, err := tune.Search(r.ctx, r.gpu.Context, r.gpu.Cache, s, tune.Options{Budget: r.Budget, Exact: r.Exact, NoCPU: r.NoCPU})
	if err != nil {
		return conv2d.Choice{}, err
	}
	return found.Best.Choice, found.Keep(r.tunings)
}

// slowestOnCPU is the most operations of a shape that a software driver runs unless it
// is named: a second or two for each run.
const slowestOnCPU = 20e9

// withoutSlowest returns the shapes without those that would take a software driver
// minutes, and the number of those.
func withoutSlowest(shapes []conv2d.Shape, named map[string]bool) (remaining []conv2d.Shape, left int) {
	for _, s := range shapes {
		if named[s.String()] || float64(s.FLOPs()) <= slowestOnCPU {
			remaining = append(remaining, s)
		}
	}
	return remaining, len(shapes) - len(remaining)
}
