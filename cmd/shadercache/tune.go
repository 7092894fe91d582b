package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/tune"
)

const tuneUsage = `Find the fastest way to compute convolutions and matrix products on this GPU,
and store it: every later plan for the same problem, in any process with this
driver, uses it.

` + cli.ShapeHelp + `
With "conv2d" or "gemm" in front, shapes may leave out their prefix.

Every candidate is compiled, run in memory that is filled with poison, compared
with the CPU's result on every element, and then timed: by the GPU's clock where
a calibration shows that it works, else by the host's. A candidate that is
wrong, or writes outside its buffers, is reported and not used. Products that
would take the CPU more than some seconds are checked by random projections of
whole numbers, which depend on every element, and by whole rows. A candidate
that crashes the driver is reported and left out from then on.

The most promising candidates come first, and what --budget has no time for is
skipped. --exact leaves out algorithms such as Winograd F(4,3); with it, and
with --no-cpu, results are stored apart. The programs of the winners are stored
too.

--table has the format of conv2d/defaults.json, the choices for GPUs that were
not tuned: one list a model, so two GPUs of one model must have one driver.

With several GPUs in --device, or all, problems are tuned for each model among
them. GPUs of one model divide the problems and measure at the same time, each
problem in a process of its own, and all of them use the results. Contexts on
one GPU, as of --device 0,0, measure in turn. The result has the GPU that
measured each problem.

An interrupt prints and stores the results until then.

The time of a winner is the shorter of two medians, by which the search decides.
Figures for publication come from shadercache-lab bench conv2d and gemm, which
measure once.

The exit code is 1 when no candidate for a problem was correct, the device
cannot hold the problem, or one of several GPUs failed.`

const tuneExample = `  shadercache tune gemm 1024x1024x1024,ta skinny
  shadercache tune resnet --budget 10s --all`

// tuneFlags are the flags of tune.
type tuneFlags struct {
	Budget time.Duration `flag:"budget" help:"time to search for each problem" must:"1ms to 1h"`
	Runs   int           `flag:"runs" help:"runs over which a compile has to pay (default 1000000, on software drivers 10000)" must:"at least 1"`
	Again  bool          `flag:"again" help:"tune problems again that were tuned before"`
	All    bool          `flag:"all" help:"show every candidate"`
	Exact  bool          `flag:"exact" help:"only algorithms with the error of a sum of products"`
	NoCPU  bool          `flag:"no-cpu" help:"on software drivers, only algorithms with kernels"`
	Table  string        `flag:"table" help:"table of choices to add the winners to" files:"json"`
}

func (f tuneFlags) restriction() conv2d.Restriction {
	return conv2d.Restriction{Exact: f.Exact, NoCPU: f.NoCPU}
}

// tuneResult is what tune prints.
type tuneResult struct {
	bench.Header
	Problems    []tunedResult `json:"problems"`
	Interrupted bool          `json:"interrupted"` // it was ended early

	// Devices are those of --device, where these are several; the GPU above is none then.
	Devices []tuneDevice  `json:"devices,omitempty"`
	Elapsed time.Duration `json:"elapsed_ns,omitempty"` // with several GPUs: until all problems were tuned
}

// tunedResult is the result for one problem.
type tunedResult struct {
	tune.Result
	Known   bool   `json:"known"` // tuned before
	Kept    bool   `json:"kept"`  // stored
	Right   int    `json:"right"`
	Wrong   int    `json:"wrong"`
	Failed  int    `json:"failed"`
	Skipped int    `json:"skipped"`
	Error   string `json:"error,omitempty"`
	Device  string `json:"device,omitempty"` // of several: that measured it, or found it tuned before
	Folder  string `json:"folder,omitempty"` // of several: of the driver that it is for, in the cache directory

	all []tune.Candidate // Candidates has them with --all
}

