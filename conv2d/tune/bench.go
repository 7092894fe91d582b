//go:build linux

package tune

import (
	"strings"
	"time"

	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// bench holds the tensors of a problem on the device, for candidates to run on.
type bench struct {
	sets  []testSet
	clock clock
}

// testSet is a set of tensors with the check of their result.
type testSet struct {
	kernel.Tensors
	checker checker
	device  *kernel.DeviceTensors
}

// open puts the tensors on the device.
func (b *bench) open(gl *glctx.GL) error {
	b.clock.open(gl)
	for i := range b.sets {
		var err error
		s := &b.sets[i]
		if s.device, err = kernel.NewDeviceTensors(gl, s.Tensors, s.checker.elements()); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) close(gl *glctx.GL) {
	b.clock.close(gl)
	for _, s := range b.sets {
		if s.device != nil {
			s.device.Free(gl)
		}
	}
}

// coverage describes what is compared.
func (b *bench) coverage() string {
	words := make([]string, len(b.sets))
	for i, s := range b.sets {
		words[i] = s.checker.coverage()
	}
	return strings.Join(words, ", and ")
}

// benchRun is one sequence on a bench, within one callback: see Run.GL.
type benchRun struct {
	*kernel.Run
	bench  *bench
	waited time.Duration // that the GPU waited for the CPU to compare results

	least, most float64 // nanoseconds of a run in the batches that count
	compared    bool    // they follow from those of another run
	leader      float64 // nanoseconds of that one beside it
}

// load makes the memory that a sequence needs besides the tensors.
func (b *bench) load(gl *glctx.GL, s kernel.Sequence, programs map[shader.Key]uint32) (*benchRun, error) {
	run, err := kernel.NewRun(gl, s, programs)
	return &benchRun{Run: run, bench: b}, err
}

// check runs the sequence once on every set and compares the results.
func (r *benchRun) check(tolerance float64) (conv2d.Report, error) {
	var all conv2d.Report
	for _, s := range r.bench.sets {
		got, err := r.Checked(s.device)
		if err != nil {
			return all, err
		}
		start := time.Now()
		all.Append(s.checker.check(got, tolerance))
		r.waited += time.Since(start)
	}
	return all, nil
}

// timed is the set that is timed.
func (r *benchRun) timed() testSet { return r.bench.sets[0] }

// checkTimed compares what the timed runs left behind. Runs that add to their output
// have no such result, so these are checked as before.
func (r *benchRun) checkTimed(tolerance float64) (conv2d.Report, error) {
	s := r.timed()
	if s.Output != nil {
		return r.check(tolerance)
	}
	got, err := s.device.ReadOutput(r.GL)
	if err != nil {
		return conv2d.Report{}, err
	}
	return s.checker.check(got, tolerance), nil
}

// repeat makes n runs of the set that is timed.
func (r *benchRun) repeat(n int) { r.Repeat(r.timed().device, n) }
