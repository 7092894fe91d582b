package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/internal/cli"
	"github.com/shadercache/shadercache/resident"
)

const benchResidentUsage = `Measure kernels that keep running: sessions of package resident, in every form.

What the driver does in flight is probed first; where it does not show a kernel
what the host writes, the persistent form runs as ticks, and the row says why.

Workloads:
  persistence  --iterations times 100 multiply-adds, over 16 groups of 256
               invocations, again and again for --seconds: rapid re-dispatch with
               10k, 50k, 100k and 500k iterations a dispatch, mega-dispatch with 1k,
               5k, 10k and 50k for each invocation, chain, double, triple,
               persistent, and claimed steps in chunks of 10k to 500k
  round_trip   a message to a kernel and its answer; to the last of 132 groups,
               and to all of them with all answers; a dispatch and a fence
  live         on one grid of 16 x 256, in ticks of 1 ms and persistently:
               injection until acknowledged, query, single step, and frames of 20
               steps, an injection and a query at 60 a second
  barrier      132 groups of 256 that wait for each other: within a dispatch, as
               the probe measured it, and as phases of a session
  reread       reading 64 KiB to 256 MiB again in the next dispatch: what caches
               keep over the boundary
  preempt      until a dispatch of somebody else has run while a session works
  soak         with --soak: every strategy for so long, with heartbeats

Figures of persistence: iterations a second; gap is what a dispatch takes beyond
its work, where work is what the fastest row needs for it; bound says which of
the two is larger than a fifth of the time. CPU is of the whole process, in per
cent of one CPU. Times of the others are medians, with the 99th percentile.

Every row is verified: each invocation's witness of its steps, each answer, each
injected value. JSON fields: gpu, driver, ` + cli.OriginFields + `,
capabilities, rows [{workload, strategy, got,
why, variant, iterations, per_s, wall_ms, dispatches, gap_us, bound_by, samples,
median_us, p99_us, max_us, gb_per_s, cpu_percent, heartbeat_median_ms, heartbeat_max_ms,
naps_per_s, looks_per_s, longest_tick_ms, stop_ms, verified}], verified. Of soak: naps
are how often the session's driver woke, looks how often it asked the GL thread for a
fence, longest tick what the longest submission took by the GPU's clock or, where that
makes no sense, at most, stop until all groups had done the same steps.

The exit code is 1 when anything was wrong.`

// residentWorkloads are what --workloads knows.
var residentWorkloads = []string{"persistence", "round_trip", "live", "barrier", "preempt", "reread"}

func newBenchResident(o *options) *cobra.Command {
	var b residentBench
	workloads := strings.Join(residentWorkloads, ",")
	cmd := &cobra.Command{
		Use:                   "resident [--workloads NAMES] [--iterations N] [--seconds S] [--soak TIME]",
		DisableFlagsInUseLine: true,
		Short:                 "Measure kernels that keep running, in every form",
		Long:                  benchResidentUsage,
		Example:               "  shadercache bench resident --workloads round_trip,barrier --json",
		Args:                  cli.UsageArgs(cli.NoArguments),
	}
	flags := cmd.Flags()
	flags.StringVar(&workloads, "workloads", workloads, "what to measure")
	flags.Uint64Var(&b.iterations, "iterations", 0, "iterations of persistence; its variants scale with it (default 10000000, 400000 on the CPU)")
	flags.Float64Var(&b.seconds, "seconds", 0.3, "about how long each row takes")
	flags.DurationVar(&b.soak, "soak", 0, "how long each strategy runs in the soak test, as in 60s")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := b.choose(workloads); err != nil {
			return cli.Usage(cmd, err)
		}
		r, err := b.run(o)
		return o.Show(r, err)
	}
	return cmd
}

// residentResult is what bench resident prints.
type residentResult struct {
	GPU          string                `json:"gpu"`
	Driver       string                `json:"driver"`
	Origin       cli.Origin            `json:"origin"`
	Capabilities resident.Capabilities `json:"capabilities"`
	Rows         []residentRow         `json:"rows"`
	Verified     bool                  `json:"verified"`

	failed error // of a workload; the rows of the others are there
}

// residentRow is one workload in one form.
type residentRow struct {
	Workload        string  `json:"workload"`
	Strategy        string  `json:"strategy"`
	Got             string  `json:"got"` // the form that ran
	Why             string  `json:"why,omitempty"`
	Variant         string  `json:"variant,omitempty"`
	Iterations      uint64  `json:"iterations,omitempty"`
	PerSecond       float64 `json:"per_s,omitempty"`
	WallMillis      float64 `json:"wall_ms,omitempty"`
	Dispatches      uint64  `json:"dispatches,omitempty"`
	GapMicros       float64 `json:"gap_us,omitempty"`
	BoundBy         string  `json:"bound_by,omitempty"`
	Samples         int     `json:"samples,omitempty"`
	MedianMicros    float64 `json:"median_us,omitempty"`
	P99Micros       float64 `json:"p99_us,omitempty"`
	MaxMicros       float64 `json:"max_us,omitempty"`
	GBPerSecond     float64 `json:"gb_per_s,omitempty"`
	CPUPercent      float64 `json:"cpu_percent,omitempty"`
	HeartbeatMedian float64 `json:"heartbeat_median_ms,omitempty"`
	HeartbeatMax    float64 `json:"heartbeat_max_ms,omitempty"`
	NapsPerSecond   float64 `json:"naps_per_s,omitempty"`
	LooksPerSecond  float64 `json:"looks_per_s,omitempty"`
	LongestTick     float64 `json:"longest_tick_ms,omitempty"`
	StopMillis      float64 `json:"stop_ms,omitempty"`
	Verified        bool    `json:"verified"`
}