func (o *options) tuneCommand() cli.Command {
	f := tuneFlags{Budget: 30 * time.Second}
	var shapes []conv2d.Shape
	return cli.Command{
		Use:     "tune [conv2d|gemm] SHAPE... [--budget TIME] [--runs N] [--again] [--all] [--exact] [--no-cpu] [--table FILE]",
		Short:   "Find and store the fastest way to compute a problem",
		Long:    tuneUsage,
		Example: tuneExample,
		Args:    cobra.ArbitraryArgs,
		Words:   append([]string{conv2d.Conv2DKind, conv2d.GEMMKind}, conv2d.WorkloadNames()...),
		Flags:   &f, GPUs: cli.SeveralGPUs, Result: tuneResult{},
		Check: func(cmd *cobra.Command, args []string) (err error) {
			shapes, err = parseShapes(args)
			return err
		},
		Run: func(cmd *cobra.Command, _ []string) (cli.Result, error) {
			if o.SeveralDevices() {
				return o.tuneSeveral(cmd, shapes, f)
			}
			return o.tune(shapes, f)
		},
	}
}

// parseShapes returns the problems of a command line.
func parseShapes(args []string) ([]conv2d.Shape, error) {
	kind := ""
	if len(args) > 0 && (args[0] == conv2d.Conv2DKind || args[0] == conv2d.GEMMKind) {
		kind, args = args[0], args[1:]
	}
	return conv2d.ParseShapes(kind, args)
}

