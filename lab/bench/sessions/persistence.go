package sessions

import (
	"fmt"
	"time"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/lab/bench/measure"
	"github.com/shadercache/shadercache/resident"
)

// The grid of the workload persistence, which other workloads use too.
const (
	gridGroups = 16
	gridLocal  = 256
	gridFMAs   = 100
	gridLanes  = gridGroups * gridLocal
	gridPoll   = 64 // steps between polls of the host's memory: about 20 us on an H200
)

var grid = resident.Persistence{Groups: gridGroups, Local: gridLocal, FMAs: gridFMAs}

// persistenceVariant is one variant of the workload persistence.
type persistenceVariant struct {
	strategy resident.Strategy
	variant  string
	budget   uint32 // steps a dispatch
	poll     uint32
	claim    bool
}

// scaled returns n of the full workload, scaled to the iterations of this run.
func (r *run) scaled(n uint64) uint64 {
	return max(1, n*r.Iterations/fullIterations)
}

// persistenceVariants returns all variants, named with the numbers of the full workload.
func (r *run) persistenceVariants() []persistenceVariant {
	var rows []persistenceVariant
	perDispatch := func(strategy resident.Strategy, iterations uint64) {
		steps := max(1, r.scaled(iterations)/gridLanes)
		rows = append(rows, persistenceVariant{strategy: strategy, variant: fmt.Sprintf("%dk a dispatch", iterations/1000), budget: uint32(steps)})
	}
	for _, n := range []uint64{10_000, 50_000, 100_000, 500_000} {
		perDispatch(resident.Redispatch, n)
	}
	for _, n := range []uint64{1_000, 5_000, 10_000, 50_000} {
		rows = append(rows, persistenceVariant{strategy: resident.Mega, variant: fmt.Sprintf("%dk an invocation", n/1000), budget: uint32(r.scaled(n))})
	}
	for _, strategy := range []resident.Strategy{resident.Chain, resident.Double, resident.Triple} {
		perDispatch(strategy, 100_000)
		perDispatch(strategy, 500_000)
	}
	rows = append(rows, persistenceVariant{strategy: resident.Persistent, variant: "until stopped"})
	for _, n := range []uint64{10_000, 50_000, 100_000, 500_000} {
		chunk := max(1, r.scaled(n)/gridLocal)
		rows = append(rows, persistenceVariant{strategy: resident.Mega, variant: fmt.Sprintf("claims of %dk", n/1000), poll: uint32(chunk), claim: true})
	}
	return rows
}

// persistence measures every variant: the same multiply-adds in different dispatches.
func (r *run) persistence() error {
	first := len(r.result.Rows)
	for _, p := range r.persistenceVariants() {
		row, err := r.persist(p)
		if err != nil {
			return fmt.Errorf("%v, %s: %w", p.strategy, p.variant, err)
		}
		r.addRow(row)
	}
	setBounds(r.result.Rows[first:])
	return nil
}

// persist measures one variant.
func (r *run) persist(p persistenceVariant) (Row, error) {
	w := grid
	w.Claim = p.claim
	if p.poll == 0 {
		p.poll = gridPoll
	}
	s, row, err := r.session(w.Kernel(), resident.Options{Strategy: p.strategy, Budget: p.budget, Poll: p.poll}, "persistence", p.variant)
	if err != nil {
		return row, err
	}
	defer s.Close()
	perStep := uint64(gridLanes)
	if p.claim {
		perStep = gridLocal
	}
	steps := max(r.Iterations/perStep, uint64(p.budget), 1)
	for began := time.Now(); time.Since(began) < r.warm || s.Progress() == 0; {
		if _, err := s.Run(r.ctx, min(steps, 2000)); err != nil {
			return row, err
		}
	}
	dispatches, cpu, began := s.Stats().Dispatches, measure.CPUTime(), time.Now()
	for row.Iterations == 0 || time.Since(began) < r.rowTime() {
		out, err := s.Run(r.ctx, steps)
		if err != nil {
			return row, err
		}
		row.Iterations += out.Steps * perStep
	}
	wall := time.Since(began)
	row.CPUPercent = measure.CPUPercent(cpu, wall)
	row.WallMillis = cli.Milliseconds(wall)
	row.PerSecond = float64(row.Iterations) / wall.Seconds()
	row.Dispatches = s.Stats().Dispatches - dispatches
	row.Verified = w.Verify(r.ctx, s) == nil
	return row, nil
}

// boundShare is the share of the wall time from which dispatches bound a row.
const boundShare = 0.2

// setBounds sets what bounds each row: its work, which takes the time that the fastest
// row needs for as many iterations, or the time of its dispatches beyond that.
func setBounds(rows []Row) {
	best := 0.0
	for _, row := range rows {
		best = max(best, row.PerSecond)
	}
	for i := range rows {
		row := &rows[i]
		work := 1000 * float64(row.Iterations) / best
		over := max(0, row.WallMillis-work)
		row.GapMicros = 1000 * over / float64(max(1, row.Dispatches))
		row.BoundBy = "work"
		if over > boundShare*row.WallMillis {
			row.BoundBy = fmt.Sprintf("%d dispatches x %.1f us", row.Dispatches, row.GapMicros)
		}
	}
}
