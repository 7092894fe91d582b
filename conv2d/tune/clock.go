//go:build linux

package tune

import (
	"slices"
	"time"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/glctx"
)

// clock measures how long work takes: by the GPU's time stamps where these pass a
// calibration, else by the host's clock from an idle GPU to a fence.
//
// Some drivers return 0, or the time of the call. So four times the work has to take
// about four times as long, and no longer than by the host's clock.
type clock struct {
	marks      [batches + 1]glctx.Query // the first two for work as a whole
	calibrated bool
	gpu        bool

	host func() time.Duration // the host's clock in tests; nil: time.Now
}

func (c *clock) open(gl *glctx.GL) {
	for i := range c.marks {
		c.marks[i] = gl.NewQuery()
	}
}

func (c *clock) close(gl *glctx.GL) {
	for _, q := range c.marks {
		gl.DeleteQuery(q)
	}
}

// name is "gpu" or "wall".
func (c *clock) name() string {
	if c.gpu {
		return "gpu"
	}
	return "wall"
}

// both returns the time of work by the GPU's clock and by the host's, in nanoseconds.
func (c *clock) both(gl *glctx.GL, work func()) (gpu, host float64, err error) {
	if err := kernel.Wait(gl); err != nil {
		return 0, 0, err
	}
	now := c.host
	if now == nil {
		opened := time.Now()
		now = func() time.Duration { return time.Since(opened) }
	}
	start := now()
	gl.WriteTimestamp(c.marks[0])
	work()
	gl.WriteTimestamp(c.marks[1])
	if err := kernel.Wait(gl); err != nil {
		return 0, 0, err
	}
	host = float64(now() - start)
	return float64(gl.Timestamp(c.marks[1]) - gl.Timestamp(c.marks[0])), host, nil
}

// time returns how long work takes, in nanoseconds, at least 1.
func (c *clock) time(gl *glctx.GL, work func()) (float64, error) {
	gpu, host, err := c.both(gl, work)
	if c.gpu {
		return max(gpu, 1), err
	}
	return max(host, 1), err
}

// batches returns the nanoseconds of each of count batches. By the GPU's clock they
// follow one another, and earlier work, without a pause.
func (c *clock) batches(gl *glctx.GL, count int, batch func()) ([]float64, error) {
	figures := make([]float64, count)
	if !c.gpu {
		for i := range figures {
			var err error
			if figures[i], err = c.time(gl, batch); err != nil {
				return nil, err
			}
		}
		return figures, nil
	}
	gl.WriteTimestamp(c.marks[0])
	for i := range figures {
		batch()
		gl.WriteTimestamp(c.marks[i+1])
	}
	if err := kernel.Wait(gl); err != nil {
		return nil, err
	}
	for i := range figures {
		figures[i] = max(1, float64(gl.Timestamp(c.marks[i+1])-gl.Timestamp(c.marks[i])))
	}
	return figures, nil
}

const (
	calibrationNanos = 2e6 // of work, long enough to compare
	calibrationRuns  = 256
	calibrationTries = 3 // other load may disturb one
)

// calibrate determines, once, whether the GPU's clock can be used. repeat does a piece
// of work n times.
func (c *clock) calibrate(gl *glctx.GL, repeat func(n int)) error {
	if c.calibrated {
		return nil
	}
	c.calibrated = true
	gpu, once, err := c.both(gl, func() { repeat(1) })
	if err != nil || gpu <= 0 {
		return err
	}
	runs := int(min(max(calibrationNanos/once, 1), calibrationRuns))
	for try := 0; try < calibrationTries && !c.gpu; try++ {
		if once < calibrationNanos {
			repeat(int(min(wakeNanos/once, batchRuns))) // not measured: the GPU may have been asleep
		}
		short, _, err := c.both(gl, func() { repeat(runs) })
		if err != nil {
			return err
		}
		long, host, err := c.both(gl, func() { repeat(4 * runs) })
		if err != nil {
			return err
		}
		c.gpu = short > 0 && long > 2.5*short && long < 6*short && long <= 1.05*host && long >= host/4
		if once > longBatchNanos {
			break // one try takes long enough
		}
	}
	return nil
}

// median of at least one figure.
func median(figures []float64) float64 {
	sorted := slices.Sorted(slices.Values(figures))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
