package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
)

const benchDispatchUsage = `Measure what a dispatch costs when the kernel does next to nothing: one group
counts itself.

Figures, in microseconds:
  record        recording a dispatch on the GL thread, which does not wait
  dispatch      many dispatches in a row, until the GPU has done them, each
  fence         a dispatch, a flush and a fence, until the fence is reached
  submit        the caller's side of Submit
  round trip    Submit and Wait, one job at a time
  pipelined     jobs through the executor, many pending, each
  switch        a dispatch of another program than the one before, for 2 to 16
                programs in turn, and what it costs more than the same program
  gap           between the end of a dispatch and the begin of the next on the
                GPU's clock, with nothing between them but the time stamps; as a
                histogram by powers of 2. 0 where that clock does not run

JSON fields: gpu, driver, dispatches, record_us, dispatch_us, fence_us, submit_us,
round_trip_us, pipelined_us, switches [{programs, us, extra_us}], gap {median_us,
p99_us, max_us, histogram [{below_us, count}]}, verified.

The exit code is 1 when the kernels did not count every dispatch.`

// maxSwitched is the most programs that take turns.
const maxSwitched = 16

const countText = `
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Count { uint count; };
void main() { atomicAdd(count, uint(STEP)); }`

func newBenchDispatch(o *options) *cobra.Command {
	var b dispatchBench
	cmd := &cobra.Command{
		Use:                   "dispatch [--dispatches N]",
		DisableFlagsInUseLine: true,
		Short:                 "Measure what a dispatch costs",
		Long:                  benchDispatchUsage,
		Example:               "  shadercache bench dispatch --dispatches 1000 --json",
		Args:                  usageArgs(noArguments),
	}
	cmd.Flags().IntVar(&b.n, "dispatches", 10_000, "dispatches for each figure")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if b.n < 1 || b.n > 1_000_000 {
			return usageError{errors.New("--dispatches must be 1 to 1000000"), cmd.CommandPath()}
		}
		r, err := b.run(o)
		return o.show(r, err)
	}
	return cmd
}

// dispatchResult is what bench dispatch prints.
type dispatchResult struct {
	GPU             string          `json:"gpu"`
	Driver          string          `json:"driver"`
	Dispatches      int             `json:"dispatches"`
	RecordMicros    float64         `json:"record_us"`
	DispatchMicros  float64         `json:"dispatch_us"`
	FenceMicros     float64         `json:"fence_us"`
	SubmitMicros    float64         `json:"submit_us"`
	RoundTripMicros float64         `json:"round_trip_us"`
	PipelinedMicros float64         `json:"pipelined_us"`
	Switches        []switchFigures `json:"switches"`
	Gap             gapFigures      `json:"gap"`
	Verified        bool            `json:"verified"`
}

type switchFigures struct {
	Programs    int     `json:"programs"`
	Micros      float64 `json:"us"`
	ExtraMicros float64 `json:"extra_us"` // more than the same program over and over
}

type gapFigures struct {
	MedianMicros float64  `json:"median_us"`
	P99Micros    float64  `json:"p99_us"`
	MaxMicros    float64  `json:"max_us"`
	Histogram    []gapBin `json:"histogram"`
}

// gapBin counts the gaps below a power of 2, and not below the one before.
type gapBin struct {
	BelowMicros float64 `json:"below_us"`
	Count       int     `json:"count"`
}

// dispatchBench measures with programs that all count in one place. expected is
// where the count should be.
type dispatchBench struct {
	n        int
	ctx      context.Context
	gpu      *gpu
	programs []*cache.Handle
	expected uint32
	result   *dispatchResult
}

func (b *dispatchBench) run(o *options) (r *dispatchResult, err error) {
	var stop context.CancelFunc
	b.ctx, stop = interruptible()
	defer stop()
	if b.gpu, err = o.openGPU(cache.Options{}); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.gpu.close()) }()
	for i := range maxSwitched {
		h, err := b.gpu.cache.Get(b.ctx, countSource(i+1))
		if err != nil {
			return nil, err
		}
		defer h.Release()
		b.programs = append(b.programs, h)
	}
	b.result = &dispatchResult{GPU: b.gpu.name(), Driver: b.gpu.driver(), Dispatches: b.n}
	if err := b.measureGL(); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	if err := b.measureExecutor(); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	return b.result, nil
}

