package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/tune"
)

// kernelsFields is the part of the help that bench gemm and bench conv2d share.
const kernelsFields = `Each row is computed as a plan would: by what was tuned for this driver, else by
the shipped table, else by the likeliest algorithm; basis says which. With --tune,
problems that were not tuned are tuned first, for at most --budget each, the result
is kept, and the winner measured as it is without --tune. The result of each row is
compared with the CPU's, every element of it, before anything is timed; what the
timed runs leave in memory that was poisoned is compared again. A row that is wrong
has no time. check says what is compared where every element would take too long.

Times are medians of batches, by the GPU's clock where a calibration says that it
works, else by the host's; least and most are the shortest and the longest batch. Weights and inputs are on the device, and the same from
run to run: small ones stay in the GPU's caches, for the peer too. Bringing weights
into another form, which a plan does once for each version of them, is not part
of it.

--peer FILE compares with times that were measured elsewhere, --peer-command runs a
program that measures them now, after the rows, with the shapes as its arguments:
  python3 docs/bench/peers.py     cuBLAS and cuDNN through PyTorch
  go run -tags egl ./internal/bench/gonumpeer    gonum's blas32 on the CPU
With --peer-each it runs after each row, with that shape alone, so that a machine
which is busier at one time than at another disturbs both: for a peer that starts
quickly. Either gives a JSON object {SHAPE: {"peer": NAME, "ms": MILLISECONDS}}, where a shape
may have "least_ms" and "most_ms" too. ratio is the peer's time / ours. Where the peer
fails, and after an interrupt, the rows that there are are printed before the failure.

On a software driver, shapes that take it minutes are left out, unless they are
named one by one.

JSON fields: gpu, driver, driver_cache, ` + originFields + `,
timer, rows [{shape, algorithm, ms, least_ms, most_ms, tflops, max_rel_error, peer,
peer_ms, peer_least_ms?, peer_most_ms?, ratio, basis, check, verified, error?}],
left_out, geomean_ratio, worst_ratio, worst_shape, interrupted, verified. Without a
peer its fields are "" and 0.

The exit code is 1 when a result was wrong.`

// kernelsBench measures problems of one kind.
type kernelsBench struct {
	kind        string
	usual       []string // workloads
	tune        bool
	exact       bool
	budget      time.Duration
	peerFile    string
	peerCommand string
	peerEach    bool
}

// kernelRow is one problem.
type kernelRow struct {
	Shape       string  `json:"shape"`
	Algorithm   string  `json:"algorithm"`
	Millis      float64 `json:"ms"`
	LeastMillis float64 `json:"least_ms"`
	MostMillis  float64 `json:"most_ms"`
	TFLOPS      float64 `json:"tflops"`
	MaxRelError float64 `json:"max_rel_error"`
	Peer        string  `json:"peer"`
	PeerMillis  float64 `json:"peer_ms"`
	PeerLeast   float64 `json:"peer_least_ms,omitempty"`
	PeerMost    float64 `json:"peer_most_ms,omitempty"`
	Ratio       float64 `json:"ratio"`

	Basis    conv2d.Basis `json:"basis"`
	Check    string       `json:"check"`
	Verified bool         `json:"verified"`
	Error    string       `json:"error,omitempty"`
}

// kernelsResult is what bench gemm and bench conv2d print.
type kernelsResult struct {
	GPU          string      `json:"gpu"`
	Driver       string      `json:"driver"`
	DriverCache  string      `json:"driver_cache"`
	Origin       origin      `json:"origin"`
	Timer        string      `json:"timer"`
	Rows         []kernelRow `json:"rows"`
	LeftOut      int         `json:"left_out"`
	GeomeanRatio float64     `json:"geomean_ratio"`
	WorstRatio   float64     `json:"worst_ratio"`
	WorstShape   string      `json:"worst_shape"`
	Interrupted  bool        `json:"interrupted"`
	Verified     bool        `json:"verified"`

	peers  map[string]peerTime // that its program measured
	failed error               // of that program; it is not asked again
}

// askPeer has the peer's program measure shapes.
func (r *kernelsResult) askPeer(ctx context.Context, o *options, command string, shapes []string) {
	peers, err := measurePeers(ctx, o, command, shapes)
	if r.peers == nil {
		r.peers = map[string]peerTime{}
	}
	maps.Copy(r.peers, peers)
	r.failed, r.Interrupted = err, ctx.Err() != nil
}