func (o *options) tune(shapes []conv2d.Shape, f tuneFlags) (r *tuneResult, err error) {
	ctx, stop := cli.Interruptible()
	defer stop()
	from := cli.NewOrigin()
	g, err := o.OpenGPU(cache.Options{FillOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	r = &tuneResult{Header: bench.Header{GPU: g.Name(), Driver: g.Driver(), Origin: from}.WithDriverCache(g), Problems: []tunedResult{}}
	var winners []tune.Result
	if f.Table != "" {
		if err := addToTable(g.Name(), f.Table, nil); err != nil {
			return nil, err
		}
	}
	for i, s := range shapes {
		known, there := conv2d.Tuned(g.Context.Info(), s, f.restriction(), g.Cache.Tunings())
		if there && !f.Again {
			line := knownResult(s, f.restriction(), known)
			r.Problems = append(r.Problems, line)
			winners = append(winners, line.Result)
			continue
		}
		bar := o.NewBar(fmt.Sprintf("%v (%d of %d)", s, i+1, len(shapes)))
		found, err := tune.Search(ctx, g.Context, g.Cache, s, tune.Options{Budget: f.Budget, Runs: f.Runs, Exact: f.Exact, NoCPU: f.NoCPU,
			Progress: func(done, total int, _ tune.Candidate) { bar.Set(int64(done), int64(total)) }})
		bar.Finish()
		if r.Interrupted = ctx.Err() != nil; r.Interrupted {
			break
		}
		if cli.Fatal(err) != nil {
			return nil, err
		}
		line := newTunedResult(found, f.All)
		if err != nil {
			line.Problem, line.Error = s.String(), err.Error()
		} else {
			line.Kept = o.storeTuned(ctx, g, s, found)
			winners = append(winners, found)
		}
		r.Problems = append(r.Problems, line)
	}
	if f.Table != "" && len(winners) > 0 {
		err = addToTable(g.Name(), f.Table, winners)
	}
	return r, err
}

// storeTuned stores a result and the programs of the winner. It logs what cannot be
// stored, since the search succeeded.
func (o *options) storeTuned(ctx context.Context, g *cli.GPU, s conv2d.Shape, found tune.Result) bool {
	err := found.Keep(g.Cache.Tunings())
	sources, err2 := found.Best.Choice.Sources(g.Context.Info(), s)
	if err2 == nil {
		_, err2 = g.Cache.Preload(ctx, sources, nil)
	}
	if err := errors.Join(err, err2); err != nil {
		o.Logger().Warn("the result was not stored", "problem", s.String(), "reason", err)
		return false
	}
	return g.Cache.Stats().MemoryOnly == ""
}

func newTunedResult(found tune.Result, all bool) tunedResult {
	r := tunedResult{Result: found, all: found.Candidates}
	if !all {
		r.Candidates = nil
	}
	for _, c := range found.Candidates {
		switch c.Verdict {
		case tune.Wrong:
			r.Wrong++
		case tune.Failed:
			r.Failed++
		case tune.Skipped:
			r.Skipped++
		default:
			r.Right++
		}
	}
	return r
}

func (r *tuneResult) Verdict() error {
	bad := slices.DeleteFunc(slices.Clone(r.Problems), func(p tunedResult) bool { return p.Error == "" })
	switch {
	case !r.Interrupted && r.brokenDevice() != nil:
		return r.brokenDevice()
	case len(bad) == 0 && r.Interrupted:
		return context.Canceled
	case len(bad) == 0:
		return nil
	}
	return cli.Hint(
		fmt.Errorf("no candidate computes %s: %s", bad[0].Problem, bad[0].Error),
		"--all shows what is wrong with each candidate; shadercache doctor checks the driver",
	)
}

// brokenDevice returns the error of the first GPU that did not measure, or no more.
func (r *tuneResult) brokenDevice() error {
	for _, d := range r.Devices {
		if d.Error != "" {
			return fmt.Errorf("%s: %s", &d.DeviceLine, d.Error)
		}
	}
	return nil
}

func (r *tuneResult) Print(w io.Writer) {
	if len(r.Devices) > 0 {
		r.printTuneDevices(w)
		fmt.Fprint(w, "GPU\t")
	} else {
		r.Header.Print(w, r.GPU)
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "problem\tms\tGFLOP/s\terror\tright\twrong\tskipped\ttook\talgorithm\n")
	for _, p := range r.Problems {
		if len(r.Devices) > 0 {
			fmt.Fprintf(w, "%s\t", p.Device)
		}
		if p.Error != "" {
			fmt.Fprintf(w, "%s\t-\t-\t-\t%d\t%d\t%d\t-\tnone\n", p.Problem, p.Right, p.Wrong+p.Failed, p.Skipped)
			continue
		}
		took := cli.ReadableDuration(p.Elapsed)
		if p.Known {
			took = "before"
		}
		fmt.Fprintf(w, "%s\t%.4f\t%.1f\t%.1e\t%d\t%d\t%d\t%s\t%v\n", p.Problem, p.Best.Nanos/1e6, p.Best.GFLOPS,
			p.Best.MaxError, p.Right, p.Wrong+p.Failed, p.Skipped, took, p.Best.Choice)
	}
	for _, p := range r.Problems {
		p.printCandidates(w)
	}
}

// printCandidates lists the candidates of the result, and those that are wrong.
func (p *tunedResult) printCandidates(w io.Writer) {
	if len(p.Candidates) > 0 {
		fmt.Fprintf(w, "\n%s, timed by the %s clock, %s compared\n", p.Problem, p.Timer, p.Check)
		fmt.Fprint(w, "verdict\tms\tcompile ms\tGFLOP/s\terror\talgorithm\n")
		for _, c := range p.Candidates {
			fmt.Fprintf(w, "%s\t%.4f\t%.0f\t%.1f\t%.1e\t%v\n", c.Verdict, c.Nanos/1e6, cli.Milliseconds(c.Compile), c.GFLOPS, c.MaxError, c.Choice)
		}
	}
	for _, c := range p.all {
		if c.Verdict == tune.Wrong || c.Verdict == tune.Failed {
			fmt.Fprintf(w, "%s: %v is %s: %s\n", p.Problem, c.Choice, c.Verdict, c.Reason)
		}
	}
}

// knownResult returns the result for a problem that was tuned before.
func knownResult(s conv2d.Shape, restriction conv2d.Restriction, t binary.Tuning) tunedResult {
	r := tunedResult{Result: tune.Result{Problem: s.String(), Exact: restriction.Exact, NoCPU: restriction.NoCPU}, Known: true, Kept: true, Right: t.Candidates}
	// conv2d.Tuned has decoded it before.
	_ = json.Unmarshal(t.Choice, &r.Best.Choice)
	r.Best.Verdict, r.Best.Nanos, r.Best.GFLOPS, r.Best.MaxError = tune.Measured, t.Nanos, t.GFLOPS, t.MaxError
	return r
}