// took sets the figures of calls that took so long.
func (r *residentRow) took(times []time.Duration) {
	slices.Sort(times)
	r.Samples = len(times)
	if len(times) > 0 {
		r.MedianMicros = micros(times[len(times)/2])
		r.P99Micros = micros(times[len(times)*99/100])
		r.MaxMicros = micros(times[len(times)-1])
	}
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// residentBench runs the rows.
type residentBench struct {
	iterations uint64
	seconds    float64
	soak       time.Duration
	workloads  []string

	ctx    context.Context
	gpu    *cli.GPU
	warm   time.Duration // of work before each row, so that clocks are up
	caps   *resident.Capabilities
	bar    *progressbar.ProgressBar
	result *residentResult
}

// choose checks the flags.
func (b *residentBench) choose(workloads string) error {
	if workloads != "" {
		b.workloads = strings.Split(workloads, ",")
	}
	for _, name := range b.workloads {
		if !slices.Contains(residentWorkloads, name) {
			return fmt.Errorf("there is no workload %q (there are %s)", name, strings.Join(residentWorkloads, ", "))
		}
	}
	switch {
	case len(b.workloads) == 0 && b.soak == 0:
		return errors.New("without --workloads and --soak there is nothing to measure")
	case b.seconds <= 0 || b.seconds > 60:
		return errors.New("--seconds must be above 0 and at most 60")
	case b.iterations > 1<<40:
		return errors.New("--iterations must be at most 2^40")
	case b.soak < 0 || b.soak > 24*time.Hour:
		return errors.New("--soak must be 0 to 24h")
	}
	return nil
}

// Iterations by default: what workload persistence says, and what a CPU does in
// about as long.
const (
	fullIterations     = 10_000_000
	softwareIterations = 400_000
)

// warmTime is how long a GPU that slept needs to come to its full clock.
const warmTime = 300 * time.Millisecond

// adapt sets what depends on the GPU.
func (b *residentBench) adapt() {
	iterations := uint64(softwareIterations)
	if !b.gpu.Context.Info().Software() {
		iterations, b.warm = fullIterations, warmTime
	}
	if b.iterations == 0 {
		b.iterations = iterations
	}
}

func (b *residentBench) run(o *options) (r *residentResult, err error) {
	var stop context.CancelFunc
	b.ctx, stop = cli.Interruptible()
	defer stop()
	if b.gpu, err = o.OpenGPU(cache.Options{}); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.gpu.Close()) }()
	b.adapt()
	from := cli.NewOrigin()
	if b.caps, err = o.probe(b.ctx, b.gpu, true); err != nil {
		return nil, err
	}
	b.result = &residentResult{GPU: b.gpu.Name(), Driver: b.gpu.Driver(), Origin: from, Capabilities: *b.caps, Verified: true}
	b.bar = o.NewProgress(-1, "measuring")
	measures := map[string]func() error{"persistence": b.persistence, "round_trip": b.roundTrip, "live": b.live,
		"barrier": b.barrier, "preempt": b.preempt, "reread": b.reread}
	for _, name := range b.workloads {
		b.part(name, measures[name])
	}
	if b.soak > 0 {
		b.part("soak", b.soakAll)
	}
	_ = b.bar.Finish()
	return b.result, nil
}

// part measures one workload. Others follow when it fails, unless somebody wants an
// end.
func (b *residentBench) part(name string, measure func() error) {
	if b.result.failed != nil && b.ctx.Err() != nil {
		return
	}
	err := b.ctx.Err()
	if err == nil {
		err = measure()
	}
	if err != nil {
		b.result.failed = errors.Join(b.result.failed, fmt.Errorf("bench: %s: %w", name, err))
	}
}

// add adds a row. A row that is not verified makes all of it so.
func (b *residentBench) add(r residentRow) {
	b.result.Rows = append(b.result.Rows, r)
	b.result.Verified = b.result.Verified && r.Verified
	_ = b.bar.Add(1)
}

// session is a session with a row that says in which form it runs.
func (b *residentBench) session(k resident.Kernel, o resident.Options, workload, variant string) (*resident.Session, residentRow, error) {
	o.Capabilities = b.caps
	s, err := resident.New(b.ctx, b.gpu.Context, b.gpu.Cache, k, o)
	if err != nil {
		return nil, residentRow{}, err
	}
	f := s.Mode()
	return s, residentRow{Workload: workload, Strategy: f.Requested.String(), Got: f.Actual.String(), Why: f.Reason, Variant: variant}, nil
}

