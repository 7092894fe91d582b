package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/internal/cli"
)

const benchExecutorUsage = `Measure what it costs to run jobs through the executor.

The workload is a stream of jobs, each with an input, a kernel of a given length
that works on every word of it, and an output. One goroutine submits jobs and
waits for them in order, with as many pending as the executor takes. Depth 1 is
the synchronous form of the same code: one job after the other.

Kernel lengths are reached by the number of rounds, calibrated at the start. The
kernel computes what the CPU can compute without rounds, so that every word can
be checked, and every job has an input of its own, so that an old result shows.

Each row is run for its figures --repeat times, checking the first word of every
64 KiB and the last one; again with the GPU's clock read, for gpu_ms, which must
not pass that run's own wall time; and once more checking every word. Its figures are
those of the run in the middle; least and most are the jobs a second of the slowest
and the fastest. An interrupt prints the rows that are done.

A kernel cannot be shorter than a dispatch and its barrier: what the parts below say
about a kernel alone is what a row really ran, and what its bound is made from.

Figures of a row:
  us/job    wall time a job
  speed-up  jobs a second against depth 1
  bound     what overlap can give: (upload + kernel + download + host) / the
            largest of them, each measured alone, host being the caller's side
  of bound  the largest of them / wall time a job: 1.00 is perfect overlap, and
            more is possible where a kernel leaves room for others beside it
  batch     jobs that share a fence, on average
  CPU us    CPU time of the whole process, a job
  CPU       the same in per cent of one CPU
  Submit    the caller's side, as a median of calls now and then

A row with a delay lets results lie for so long, so that one look at the GPU serves
several jobs: it shows what that saves of CPU time.

Below the rows: the parts of a job alone, and the upload bandwidth of jobs whose
input lies in the slot already.

With --soak TIME instead of the rows: four goroutines run rounds of mixed jobs, 64
bytes to 1 MiB, copied or mapped, one kernel or two, and check every word. Memory,
buffers, fences, programs and goroutines are counted after a tenth of the time and
at the end. A stall is a round that takes more than 10 times the median.

JSON fields: workload, gpu, driver, driver_cache, ` + cli.OriginFields + `,
repeat, interrupted, rows [{kernel_us, up_bytes, down_bytes, depth, max_delay_us,
slot_jobs, jobs, wall_ms, gpu_ms, jobs_per_s, least_jobs_per_s, most_jobs_per_s,
speedup_vs_depth1,
overlap_bound, of_bound, jobs_per_batch, submit_us, cpu_us_per_job, cpu_percent,
allocations_per_job, verified}], upload {job_bytes, jobs, gb_per_s, verified},
parts [{kernel_us, up_bytes, down_bytes, upload_us, kernel_measured_us,
download_us, host_us}], soak {seconds, workers, jobs, jobs_per_s, rounds,
round_median_ms, round_p99_ms, round_max_ms, stall_ratio, stalled,
rss_growth_bytes, heap_growth_bytes, leaks, samples [{at_s, jobs, rss_bytes,
heap_bytes, goroutines, buffers, fences, programs_in_use}], verified}, verified.

The exit code is 1 when a result was wrong, when wall time was below the GPU's
time of the same work, or when something grew in a soak.`

func newBenchExecutor(o *options) *cobra.Command {
	var b executorBench
	workloads := "small,large"
	cmd := &cobra.Command{
		Use:                   "executor [--workloads NAMES] [--seconds S] [--repeat N] [--large-bytes SIZE] [--soak TIME]",
		DisableFlagsInUseLine: true,
		Short:                 "Measure jobs with uploads and downloads, one after the other and side by side",
		Long:                  benchExecutorUsage,
		Args:                  cli.UsageArgs(cli.NoArguments),
		Example:               "  shadercache bench executor --workloads small --json | jq '.rows[] | select(.kernel_us == 1000)'",
	}
	flags := cmd.Flags()
	flags.StringVar(&workloads, "workloads", workloads, "small (4 KiB each way, kernels of 2 to 1000 us), large (16 MiB each way, 1000 us), upload, or several")
	flags.Float64Var(&b.seconds, "seconds", 0.5, "about how long each run of a row takes")
	flags.IntVar(&b.repeat, "repeat", 1, "runs of each row for its figures, for medians")
	flags.DurationVar(&b.soakTime, "soak", 0, "instead, run mixed jobs for so long and see whether anything grows or stalls")
	flags.Var(&b.largeBytes, "large-bytes", "bytes each way of a large job (default 16 MiB)")
	b.largeBytes = 16 << 20
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := b.choose(workloads); err != nil {
			return cli.Usage(cmd, err)
		}
		r, err := b.run(o)
		return o.Show(r, err)
	}
	return cmd
}

