package sessions

import (
	"fmt"
	"time"

	"github.com/shadercache/shadercache/lab/bench/measure"
	"github.com/shadercache/shadercache/resident"
)

// The grid of the barrier rows.
const (
	barrierGroups = 132
	barrierLocal  = 256
)

// maxBarrierSteps bounds the CPU's work to verify a row.
const maxBarrierSteps = 8_000

// barrier reports the grid barrier that the probe measured, with groups that do nothing
// else, and measures a phase of a session: a dispatch, or a grid barrier within one.
func (r *run) barrier() error {
	row := Row{Workload: "barrier", Strategy: "none", Got: "none", Verified: true,
		Variant: fmt.Sprintf("%d groups of %d, probe", min(r.caps.Residency, barrierGroups), r.caps.ResidencyGroup)}
	if r.caps.Barrier == 0 {
		row.Why = "groups cannot wait for each other for long"
	} else {
		row.Samples, row.MedianMicros = 3, measure.Micros(r.caps.Barrier)
	}
	r.addRow(row)
	for _, strategy := range []resident.Strategy{resident.Redispatch, resident.Mega, resident.Persistent} {
		if err := r.phases(strategy); err != nil {
			return err
		}
	}
	return nil
}

// phases measures a phase of a session whose groups read what other groups wrote.
func (r *run) phases(strategy resident.Strategy) error {
	w := resident.Neighbours{Groups: barrierGroups, Local: barrierLocal}
	k := w.Kernel()
	s, row, err := r.session(k, resident.Options{Strategy: strategy}, "barrier", "phase as a dispatch")
	if err != nil {
		return err
	}
	defer s.Close()
	steps := uint64(20)
	if s.Mode().GridBarrier {
		row.Variant, steps = "phase within a dispatch", 1000
	}
	for began := time.Now(); time.Since(began) < r.warm && s.Progress() < maxBarrierSteps/2 || s.Progress() == 0; {
		if _, err := s.Run(r.ctx, 5); err != nil {
			return err
		}
	}
	var times []time.Duration
	for began := time.Now(); len(times) == 0 || time.Since(began) < r.rowTime() && s.Progress() < maxBarrierSteps; {
		start := time.Now()
		if _, err := s.Run(r.ctx, steps); err != nil {
			return err
		}
		times = append(times, time.Since(start)/time.Duration(steps*uint64(k.Phases)))
	}
	row.setTimes(times)
	row.Verified = w.Verify(r.ctx, s) == nil
	r.addRow(row)
	return nil
}