// duration is how long a row takes.
func (b *residentBench) duration() time.Duration {
	return time.Duration(b.seconds * float64(time.Second))
}

// probe finds out what the driver does in flight, or with fresh measures it
// again. The result lies beside the driver's programs, where there is a place.
func (o *options) probe(ctx context.Context, g *cli.GPU, fresh bool) (*resident.Capabilities, error) {
	keep, err := o.probeKeeper(g)
	if err != nil || keep == nil {
		o.Logger().Info("what the probe finds out is not kept", "reason", err)
		return resident.Probe(ctx, g.Context, g.Cache, nil)
	}
	defer keep.Close()
	if fresh {
		return resident.Probe(ctx, g.Context, g.Cache, forgetful{keep})
	}
	return resident.Probe(ctx, g.Context, g.Cache, keep)
}

// probeKeeper is the store of the driver, or nil.
func (o *options) probeKeeper(g *cli.GPU) (*binary.Store, error) {
	if g.Cache.Stats().MemoryOnly != "" {
		return nil, nil
	}
	_, dir, err := o.OpenDirectory()
	if err != nil || dir == nil {
		return nil, err
	}
	return dir.Store(g.Context.Fingerprint())
}

// forgetful keeps results and does not remember them.
type forgetful struct{ *binary.Store }

func (forgetful) Probe() ([]byte, error) { return nil, binary.ErrNotFound }

func (r *residentResult) Verdict() error {
	if r.failed != nil {
		return r.failed
	}
	if !r.Verified {
		return unverified("a session was not where its steps should have led it")
	}
	return nil
}

func (r *residentResult) Print(w io.Writer) {
	fmt.Fprintf(w, "%s\ndriver %s\n%s\n", r.GPU, r.Driver, r.Origin)
	fmt.Fprint(w, probed(r.Capabilities))
	workload := ""
	for _, row := range r.Rows {
		if row.Workload != workload {
			workload = row.Workload
			fmt.Fprintf(w, "\n%s\n", rowHeader(workload))
		}
		fmt.Fprintln(w, row.columns())
	}
	fmt.Fprintln(w)
	for _, why := range r.reasons() {
		fmt.Fprintln(w, why)
	}
	if r.Verified {
		fmt.Fprintln(w, "every session was where its steps should have led it")
	} else {
		fmt.Fprintln(w, "RESULTS WERE WRONG")
	}
}

// probed is what the driver does in flight, for people.
func probed(c resident.Capabilities) string {
	no := map[bool]string{false: " not"}
	text := fmt.Sprintf("probe: kernels do%s see what the host writes, it does%s see what they write;\n       %s of %d can wait for each other",
		no[c.HostWritesSeen], no[c.KernelWritesSeen], cli.Plural(int64(c.Residency), "group"), c.ResidencyGroup)
	if c.RoundTrip > 0 {
		text += fmt.Sprintf(", in %.2f us; there and back %.2f us", micros(c.Barrier), micros(c.RoundTrip))
	}
	if c.LoopLimit > 0 {
		text += fmt.Sprintf("; loops end after %d rounds", c.LoopLimit)
	}
	return text + "\n"
}

// reasons are why rows did not run as asked, each once.
func (r *residentResult) reasons() []string {
	var list []string
	for _, row := range r.Rows {
		why := row.Why
		if row.Got != row.Strategy {
			why = fmt.Sprintf("%s instead of %s: %s", row.Got, row.Strategy, row.Why)
		}
		if why != "" && !slices.Contains(list, why) {
			list = append(list, why)
		}
	}
	return list
}

func rowHeader(workload string) string {
	switch workload {
	case "persistence":
		return "persistence\tran as\t\titerations/s\tdispatches\tgap us\tbound by\tCPU %\tverified"
	case "soak":
		return "soak\tran as\t\titerations/s\theartbeat ms\tmost ms\tmost/median\tlongest tick ms\tCPU %\tverified"
	}
	return workload + "\tran as\t\tmedian us\t99 % us\tmost us\tsamples\tGB/s\tverified"
}

func (r residentRow) columns() string {
	head := fmt.Sprintf("%s\t%s\t%s\t", r.Strategy, r.Got, r.Variant)
	tail := fmt.Sprintf("\t%v", r.Verified)
	switch r.Workload {
	case "persistence":
		return head + fmt.Sprintf("%.4g\t%d\t%.1f\t%s\t%.1f", r.PerSecond, r.Dispatches, r.GapMicros, r.BoundBy, r.CPUPercent) + tail
	case "soak":
		return head + fmt.Sprintf("%.4g\t%.2f\t%.2f\t%.1f\t%.2f\t%.1f", r.PerSecond, r.HeartbeatMedian, r.HeartbeatMax,
			r.HeartbeatMax/max(r.HeartbeatMedian, 1e-9), r.LongestTick, r.CPUPercent) + tail
	}
	rate := ""
	if r.GBPerSecond > 0 {
		rate = fmt.Sprintf("%.3g", r.GBPerSecond)
	}
	return head + fmt.Sprintf("%.2f\t%.2f\t%.2f\t%d\t%s", r.MedianMicros, r.P99Micros, r.MaxMicros, r.Samples, rate) + tail
}