// executorBench runs the rows.
type executorBench struct {
	seconds    float64
	repeat     int
	largeBytes cli.ByteSize
	soakTime   time.Duration
	workloads  []string
	known      map[uint32]affine

	ctx    context.Context
	gpu    *cli.GPU
	kernel *cache.Handle
	sample *cache.Handle
	bar    *progressbar.ProgressBar
	result *executorResult
}

// ringSize is one size and length of jobs, at several depths.
type ringSize struct {
	kernelMicros float64
	bytes        int
	slotJobs     int
	depths       []int
	delayed      []delayedRun // further ones, with results that may lie for a while
}

type delayedRun struct {
	depth int
	most  time.Duration
}

const smallBytes = 4 << 10

// plan is what the chosen workloads run.
func (b *executorBench) plan() []ringSize {
	var plan []ringSize
	if slices.Contains(b.workloads, "small") {
		for _, micros := range []float64{2, 10, 100} {
			plan = append(plan, ringSize{micros, smallBytes, 256, []int{1, 2, 3, 8}, nil})
		}
		// One job a batch: CPU time with kernels of 1 ms is to be seen.
		plan = append(plan, ringSize{1000, smallBytes, 1, []int{1, 2, 3, 8}, []delayedRun{{8, 3 * time.Millisecond}, {16, 6 * time.Millisecond}, {32, 12 * time.Millisecond}}})
	}
	if slices.Contains(b.workloads, "large") {
		plan = append(plan, ringSize{1000, int(b.largeBytes), 1, []int{1, 2, 3, 4, 6}, nil})
	}
	return plan
}

// choose checks the flags.
func (b *executorBench) choose(workloads string) error {
	b.workloads = strings.Split(workloads, ",")
	for _, name := range b.workloads {
		if name != "small" && name != "large" && name != "upload" {
			return fmt.Errorf("there is no workload %q (there are small, large and upload)", name)
		}
	}
	if slices.Contains(b.workloads, "large") && !slices.Contains(b.workloads, "upload") {
		b.workloads = append(b.workloads, "upload")
	}
	switch {
	case b.seconds <= 0 || b.seconds > 60:
		return errors.New("--seconds must be above 0 and at most 60")
	case b.repeat < 1 || b.repeat > 100:
		return errors.New("--repeat must be 1 to 100")
	case b.soakTime != 0 && b.soakTime < time.Second:
		return errors.New("--soak must be at least 1s")
	case b.largeBytes < smallBytes || b.largeBytes > 1<<28 || b.largeBytes%smallBytes != 0:
		return fmt.Errorf("--large-bytes must be a multiple of %d, at most 256 MiB", smallBytes)
	}
	return nil
}

func (b *executorBench) run(o *options) (r *executorResult, err error) {
	var stop context.CancelFunc
	b.ctx, stop = cli.Interruptible()
	defer stop()
	from := cli.NewOrigin()
	if b.gpu, err = o.OpenGPU(cache.Options{}); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.gpu.Close()) }()
	state := b.gpu.DriverCacheState()
	if b.kernel, err = b.gpu.Cache.Get(b.ctx, ringSource()); err != nil {
		return nil, err
	}
	defer b.kernel.Release()
	if b.sample, err = b.gpu.Cache.Get(b.ctx, sampleSource()); err != nil {
		return nil, err
	}
	defer b.sample.Release()

	b.result = &executorResult{
		Workload: "ring", GPU: b.gpu.Name(), Driver: b.gpu.Driver(), DriverCache: state, Origin: from, Repeat: b.repeat,
		Verified: true, Rows: []executorRow{}, Parts: []partFigures{},
	}
	if b.soakTime > 0 {
		b.bar = o.NewProgress(soakSamples+1, "soaking")
		if err := b.soak(); err != nil {
			return nil, fmt.Errorf("bench: %w", err)
		}
		_ = b.bar.Finish()
		return b.result, nil
	}
	if err := b.rows(o); err != nil {
		if b.ctx.Err() == nil || len(b.result.Rows) == 0 {
			return nil, fmt.Errorf("bench: %w", err)
		}
		b.result.Interrupted = true
	}
	_ = b.bar.Finish()
	return b.result, nil
}

