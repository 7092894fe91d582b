// Package dispatch measures what a dispatch costs when the kernel does next to nothing:
// one group adds to a counter.
package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/bench/stats"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/lab/bench/measure"
)

// Options configure Run.
type Options struct {
	Dispatches int `flag:"dispatches" help:"dispatches for each figure"` // 1 to 1,000,000
}

// Validate returns an error for options that Run does not accept.
func (o Options) Validate() error {
	if o.Dispatches < 1 || o.Dispatches > 1_000_000 {
		return errors.New("--dispatches must be 1 to 1000000")
	}
	return nil
}

const (
	// maxPrograms is the most programs that are dispatched in turn.
	maxPrograms = 16

	// rounds share the dispatches of a figure, which is their median.
	rounds = 5

	// steps is the number of figures that are measured in rounds, for the progress bar.
	steps = 8
)

// run is one call of Run. Its programs add to one counter, whose value should be
// expected.
type run struct {
	n        int
	ctx      context.Context
	gpu      *cli.GPU
	programs []*cache.Handle
	bar      *progressbar.ProgressBar
	expected uint32
	result   *Result
}

// Run measures all figures.
func Run(o *cli.Options, options Options) (*Result, error) {
	return measure.OnGPU(o, func(ctx context.Context, gpu *cli.GPU, h bench.Header) (*Result, error) {
		r := &run{n: options.Dispatches, ctx: ctx, gpu: gpu, bar: o.NewProgress(rounds*steps, "measuring"), result: &Result{
			Header: h.WithDriverCache(gpu), Dispatches: options.Dispatches, Spreads: map[string]stats.Spread{},
		}}
		if err := r.measure(); err != nil {
			return nil, fmt.Errorf("bench: %w", err)
		}
		_ = r.bar.Finish()
		return r.result, nil
	})
}

// measure gets the programs and measures with them.
func (r *run) measure() error {
	for i := range maxPrograms {
		h, err := r.gpu.Cache.Get(r.ctx, measure.CountSource(i+1))
		if err != nil {
			return err
		}
		defer h.Release()
		r.programs = append(r.programs, h)
	}
	if err := r.measureGL(); err != nil {
		return err
	}
	return r.measureExecutor()
}

// measureGL measures calls on the GL thread.
func (r *run) measureGL() error {
	var got [4]uint32
	err := r.gpu.Context.Do(func(gl *glctx.GL) error {
		count, err := gl.NewBuffer(16, make([]byte, 16))
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(count)
		gl.BindStorage(0, count)
		record, each, err := r.dispatchTimes(gl, 1)
		if err != nil {
			return err
		}
		r.result.RecordMicros, r.result.DispatchMicros = r.keep("record", record), r.keep("dispatch", each)
		fence, err := r.rounds(func() (float64, error) { return r.fenceTime(gl) })
		if err != nil {
			return err
		}
		r.result.FenceMicros = r.keep("fence", fence)
		for programs := 2; programs <= maxPrograms; programs *= 2 {
			_, each, err := r.dispatchTimes(gl, programs)
			if err != nil {
				return err
			}
			micros := r.keep(fmt.Sprintf("switch_%d", programs), each)
			r.result.Switches = append(r.result.Switches, SwitchFigures{programs, micros, micros - r.result.DispatchMicros})
		}
		r.result.Gap = r.gaps(gl)
		gl.MemoryBarrier(glctx.BarrierUpdate)
		gl.Download(count, 0, glctx.Bytes(got[:]))
		return gl.Err()
	})
	r.result.Verified = got[0] == r.expected
	return err
}

// share returns the number of dispatches in a round.
func (r *run) share() int { return (r.n + rounds - 1) / rounds }

// rounds returns what measure returns in each round. It stops between two rounds when
// the context ends.
func (r *run) rounds(measure func() (float64, error)) ([]float64, error) {
	var all []float64
	for range rounds {
		if err := r.ctx.Err(); err != nil {
			return nil, err
		}
		micros, err := measure()
		if err != nil {
			return nil, err
		}
		all = append(all, micros)
		_ = r.bar.Add(1)
	}
	return all, nil
}

// keep records the spread of a figure under a name and returns its median.
func (r *run) keep(name string, rounds []float64) float64 {
	r.result.Spreads[name] = stats.NewSpread(rounds)
	return r.result.Spreads[name].Median
}

// dispatchTimes returns dispatchTime of each round.
func (r *run) dispatchTimes(gl *glctx.GL, programs int) (record, each []float64, err error) {
	r.dispatchTime(gl, programs, r.share()/10+programs)
	each, err = r.rounds(func() (float64, error) {
		recorded, all := r.dispatchTime(gl, programs, r.share())
		record = append(record, recorded)
		return all, nil
	})
	return record, each, err
}

// dispatchTime makes n dispatches of the given number of programs in turn. It returns
// the microseconds that recording one took, and that one took in all.
func (r *run) dispatchTime(gl *glctx.GL, programs, n int) (record, each float64) {
	gl.Finish()
	gl.UseProgram(r.programs[0].Program())
	start := time.Now()
	for i := range n {
		if programs > 1 {
			gl.UseProgram(r.programs[i%programs].Program())
		}
		gl.Dispatch(1, 1, 1)
		r.expected += uint32(i%programs) + 1
	}
	recorded := time.Since(start)
	gl.Finish()
	return perCall(recorded, n), perCall(time.Since(start), n)
}

// perCall returns the microseconds of one of n calls.
func perCall(d time.Duration, n int) float64 { return measure.Micros(d) / float64(n) }

// fenceTime returns the microseconds of a dispatch until its fence is signaled.
func (r *run) fenceTime(gl *glctx.GL) (float64, error) {
	gl.Finish()
	gl.UseProgram(r.programs[0].Program())
	n := r.share()/10 + 1
	start := time.Now()
	for range n {
		gl.Dispatch(1, 1, 1)
		r.expected++
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
func (r *run) gaps(gl *glctx.GL) GapFigures {
	n := min(r.n, 5000)
	queries := make([]glctx.Query, 2*n)
	for i := range queries {
		queries[i] = gl.NewQuery()
		defer gl.DeleteQuery(queries[i])
	}
	gl.UseProgram(r.programs[0].Program())
	for i := range n {
		gl.WriteTimestamp(queries[2*i])
		gl.Dispatch(1, 1, 1)
		gl.WriteTimestamp(queries[2*i+1])
		r.expected++
	}
	gl.Finish()
	gaps := []time.Duration{}
	for i := range n - 1 {
		gaps = append(gaps, gl.Timestamp(queries[2*i+2])-gl.Timestamp(queries[2*i+1]))
	}
	return newGapFigures(gaps)
}
