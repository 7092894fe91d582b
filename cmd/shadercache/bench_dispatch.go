package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/internal/cli"
	"github.com/shadercache/shadercache/shader"
)

const benchDispatchUsage = `Measure what a dispatch costs when the kernel does next to nothing: one group
counts itself.

Figures, in microseconds, medians of 5 rounds that share the dispatches, with the
shortest and the longest round beside them:
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

JSON fields: gpu, driver, driver_cache, ` + cli.OriginFields + `,
dispatches, record_us, dispatch_us, fence_us, submit_us, round_trip_us, pipelined_us,
spreads {NAME: {median, least, most}}, switches [{programs, us, extra_us}], gap
{median_us, p99_us, max_us, histogram [{below_us, count}]}, verified.

The exit code is 1 when the kernels did not count every dispatch.`

const (
	// maxSwitched is the most programs that take turns.
	maxSwitched = 16

	dispatchRounds = 5
	dispatchSteps  = 8 // figures that are measured in rounds, of the progress bar
)

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
		Args:                  cli.UsageArgs(cli.NoArguments),
	}
	cmd.Flags().IntVar(&b.n, "dispatches", 10_000, "dispatches for each figure")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if b.n < 1 || b.n > 1_000_000 {
			return cli.Usage(cmd, errors.New("--dispatches must be 1 to 1000000"))
		}
		r, err := b.run(o)
		return o.Show(r, err)
	}
	return cmd
}

// dispatchResult is what bench dispatch prints.
type dispatchResult struct {
	GPU             string          `json:"gpu"`
	Driver          string          `json:"driver"`
	DriverCache     string          `json:"driver_cache"`
	Origin          cli.Origin      `json:"origin"`
	Dispatches      int             `json:"dispatches"`
	RecordMicros    float64         `json:"record_us"`
	DispatchMicros  float64         `json:"dispatch_us"`
	FenceMicros     float64         `json:"fence_us"`
	SubmitMicros    float64         `json:"submit_us"`
	RoundTripMicros float64         `json:"round_trip_us"`
	PipelinedMicros float64         `json:"pipelined_us"`
	Switches        []switchFigures `json:"switches"`

	Spreads  map[string]spread `json:"spreads"`
	Gap      gapFigures        `json:"gap"`
	Verified bool              `json:"verified"`
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
	gpu      *cli.GPU
	programs []*cache.Handle
	bar      *progressbar.ProgressBar
	expected uint32
	result   *dispatchResult
}

func (b *dispatchBench) run(o *options) (r *dispatchResult, err error) {
	var stop context.CancelFunc
	b.ctx, stop = cli.Interruptible()
	defer stop()
	from := cli.NewOrigin()
	if b.gpu, err = o.OpenGPU(cache.Options{}); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.gpu.Close()) }()
	state := b.gpu.DriverCacheState()
	for i := range maxSwitched {
		h, err := b.gpu.Cache.Get(b.ctx, countSource(i+1))
		if err != nil {
			return nil, err
		}
		defer h.Release()
		b.programs = append(b.programs, h)
	}
	b.result = &dispatchResult{
		GPU: b.gpu.Name(), Driver: b.gpu.Driver(), DriverCache: state, Origin: from, Dispatches: b.n, Spreads: map[string]spread{},
	}
	b.bar = o.NewProgress(dispatchRounds*dispatchSteps, "measuring")
	if err := b.measureGL(); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	if err := b.measureExecutor(); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	_ = b.bar.Finish()
	return b.result, nil
}

// countSource is the program that counts in steps of step.
func countSource(step int) *shader.Source {
	return shader.MustSource(fmt.Sprintf("bench_count_%d", step), countText, shader.Defines{"STEP": fmt.Sprint(step)})
}

// measureGL measures calls on the GL thread.
func (b *dispatchBench) measureGL() error {
	var got [4]uint32
	err := b.gpu.Context.Do(func(gl *glctx.GL) error {
		count, err := gl.NewBuffer(16, make([]byte, 16))
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(count)
		gl.BindStorage(0, count)
		record, each, err := b.dispatchTimes(gl, 1)
		if err != nil {
			return err
		}
		b.result.RecordMicros, b.result.DispatchMicros = b.keep("record", record), b.keep("dispatch", each)
		fence, err := b.rounds(func() (float64, error) { return b.fenceTime(gl) })
		if err != nil {
			return err
		}
		b.result.FenceMicros = b.keep("fence", fence)
		for programs := 2; programs <= maxSwitched; programs *= 2 {
			_, each, err := b.dispatchTimes(gl, programs)
			if err != nil {
				return err
			}
			micros := b.keep(fmt.Sprintf("switch_%d", programs), each)
			b.result.Switches = append(b.result.Switches, switchFigures{programs, micros, micros - b.result.DispatchMicros})
		}
		b.result.Gap = b.gaps(gl)
		gl.MemoryBarrier(glctx.BarrierUpdate)
		gl.Download(count, 0, glctx.Bytes(got[:]))
		return gl.Err()
	})
	b.result.Verified = got[0] == b.expected
	return err
}