// rows measures all that was chosen.
func (b *executorBench) rows(o *options) error {
	plan := b.plan()
	steps := 0
	for _, size := range plan {
		steps += len(size.runs())
	}
	b.bar = o.NewProgress(steps, "measuring")
	for _, size := range plan {
		if err := b.measure(size); err != nil {
			return err
		}
	}
	if slices.Contains(b.workloads, "upload") {
		return b.measureUpload()
	}
	return nil
}

// measure runs one size at every depth.
func (b *executorBench) measure(size ringSize) error {
	rounds, parts, err := b.calibrate(size)
	if err != nil {
		return err
	}
	depth1 := 0.0
	var rows []executorRow
	for _, o := range size.runs() {
		row, host, err := b.row(size, o, rounds)
		if err != nil {
			return err
		}
		if o.Depth == 1 {
			depth1 = row.JobsPerSecond
		}
		parts.HostMicros = host // of the deepest, where nothing but the caller's side is in it
		row.SpeedupVsDepth1 = row.JobsPerSecond / depth1
		rows = append(rows, row)
		_ = b.bar.Add(1)
	}
	for i := range rows {
		rows[i].OverlapBound = parts.sum() / parts.largest()
		rows[i].OfBound = parts.largest() * rows[i].JobsPerSecond / 1e6
		b.result.Verified = b.result.Verified && rows[i].Verified
	}
	b.result.Rows = append(b.result.Rows, rows...)
	b.result.Parts = append(b.result.Parts, parts)
	return nil
}

// runs are the executors that a size is measured with.
func (size ringSize) runs() (list []executor.Options) {
	add := func(depth int, delay time.Duration) {
		o := executor.Options{Depth: depth, SlotJobs: size.slotJobs, MaxDelay: delay}
		if depth == 1 {
			o.SlotJobs = 1
		}
		o.SlotBytes = size.bytes * o.SlotJobs
		list = append(list, o)
	}
	for _, depth := range size.depths {
		add(depth, 0)
	}
	for _, run := range size.delayed {
		add(run.depth, run.most)
	}
	return list
}

// row measures one executor, and what the caller's side of a job takes.
func (b *executorBench) row(size ringSize, o executor.Options, rounds uint32) (executorRow, float64, error) {
	row := executorRow{KernelMicros: size.kernelMicros, UpBytes: size.bytes, DownBytes: size.bytes,
		Depth: o.Depth, MaxDelayMicros: float64(o.MaxDelay) / 1e3, SlotJobs: o.SlotJobs}
	var plain streamFigures
	var all []streamFigures
	wrong := 0
	for range b.repeat {
		f, err := b.stream(o, size, rounds, plain.jobs, checkSome)
		if err != nil {
			return row, 0, err
		}
		plain, all, wrong = f, append(all, f), wrong+f.wrong
	}
	plain = medianBy(all, streamFigures.jobsPerSecond)
	speeds := newSpread(speedsOf(all))
	row.LeastJobs, row.MostJobs = speeds.Least, speeds.Most
	row.Jobs = plain.jobs
	row.WallMillis = cli.Milliseconds(plain.wall)
	row.JobsPerSecond = plain.jobsPerSecond()
	row.JobsPerBatch = float64(plain.stats.Jobs) / float64(plain.stats.Batches)
	row.SubmitMicros = plain.submit
	row.CPUMicrosPerJob = float64(plain.cpu) / 1e3 / float64(plain.jobs)
	row.CPUPercent = 100 * plain.cpu.Seconds() / plain.wall.Seconds()
	row.AllocationsAJob = plain.allocations

	o.Timing = true
	timed, err := b.stream(o, size, rounds, plain.jobs, checkSome)
	if err != nil {
		return row, 0, err
	}
	row.GPUMillis = cli.Milliseconds(timed.stats.GPUTime)
	row.wallBelowGPUTime = timed.wall < timed.stats.GPUTime

	o.Timing = false
	full, err := b.stream(o, size, rounds, min(plain.jobs, max(2*o.Depth*size.slotJobs, 8)), checkAll)
	if err != nil {
		return row, 0, err
	}
	row.Verified = wrong+timed.wrong+full.wrong == 0
	return row, plain.submit + plain.fetch, nil
}

// cpuTime is the CPU time that this process has used.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// allocations is how many allocations this process has made.
func allocations() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
