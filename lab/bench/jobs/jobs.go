// Package jobs measures what it costs to run jobs through the executor: a stream of
// jobs, each with an input, a kernel of a given length that works on every word of it,
// and an output, with as many pending as the executor takes. Depth 1 is the synchronous
// form of the same code.
//
// Kernel lengths are reached by a number of rounds that is calibrated at the start. The
// CPU computes what the kernel computes without rounds, so that every word can be
// checked, and every job has an input of its own, so that an old result shows.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/lab/bench/measure"
)

// Options configure Run.
type Options struct {
	Workloads  []string      `flag:"workloads" list:"commas" help:"small (4 KiB each way, kernels of 2 to 1000 us), large (16 MiB each way, 1000 us), upload, or several"`
	Seconds    float64       `flag:"seconds" help:"about how long each run of a row takes"`
	Repeat     int           `flag:"repeat" help:"runs of each row for its figures, for medians"`
	LargeBytes cli.ByteSize  `flag:"large-bytes" help:"bytes each way of a large job (default 16 MiB)"`
	Soak       time.Duration `flag:"soak" help:"instead, run mixed jobs for this long and report what grows or stalls" must:"above 0"`
}

// Validate returns an error for options that Run does not accept.
func (o Options) Validate() error {
	for _, name := range o.Workloads {
		if name != "small" && name != "large" && name != "upload" {
			return fmt.Errorf("there is no workload %q (there are small, large and upload)", name)
		}
	}
	switch {
	case o.Seconds <= 0 || o.Seconds > 60:
		return errors.New("--seconds must be above 0 and at most 60")
	case o.Repeat < 1 || o.Repeat > 100:
		return errors.New("--repeat must be 1 to 100")
	case o.Soak != 0 && o.Soak < time.Second:
		return errors.New("--soak must be at least 1s")
	case o.LargeBytes < smallBytes || o.LargeBytes > 1<<28 || o.LargeBytes%smallBytes != 0:
		return fmt.Errorf("--large-bytes must be a multiple of %d, at most 256 MiB", smallBytes)
	}
	return nil
}

// run is one call of Run.
type run struct {
	Options
	ctx    context.Context
	gpu    *cli.GPU
	kernel *cache.Handle
	sample *cache.Handle
	bar    *progressbar.ProgressBar
	result *Result

	affines map[uint32]affine // by rounds
}

// Run measures the rows of the workloads, or runs the soak. After an interrupt it
// returns the rows that are done.
func Run(o *cli.Options, options Options) (*Result, error) {
	return measure.OnGPU(o, func(ctx context.Context, gpu *cli.GPU, h bench.Header) (*Result, error) {
		r := &run{Options: options, ctx: ctx, gpu: gpu, affines: map[uint32]affine{}, result: &Result{
			Workload: "ring", Header: h.WithDriverCache(gpu), Repeat: options.Repeat,
			Verified: true, Rows: []Row{}, Parts: []PartFigures{},
		}}
		steps, what := planRows(r.plan()), "measuring"
		if r.Soak > 0 {
			steps, what = soakSamples+1, "soaking"
		}
		r.bar = o.NewProgress(steps, what)
		err := r.measure()
		_ = r.bar.Finish()
		r.result.Interrupted = err != nil && ctx.Err() != nil && len(r.result.Rows) > 0
		if err != nil && !r.result.Interrupted {
			return nil, fmt.Errorf("bench: %w", err)
		}
		return r.result, nil
	})
}

// measure gets the programs, and measures the rows or runs the soak.
func (r *run) measure() (err error) {
	if r.kernel, err = r.gpu.Cache.Get(r.ctx, kernelSource()); err != nil {
		return err
	}
	defer r.kernel.Release()
	if r.sample, err = r.gpu.Cache.Get(r.ctx, sampleSource()); err != nil {
		return err
	}
	defer r.sample.Release()
	if r.Soak > 0 {
		return r.soak()
	}
	return r.rows()
}

// rows measures every row of the plan, and the upload.
func (r *run) rows() error {
	for _, size := range r.plan() {
		if err := r.measureSize(size); err != nil {
			return err
		}
	}
	if slices.Contains(r.Workloads, "upload") || slices.Contains(r.Workloads, "large") {
		return r.measureUpload()
	}
	return nil
}

// measureSize runs one size at every depth.
func (r *run) measureSize(size jobSize) error {
	rounds, parts, err := r.calibrate(size)
	if err != nil {
		return err
	}
	depth1 := 0.0
	var rows []Row
	for _, o := range size.runs() {
		row, host, err := r.row(size, o, rounds)
		if err != nil {
			return err
		}
		if o.Depth == 1 {
			depth1 = row.JobsPerSecond
		}
		parts.HostMicros = host // of the deepest, where it is only the caller's side
		row.SpeedupVsDepth1 = row.JobsPerSecond / depth1
		rows = append(rows, row)
		_ = r.bar.Add(1)
	}
	for i := range rows {
		rows[i].OverlapBound = parts.sum() / parts.largest()
		rows[i].OfBound = parts.largest() * rows[i].JobsPerSecond / 1e6
		r.result.Verified = r.result.Verified && rows[i].Verified
	}
	r.result.Rows = append(r.result.Rows, rows...)
	r.result.Parts = append(r.result.Parts, parts)
	return nil
}

// row measures one executor, and what the caller's side of a job takes, in
// microseconds: Repeat times for the figures, then with the GPU's clock read, then
// checking every word.
func (r *run) row(size jobSize, o executor.Options, rounds uint32) (Row, float64, error) {
	row := Row{KernelMicros: size.kernelMicros, UpBytes: size.bytes, DownBytes: size.bytes,
		Depth: o.Depth, MaxDelayMicros: measure.Micros(o.MaxDelay), SlotJobs: o.SlotJobs}
	var runs []streamFigures
	jobs, wrong := 0, 0
	for range r.Repeat {
		f, err := r.stream(o, size, rounds, jobs, checkSome)
		if err != nil {
			return row, 0, err
		}
		runs, jobs, wrong = append(runs, f), f.jobs, wrong+f.wrong
	}
	plain := measure.MedianBy(runs, streamFigures.jobsPerSecond)
	row.setFigures(plain, runs)

	o.Timing = true
	timed, err := r.stream(o, size, rounds, jobs, checkSome)
	if err != nil {
		return row, 0, err
	}
	row.GPUMillis = cli.Milliseconds(timed.stats.GPUTime)
	row.wallBelowGPUTime = timed.wall < timed.stats.GPUTime

	o.Timing = false
	full, err := r.stream(o, size, rounds, min(jobs, max(2*o.Depth*size.slotJobs, 8)), checkAll)
	if err != nil {
		return row, 0, err
	}
	row.Verified = wrong+timed.wrong+full.wrong == 0
	return row, plain.submit + plain.fetch, nil
}