// share is what a round does of all the dispatches.
func (b *dispatchBench) share() int { return (b.n + dispatchRounds - 1) / dispatchRounds }

// rounds measures the same several times. It stops between two where ctx ends.
func (b *dispatchBench) rounds(measure func() (float64, error)) ([]float64, error) {
	var all []float64
	for range dispatchRounds {
		if err := b.ctx.Err(); err != nil {
			return nil, err
		}
		micros, err := measure()
		if err != nil {
			return nil, err
		}
		all = append(all, micros)
		_ = b.bar.Add(1)
	}
	return all, nil
}

// keep notes a figure under a name and returns its median.
func (b *dispatchBench) keep(name string, rounds []float64) float64 {
	b.result.Spreads[name] = newSpread(rounds)
	return b.result.Spreads[name].Median
}

// dispatchTimes is dispatchTime, round after round.
func (b *dispatchBench) dispatchTimes(gl *glctx.GL, programs int) (record, each []float64, err error) {
	b.dispatchTime(gl, programs, b.share()/10+programs)
	each, err = b.rounds(func() (float64, error) {
		recorded, all := b.dispatchTime(gl, programs, b.share())
		record = append(record, recorded)
		return all, nil
	})
	return record, each, err
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
	n := b.share()/10 + 1
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
		gl.WriteTimestamp(queries[2*i])
		gl.Dispatch(1, 1, 1)
		gl.WriteTimestamp(queries[2*i+1])
		b.expected++
	}
	gl.Finish()
	gaps := []time.Duration{}
	for i := range n - 1 {
		gaps = append(gaps, gl.Timestamp(queries[2*i+2])-gl.Timestamp(queries[2*i+1]))
	}
	return newGapFigures(gaps)
}

// newGapFigures is nothing of no gaps.
func newGapFigures(gaps []time.Duration) gapFigures {
	if len(gaps) == 0 {
		return gapFigures{Histogram: []gapBin{}}
	}
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

func (r *dispatchResult) Verdict() error {
	if !r.Verified {
		return unverified("the kernels did not count every dispatch")
	}
	return nil
}

func (r *dispatchResult) Print(w io.Writer) {
	fmt.Fprintf(w, "%d dispatches on %s\ndriver %s\ndriver's own cache: %s\n%s\n\n", r.Dispatches, r.GPU, r.Driver, r.DriverCache, r.Origin)
	fmt.Fprintln(w, "microseconds\tmedian\tleast\tmost\tmore than the same program")
	for _, row := range []struct{ what, name string }{
		{"record", "record"}, {"dispatch", "dispatch"}, {"fence", "fence"}, {"round trip", "round_trip"}, {"pipelined", "pipelined"},
	} {
		s := r.Spreads[row.name]
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\n", row.what, s.Median, s.Least, s.Most)
	}
	fmt.Fprintf(w, "submit\t%.2f\n", r.SubmitMicros)
	for _, sw := range r.Switches {
		s := r.Spreads[fmt.Sprintf("switch_%d", sw.Programs)]
		fmt.Fprintf(w, "switch, %d programs\t%.2f\t%.2f\t%.2f\t%+.2f\n", sw.Programs, s.Median, s.Least, s.Most, sw.ExtraMicros)
	}
	fmt.Fprintf(w, "gap\t%.2f\ngap, 99%% are below\t%.2f\ngap, largest\t%.2f\n\n", r.Gap.MedianMicros, r.Gap.P99Micros, r.Gap.MaxMicros)
	for _, bin := range r.Gap.Histogram {
		fmt.Fprintf(w, "gaps below %g us\t%d\n", bin.BelowMicros, bin.Count)
	}
	if r.Verified {
		fmt.Fprintln(w, "\nevery dispatch was counted")
	} else {
		fmt.Fprintln(w, "\nDISPATCHES ARE MISSING")
	}
}