// command is bench gemm or bench conv2d.
func (b *kernelsBench) command(o *options, cmd *cobra.Command) *cobra.Command {
	cmd.Use = b.kind + " [SHAPE...] [--tune] [--budget TIME] [--exact] [--peer FILE] [--peer-command COMMAND [--peer-each]]"
	cmd.DisableFlagsInUseLine = true
	flags := cmd.Flags()
	flags.BoolVar(&b.tune, "tune", false, "tune what was not tuned, first")
	flags.DurationVar(&b.budget, "budget", 20*time.Second, "how long to search for each problem")
	flags.BoolVar(&b.exact, "exact", false, "only algorithms with the error of a sum of products")
	flags.StringVar(&b.peerFile, "peer", "", "file of a peer's times")
	flags.StringVar(&b.peerCommand, "peer-command", "", "program that measures a peer's times")
	flags.BoolVar(&b.peerEach, "peer-each", false, "run the peer's program after each row")
	_ = cmd.MarkFlagFilename("peer", "json")
	cmd.ValidArgs = b.usual
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		shapes, named, err := b.shapes(args)
		if err != nil {
			return usageError{err, cmd.CommandPath()}
		}
		r, err := b.run(o, shapes, named)
		return o.show(r, err)
	}
	return cmd
}

// shapes checks the command line. Problems are named when each is there itself.
func (b *kernelsBench) shapes(args []string) (shapes []conv2d.Shape, named map[string]bool, err error) {
	switch {
	case b.budget <= 0 || b.budget > time.Hour:
		return nil, nil, errNoSuchBudget
	case b.peerFile != "" && b.peerCommand != "":
		return nil, nil, errors.New("--peer and --peer-command exclude each other")
	case b.peerEach && b.peerCommand == "":
		return nil, nil, errors.New("--peer-each needs --peer-command")
	case len(args) == 0:
		args = b.usual
	}
	named = map[string]bool{}
	for _, word := range args {
		if list, err := parseShapeWord(b.kind, word); err == nil && len(list) == 1 {
			named[list[0].String()] = true
		}
	}
	shapes, err = parseShapes(b.kind, args)
	return shapes, named, err
}

func (b *kernelsBench) run(o *options, shapes []conv2d.Shape, named map[string]bool) (*kernelsResult, error) {
	ctx, stop := interruptible()
	defer stop()
	known, err := readPeers(b.peerFile)
	if err != nil {
		return nil, err
	}
	r, err := b.measure(ctx, o, shapes, named)
	if err != nil {
		return nil, err
	}
	if b.peerCommand != "" && !b.peerEach && len(r.Rows) > 0 && !r.Interrupted {
		r.askPeer(ctx, o, b.peerCommand, r.shapes())
	}
	r.compare(known)
	r.compare(r.peers)
	r.summarize()
	return r, nil
}

