package main

import (
	"fmt"
	"time"

	"github.com/shadercache/shadercache/internal/cli"
	"github.com/shadercache/shadercache/resident"
)

// The grid of workload persistence.
const (
	residentGroups = 16
	residentLocal  = 256
	residentFMAs   = 100
	residentLanes  = residentGroups * residentLocal
	residentPoll   = 64 // steps between looks: about 20 us on an H200
)

// persistenceRow is one form of workload persistence.
type persistenceRow struct {
	strategy resident.Strategy
	variant  string
	budget   uint32 // steps a dispatch
	poll     uint32
	claim    bool
}

// scaled is n of the full workload, in what is to be measured here.
func (b *residentBench) scaled(n uint64) uint64 {
	return max(1, n*b.iterations/fullIterations)
}

// persistenceRows are all forms, with numbers as the full workload has them.
func (b *residentBench) persistenceRows() []persistenceRow {
	var rows []persistenceRow
	perDispatch := func(strategy resident.Strategy, iterations uint64) {
		steps := max(1, b.scaled(iterations)/residentLanes)
		rows = append(rows, persistenceRow{strategy: strategy, variant: fmt.Sprintf("%dk a dispatch", iterations/1000), budget: uint32(steps)})
	}
	for _, n := range []uint64{10_000, 50_000, 100_000, 500_000} {
		perDispatch(resident.Redispatch, n)
	}
	for _, n := range []uint64{1_000, 5_000, 10_000, 50_000} {
		rows = append(rows, persistenceRow{strategy: resident.Mega, variant: fmt.Sprintf("%dk an invocation", n/1000), budget: uint32(b.scaled(n))})
	}
	for _, strategy := range []resident.Strategy{resident.Chain, resident.Double, resident.Triple} {
		perDispatch(strategy, 100_000)
		perDispatch(strategy, 500_000)
	}
	rows = append(rows, persistenceRow{strategy: resident.Persistent, variant: "until stopped"})
	for _, n := range []uint64{10_000, 50_000, 100_000, 500_000} {
		chunk := max(1, b.scaled(n)/residentLocal)
		rows = append(rows, persistenceRow{strategy: resident.Mega, variant: fmt.Sprintf("claims of %dk", n/1000), poll: uint32(chunk), claim: true})
	}
	return rows
}

func (b *residentBench) persistence() error {
	first := len(b.result.Rows)
	for _, p := range b.persistenceRows() {
		row, err := b.persist(p)
		if err != nil {
			return fmt.Errorf("%v, %s: %w", p.strategy, p.variant, err)
		}
		b.add(row)
	}
	bind(b.result.Rows[first:])
	return nil
}

// persist measures one form.
func (b *residentBench) persist(p persistenceRow) (residentRow, error) {
	w := resident.Persistence{Groups: residentGroups, Local: residentLocal, FMAs: residentFMAs, Claim: p.claim}
	k, err := w.Kernel()
	if err != nil {
		return residentRow{}, err
	}
	if p.poll == 0 {
		p.poll = residentPoll
	}
	s, row, err := b.session(k, resident.Options{Strategy: p.strategy, Budget: p.budget, Poll: p.poll}, "persistence", p.variant)
	if err != nil {
		return row, err
	}
	defer s.Close()
	perStep := uint64(residentLanes)
	if p.claim {
		perStep = residentLocal
	}
	steps := max(b.iterations/perStep, uint64(p.budget), 1)
	for began := time.Now(); time.Since(began) < b.warm || s.Progress() == 0; {
		if _, err := s.Run(b.ctx, min(steps, 2000)); err != nil {
			return row, err
		}
	}
	dispatches, cpu, began := s.Stats().Dispatches, cpuTime(), time.Now()
	for row.Iterations == 0 || time.Since(began) < b.duration() {
		out, err := s.Run(b.ctx, steps)
		if err != nil {
			return row, err
		}
		row.Iterations += out.Steps * perStep
	}
	wall := time.Since(began)
	row.CPUPercent = 100 * float64(cpuTime()-cpu) / float64(wall)
	row.WallMillis = cli.Milliseconds(wall)
	row.PerSecond = float64(row.Iterations) / wall.Seconds()
	row.Dispatches = s.Stats().Dispatches - dispatches
	row.Verified, err = b.verify(s, w)
	return row, err
}

// verify compares the state of a session with what its steps must have made of
// it.
func (b *residentBench) verify(s *resident.Session, w resident.Persistence) (bool, error) {
	values := make([]byte, 4*w.Groups*w.Local)
	witness := make([]byte, len(values))
	if err := s.Read(b.ctx, "Values", 0, values); err != nil {
		return false, err
	}
	if err := s.Read(b.ctx, "Witness", 0, witness); err != nil {
		return false, err
	}
	return w.Verify(s.Progress(), values, witness) == nil, nil
}

// boundShare is the share of the wall time from which something bounds a row.
const boundShare = 0.2

// bind says what bounds each row: its work, which takes what the fastest row
// needs for as much, or what its dispatches cost beyond that.
func bind(rows []residentRow) {
	best := 0.0
	for _, r := range rows {
		best = max(best, r.PerSecond)
	}
	for i := range rows {
		r := &rows[i]
		work := 1000 * float64(r.Iterations) / best
		over := max(0, r.WallMillis-work)
		r.GapMicros = 1000 * over / float64(max(1, r.Dispatches))
		r.BoundBy = "work"
		if over > boundShare*r.WallMillis {
			r.BoundBy = fmt.Sprintf("%d dispatches x %.1f us", r.Dispatches, r.GapMicros)
		}
	}
}