// countSource is the program that counts in steps of step.
func countSource(step int) *binary.Source {
	return binary.MustSource(fmt.Sprintf("bench_count_%d", step), countText, binary.Defines{"STEP": fmt.Sprint(step)})
}

// measureGL measures calls on the GL thread.
func (b *dispatchBench) measureGL() error {
	var got [4]uint32
	err := b.gpu.context.Do(func(gl *glctx.GL) error {
		count, err := gl.NewBuffer(16, make([]byte, 16))
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(count)
		gl.BindStorage(0, count)
		b.dispatchTime(gl, 1, b.n/10+1)
		b.result.RecordMicros, b.result.DispatchMicros = b.dispatchTime(gl, 1, b.n)
		if b.result.FenceMicros, err = b.fenceTime(gl); err != nil {
			return err
		}
		for programs := 2; programs <= maxSwitched; programs *= 2 {
			b.dispatchTime(gl, programs, programs)
			_, each := b.dispatchTime(gl, programs, b.n)
			b.result.Switches = append(b.result.Switches, switchFigures{programs, each, each - b.result.DispatchMicros})
		}
		b.result.Gap = b.gaps(gl)
		gl.MemoryBarrier(glctx.BarrierUpdate)
		gl.Download(count, 0, glctx.Bytes(got[:]))
		return gl.Err()
	})
	b.result.Verified = got[0] == b.expected
	return err
}

// dispatchTime makes n dispatches of so many programs in turn and returns how
// long recording one took, and all of it.
func (b *dispatchBench) dispatchTime(gl *glctx.GL, programs, n int) (record, each float64) {
	gl.Finish()
	gl.UseProgram(b.programs[0].Program())
	start := time.Now()
	for i := range n {
		if programs > 1 {
			gl.UseProgram(b.programs[i%programs].Program())
		}
		gl.Dispatch(1, 1, 1)
		b.expected += uint32(i%programs) + 1
	}
	recorded := time.Since(start)
	gl.Finish()
	return perCall(recorded, n), perCall(time.Since(start), n)
}

func perCall(d time.Duration, n int) float64 { return float64(d) / 1e3 / float64(n) }

// fenceTime is a dispatch until its fence is reached.
func (b *dispatchBench) fenceTime(gl *glctx.GL) (float64, error) {
	gl.Finish()
	gl.UseProgram(b.programs[0].Program())
	n := b.n/10 + 1
	start := time.Now()
	for range n {
		gl.Dispatch(1, 1, 1)
		b.expected++
		fence := gl.NewFence()
		_, err := gl.WaitFence(fence, 10*time.Second)
		gl.DeleteFence(fence)
		if err != nil {
			return 0, err
		}
	}
	return perCall(time.Since(start), n), nil
}

// gaps measures the time between dispatches on the GPU's clock.
func (b *dispatchBench) gaps(gl *glctx.GL) gapFigures {
	n := min(b.n, 5000)
	queries := make([]glctx.Query, 2*n)
	for i := range queries {
		queries[i] = gl.NewQuery()
		defer gl.DeleteQuery(queries[i])
	}
	gl.UseProgram(b.programs[0].Program())
	for i := range n {
		gl.Stamp(queries[2*i])
		gl.Dispatch(1, 1, 1)
		gl.Stamp(queries[2*i+1])
		b.expected++
	}
	gl.Finish()
	gaps := []time.Duration{0}
	for i := range n - 1 {
		gaps = append(gaps, gl.Stamped(queries[2*i+2])-gl.Stamped(queries[2*i+1]))
	}
	return newGapFigures(gaps)
}

// newGapFigures needs at least one gap.
func newGapFigures(gaps []time.Duration) gapFigures {
	slices.Sort(gaps)
	micros := func(i int) float64 { return float64(gaps[i]) / 1e3 }
	f := gapFigures{MedianMicros: micros(len(gaps) / 2), P99Micros: micros(len(gaps) * 99 / 100), MaxMicros: micros(len(gaps) - 1)}
	bins := map[int]int{}
	for _, gap := range gaps {
		bins[bits.Len64(uint64(max(0, gap)/(250*time.Nanosecond)))]++
	}
	for power := range 64 {
		if count := bins[power]; count > 0 {
			f.Histogram = append(f.Histogram, gapBin{0.25 * float64(uint64(1)<<power), count})
		}
	}
	return f
}

