package main

import (
	"fmt"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident"
)

// The grid of the barrier rows.
const (
	barrierGroups = 132
	barrierLocal  = 256
)

// mostBarrierSteps bounds what the CPU has to do to verify a row.
const mostBarrierSteps = 8_000

// barrier reports what the probe measured, by verified meetings of groups that
// do nothing else, and what a phase of a session costs: a dispatch, or a
// meeting within one.
func (b *residentBench) barrier() error {
	row := residentRow{Workload: "barrier", Strategy: "none", Got: "none", Verified: true,
		Variant: fmt.Sprintf("%d groups of %d, probe", min(b.caps.Residency, barrierGroups), b.caps.ResidencyGroup)}
	if b.caps.Barrier == 0 {
		row.Why = "groups cannot wait for each other for long"
	} else {
		row.Samples, row.MedianMicros = 3, micros(b.caps.Barrier)
	}
	b.add(row)
	for _, strategy := range []resident.Strategy{resident.Redispatch, resident.Mega, resident.Persistent} {
		if err := b.phases(strategy); err != nil {
			return err
		}
	}
	return nil
}

// phases measures a phase of a session whose groups read what others wrote.
func (b *residentBench) phases(strategy resident.Strategy) error {
	w := resident.Neighbours{Groups: barrierGroups, Local: barrierLocal}
	k, err := w.Kernel()
	if err != nil {
		return err
	}
	s, row, err := b.session(k, resident.Options{Strategy: strategy}, "barrier", "phase as a dispatch")
	if err != nil {
		return err
	}
	defer s.Close()
	steps := uint64(20)
	if s.Mode().GridBarrier {
		row.Variant, steps = "phase within a dispatch", 1000
	}
	for began := time.Now(); time.Since(began) < b.warm && s.Progress() < mostBarrierSteps/2 || s.Progress() == 0; {
		if _, err := s.Run(b.ctx, 5); err != nil {
			return err
		}
	}
	var times []time.Duration
	for began := time.Now(); len(times) == 0 || time.Since(began) < b.duration() && s.Progress() < mostBarrierSteps; {
		start := time.Now()
		if _, err := s.Run(b.ctx, steps); err != nil {
			return err
		}
		times = append(times, time.Since(start)/time.Duration(steps*uint64(k.Phases)))
	}
	row.took(times)
	got, want := make([]uint32, w.Groups*w.Local), w.After(s.Progress())
	if err := s.Read(b.ctx, "Ring", 0, glctx.Bytes(got)); err != nil {
		return err
	}
	row.Verified = true
	for i := range want {
		row.Verified = row.Verified && got[i] == want[i]
	}
	b.add(row)
	return nil
}