// measure fills the rows. The context is gone when the peer's turn comes.
func (b *kernelsBench) measure(ctx context.Context, o *options, shapes []conv2d.Shape, named map[string]bool) (r *kernelsResult, err error) {
	from := newOrigin()
	g, err := o.openGPU(cache.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	r = &kernelsResult{GPU: g.name(), Driver: g.driver(), DriverCache: g.driverCache(), Origin: from, Rows: []kernelRow{}, Verified: true}
	if g.context.Info().Software() {
		shapes, r.LeftOut = withoutSlowest(shapes, named)
	}
	bar := o.newProgress(len(shapes), "measuring")
	for _, s := range shapes {
		row, timer, err := b.row(ctx, g, s)
		if r.Interrupted = ctx.Err() != nil; r.Interrupted {
			break
		}
		if err != nil {
			return nil, err
		}
		r.Rows = append(r.Rows, row)
		r.Verified = r.Verified && row.Verified
		if row.Verified {
			r.Timer = timer
		}
		if b.peerEach && r.failed == nil {
			r.askPeer(ctx, o, b.peerCommand, []string{row.Shape})
		}
		_ = bar.Add(1)
	}
	_ = bar.Finish()
	return r, nil
}

// row measures one problem. An error is one that ends the whole.
func (b *kernelsBench) row(ctx context.Context, g *gpu, s conv2d.Shape) (kernelRow, string, error) {
	row := kernelRow{Shape: s.String()}
	choice, basis, err := conv2d.Choose(ctx, g.context, g.cache, s, conv2d.PlanOptions{Exact: b.exact})
	if err != nil {
		row.Error = err.Error()
		return row, "", fatal(err)
	}
	row.Algorithm, row.Basis = choice.String(), basis
	if _, known := conv2d.Tuned(g.context.Info(), s, b.exact, g.cache); b.tune && !known {
		if choice, err = b.search(ctx, g, s); err != nil {
			row.Error = err.Error()
			return row, "", fatal(err)
		}
		row.Algorithm, row.Basis = choice.String(), conv2d.ByTuning
	}
	found, err := tune.Search(ctx, g.context, g.cache, s, tune.Options{Only: []conv2d.Choice{choice}, Exact: b.exact, CheckTimed: true})
	row.Check = found.Check
	if err != nil {
		row.Error = err.Error()
		if len(found.Candidates) > 0 {
			row.MaxRelError = found.Candidates[0].MaxError
		}
		return row, "", fatal(err)
	}
	row.Verified = true
	row.Millis, row.TFLOPS, row.MaxRelError = found.Best.Nanos/1e6, found.Best.GFLOPS/1e3, found.Best.MaxError
	row.LeastMillis, row.MostMillis = found.Best.LeastNanos/1e6, found.Best.MostNanos/1e6
	return row, found.Timer, nil
}

// search finds the fastest of all choices and keeps it.
func (b *kernelsBench) search(ctx context.Context, g *gpu, s conv2d.Shape) (conv2d.Choice, error) {
	found, err := tune.Search(ctx, g.context, g.cache, s, tune.Options{Budget: b.budget, Exact: b.exact})
	if err != nil {
		return conv2d.Choice{}, err
	}
	return found.Best.Choice, found.Keep(g.cache)
}

func (r *kernelsResult) shapes() []string {
	var list []string
	for _, row := range r.Rows {
		list = append(list, row.Shape)
	}
	return list
}

// compare puts the peer's times beside ours. A row that is wrong has no ratio.
func (r *kernelsResult) compare(peers map[string]peerTime) {
	for i := range r.Rows {
		row := &r.Rows[i]
		p, ok := peers[row.Shape]
		if !ok || p.Millis <= 0 {
			continue
		}
		row.Peer, row.PeerMillis, row.PeerLeast, row.PeerMost = p.Peer, p.Millis, p.Least, p.Most
		if row.Verified {
			row.Ratio = p.Millis / row.Millis
		}
	}
}

// summarize finds the mean and the worst of the ratios.
func (r *kernelsResult) summarize() {
	logs, n := 0.0, 0
	for _, row := range r.Rows {
		if row.Ratio == 0 {
			continue
		}
		logs, n = logs+math.Log(row.Ratio), n+1
		if r.WorstShape == "" || row.Ratio < r.WorstRatio {
			r.WorstRatio, r.WorstShape = row.Ratio, row.Shape
		}
	}
	if n > 0 {
		r.GeomeanRatio = math.Exp(logs / float64(n))
	}
}

func (r *kernelsResult) verdict() error {
	for _, row := range r.Rows {
		if !row.Verified {
			return hintedError{fmt.Errorf("bench: %s was not computed rightly: %s", row.Shape, row.Error),
				"shadercache tune " + row.Shape + " --again finds what is right"}
		}
	}
	if r.Interrupted {
		return context.Canceled
	}
	return r.failed
}

func (r *kernelsResult) print(w io.Writer) {
	fmt.Fprintf(w, "%s\ndriver %s\ndriver's own cache: %s\n%s\n\n", r.GPU, r.Driver, r.DriverCache, r.Origin)
	fmt.Fprint(w, "shape\tms\tleast\tmost\tTFLOP/s\terror\tpeer\tpeer ms\tratio\tbasis\talgorithm\n")
	for _, row := range r.Rows {
		peer, peerMillis, ratio := "-", "-", "-"
		if row.Peer != "" {
			peer, peerMillis = row.Peer, fmt.Sprintf("%.4f", row.PeerMillis)
		}
		if row.Ratio > 0 {
			ratio = fmt.Sprintf("%.2f", row.Ratio)
		}
		ms := fmt.Sprintf("%.4f\t%.4f\t%.4f\t%.3f\t%.1e", row.Millis, row.LeastMillis, row.MostMillis, row.TFLOPS, row.MaxRelError)
		if !row.Verified {
			ms = "wrong\t-\t-\t-\t-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", row.Shape, ms, peer, peerMillis, ratio, row.Basis, row.Algorithm)
	}
	fmt.Fprintln(w)
	if r.GeomeanRatio > 0 {
		fmt.Fprintf(w, "geometric mean of the ratios %.2f, worst %.2f (%s)\n", r.GeomeanRatio, r.WorstRatio, r.WorstShape)
	}
	if r.LeftOut > 0 {
		fmt.Fprintf(w, "%s too long for a software driver left out; name them to run them\n", plural(r.LeftOut, "shape"))
	}
	if r.Verified && len(r.Rows) > 0 {
		fmt.Fprintf(w, "every result was compared with the CPU's, before and after it was timed;\ntimes are by the %s clock\n", r.Timer)
	}
}
