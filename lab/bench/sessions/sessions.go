// Package sessions measures kernels that keep running: sessions of package resident, in
// every mode. What the driver shows a running kernel is probed first; where a kernel does
// not see what the host writes, the persistent mode runs as ticks, and the row has the
// reason.
package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/lab/bench/measure"
	"github.com/shadercache/shadercache/resident"
)

// Workloads are the names for Options.Workloads.
var Workloads = []string{"persistence", "round_trip", "live", "barrier", "preempt", "reread"}

// Options configure Run.
type Options struct {
	Workloads  []string      `flag:"workloads" list:"commas" help:"what to measure (default all)" shown:""`
	Iterations uint64        `flag:"iterations" help:"iterations of persistence; its variants scale with it (default 10000000, 400000 on the CPU)" must:"above 0"`
	Seconds    float64       `flag:"seconds" help:"about how long each row takes"`
	Soak       time.Duration `flag:"soak" help:"how long each strategy runs in the soak test, as in 60s" must:"above 0"`
}

// Validate returns an error for options that Run does not accept.
func (o Options) Validate() error {
	for _, name := range o.Workloads {
		if !slices.Contains(Workloads, name) {
			return fmt.Errorf("there is no workload %q (there are %s)", name, strings.Join(Workloads, ", "))
		}
	}
	switch {
	case len(o.Workloads) == 0 && o.Soak == 0:
		return errors.New("without --workloads and --soak there is nothing to measure")
	case o.Seconds <= 0 || o.Seconds > 60:
		return errors.New("--seconds must be above 0 and at most 60")
	case o.Iterations > 1<<40:
		return errors.New("--iterations must be at most 2^40")
	case o.Soak < 0 || o.Soak > 24*time.Hour:
		return errors.New("--soak must be 0 to 24h")
	}
	return nil
}

// Default iterations: those of the workload persistence, and what a CPU does in about
// the same time.
const (
	fullIterations     = 10_000_000
	softwareIterations = 400_000
)

// warmTime is how long an idle GPU needs to reach its full clock.
const warmTime = 300 * time.Millisecond

// run is one call of Run.
type run struct {
	Options
	ctx    context.Context
	gpu    *cli.GPU
	warm   time.Duration // of work before each row, so that the clock is at its full rate
	caps   *resident.Capabilities
	bar    *progressbar.ProgressBar
	result *Result
}

// Run measures the workloads, and the soak test if one is asked for. A workload that
// fails does not end the others: the result has its error.
func Run(o *cli.Options, options Options) (*Result, error) {
	return measure.OnGPU(o, func(ctx context.Context, gpu *cli.GPU, h bench.Header) (*Result, error) {
		caps, err := probe(ctx, measure.Own(o), gpu)
		if err != nil {
			return nil, err
		}
		r := &run{Options: options, ctx: ctx, gpu: gpu, caps: caps, bar: o.NewProgress(-1, "measuring"),
			result: &Result{Header: h, Capabilities: *caps, Verified: true}}
		r.adapt()
		measures := map[string]func() error{"persistence": r.persistence, "round_trip": r.roundTrip, "live": r.live,
			"barrier": r.barrier, "preempt": r.preempt, "reread": r.reread}
		for _, name := range r.Workloads {
			r.measure(name, measures[name])
		}
		if r.Soak > 0 {
			r.measure("soak", r.soak)
		}
		_ = r.bar.Finish()
		return r.result, nil
	})
}

// adapt sets what depends on the GPU.
func (r *run) adapt() {
	iterations := uint64(softwareIterations)
	if !r.gpu.Context.Info().Software() {
		iterations, r.warm = fullIterations, warmTime
	}
	if r.Iterations == 0 {
		r.Iterations = iterations
	}
}

// measure measures one workload and records its error. After an interrupt it measures
// none, and records that once.
func (r *run) measure(name string, workload func() error) {
	if r.result.failed != nil && r.ctx.Err() != nil {
		return
	}
	err := r.ctx.Err()
	if err == nil {
		err = workload()
	}
	if err != nil {
		r.result.failed = errors.Join(r.result.failed, fmt.Errorf("bench: %s: %w", name, err))
	}
}

// addRow adds a row. If it is not verified, the result is not.
func (r *run) addRow(row Row) {
	r.result.Rows = append(r.result.Rows, row)
	r.result.Verified = r.result.Verified && row.Verified
	_ = r.bar.Add(1)
}

// session opens a session and returns it with a row that has its mode.
func (r *run) session(k resident.Kernel, o resident.Options, workload, variant string) (*resident.Session, Row, error) {
	o.Capabilities = r.caps
	s, err := resident.New(r.ctx, r.gpu.Context, r.gpu.Cache, k, o)
	if err != nil {
		return nil, Row{}, err
	}
	m := s.Mode()
	return s, Row{Workload: workload, Strategy: m.Requested.String(), Got: m.Actual.String(), Why: m.Reason, Variant: variant}, nil
}

// rowTime returns how long a row takes.
func (r *run) rowTime() time.Duration { return time.Duration(r.Seconds * float64(time.Second)) }

// probe measures what the driver shows a running kernel, also where an earlier result is
// stored. It stores the result beside the driver's programs, if the cache has a directory.
func probe(ctx context.Context, o *cli.Options, g *cli.GPU) (*resident.Capabilities, error) {
	store, err := probeStore(o, g)
	if err != nil || store == nil {
		o.Logger().Info("the result of the probe is not stored", "reason", err)
		return resident.Probe(ctx, g.Context, g.Cache, nil)
	}
	defer store.Close()
	return resident.Probe(ctx, g.Context, g.Cache, freshProbe{store})
}

// probeStore returns the store of the driver, or nil.
func probeStore(o *cli.Options, g *cli.GPU) (*binary.Store, error) {
	if g.Cache.Stats().MemoryOnly != "" {
		return nil, nil
	}
	_, dir, err := o.OpenDirectory()
	if err != nil || dir == nil {
		return nil, err
	}
	return dir.Store(g.Context.Fingerprint())
}

// freshProbe is a store that accepts results of a probe and returns none.
type freshProbe struct{ *binary.Store }

func (freshProbe) Probe() ([]byte, error) { return nil, binary.ErrNotFound }