// measureExecutor measures jobs, which count in memory that stays.
func (b *dispatchBench) measureExecutor() error {
	for _, depth := range []int{1, 3} {
		if err := b.jobs(depth); err != nil {
			return err
		}
	}
	return nil
}

// jobs runs b.n jobs through an executor, with as many pending as it takes, and
// checks their count.
func (b *dispatchBench) jobs(depth int) (err error) {
	e, err := executor.New(b.gpu.context, b.gpu.cache, executor.Options{Depth: depth, SlotBytes: 4096})
	if err != nil {
		return err
	}
	defer func() {
		if failed := e.Close(); err == nil {
			err = failed
		}
	}()
	window := 1
	if depth > 1 {
		window = (depth - 1) * 256
	}
	// Each job in flight has a count of its own: a shared one would put a barrier
	// between them.
	counts := make([]*executor.Buffer[uint32], min(window, 64))
	jobs := make([]executor.Job, len(counts))
	for i := range counts {
		if counts[i], err = executor.BufferOf(e, make([]uint32, 4)); err != nil {
			return err
		}
		defer counts[i].Release()
		jobs[i].Dispatch = executor.Dispatch{
			Program: b.programs[0], Groups: [3]uint32{1, 1, 1}, Memory: []executor.Bound{counts[i].At(0)},
		}
	}
	pending := make([]executor.Pending, window)
	var submits []time.Duration
	start := time.Now()
	for i := range b.n + window {
		p := &pending[i%window]
		if i >= window {
			if err := p.Wait(b.ctx); err != nil {
				return err
			}
		}
		if i >= b.n {
			continue
		}
		began := time.Now()
		if err := e.SubmitInto(b.ctx, jobs[i%len(jobs)], p); err != nil {
			return err
		}
		if submits = append(submits, time.Since(began)); i%1000 == 999 && i < b.n/2 {
			submits = submits[:0] // what came before was warming up
		}
	}
	each := perCall(time.Since(start), b.n)
	if depth == 1 {
		b.result.RoundTripMicros = each
	} else {
		b.result.PipelinedMicros, b.result.SubmitMicros = each, medianMicros(submits)
	}
	return b.verifyCounts(counts)
}

func (b *dispatchBench) verifyCounts(counts []*executor.Buffer[uint32]) error {
	total := uint32(0)
	for _, count := range counts {
		var got [1]uint32
		if err := count.Download(b.ctx, 0, got[:]); err != nil {
			return err
		}
		total += got[0]
	}
	b.result.Verified = b.result.Verified && total == uint32(b.n)
	return nil
}

func (r *dispatchResult) verdict() error {
	if !r.Verified {
		return unverified("the kernels did not count every dispatch")
	}
	return nil
}

func (r *dispatchResult) print(w io.Writer) {
	fmt.Fprintf(w, "%d dispatches on %s\ndriver %s\n\n", r.Dispatches, r.GPU, r.Driver)
	fmt.Fprintln(w, "microseconds")
	for _, row := range []struct {
		name   string
		micros float64
	}{
		{"record", r.RecordMicros}, {"dispatch", r.DispatchMicros}, {"fence", r.FenceMicros},
		{"submit", r.SubmitMicros}, {"round trip", r.RoundTripMicros}, {"pipelined", r.PipelinedMicros},
	} {
		fmt.Fprintf(w, "%s\t%.2f\n", row.name, row.micros)
	}
	for _, s := range r.Switches {
		fmt.Fprintf(w, "switch, %d programs\t%.2f\t%+.2f\n", s.Programs, s.Micros, s.ExtraMicros)
	}
	fmt.Fprintf(w, "gap, median\t%.2f\ngap, 99%%\t%.2f\ngap, largest\t%.2f\n", r.Gap.MedianMicros, r.Gap.P99Micros, r.Gap.MaxMicros)
	for _, bin := range r.Gap.Histogram {
		fmt.Fprintf(w, "gaps below %g\t%d\n", bin.BelowMicros, bin.Count)
	}
	if r.Verified {
		fmt.Fprintln(w, "\nevery dispatch was counted")
	} else {
		fmt.Fprintln(w, "\nDISPATCHES ARE MISSING")
	}
}
