package group

import (
	"fmt"
	"slices"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/lab/bench/measure"
	"github.com/shadercache/shadercache/lab/demo/wave3d"
)

// wave measures steps of a 3-D wave over all devices and over one, which must agree in
// every bit.
func (r *run) wave() error {
	o := wave3d.Options{Cells: [3]int{r.Side, r.Side, r.Side}, Seed: 1}
	one := o
	one.Members = 1
	alone, err := wave3d.New(r.ctx, r.group.Group, one)
	if err != nil {
		return err
	}
	defer alone.Close()
	all, err := wave3d.New(r.ctx, r.group.Group, o)
	if err != nil {
		return err
	}
	defer all.Close()
	row := Row{Workload: Wave, Detail: fmt.Sprintf("3-D wave, %d cubed, mesh %v", r.Side, all.Mesh().Sides), Unit: "steps/s", Verified: true}
	for _, sim := range []*wave3d.Sim{alone, all} {
		if _, err := r.stepRate(sim, warmSeconds); err != nil {
			return err
		}
	}
	times, steps := all.Times(), all.Steps()
	row.Host = new(HostTimes)
	err = r.compare(row, func(device shadercache.Device) (float64, error) {
		sim := all
		if device != shadercache.Device(r.group.Group) {
			sim = alone
		}
		return r.stepRate(sim, r.Seconds)
	})
	if err != nil {
		return err
	}
	*row.Host = hostTimes(times, all.Times(), all.Steps()-steps)
	// The one that did fewer steps catches up.
	behind, ahead := alone, all
	if behind.Steps() > ahead.Steps() {
		behind, ahead = ahead, behind
	}
	if err := behind.Step(r.ctx, ahead.Steps()-behind.Steps()); err != nil {
		return err
	}
	last := &r.result.Rows[len(r.result.Rows)-1]
	last.Verified, err = r.agree(alone, all)
	r.result.Verified = r.result.Verified && last.Verified
	return err
}

// hostTimes returns the times of one of several steps.
func hostTimes(before, after wave3d.Times, steps int) HostTimes {
	each := func(d time.Duration) float64 { return measure.Micros(d) / float64(steps) }
	return HostTimes{each(after.Submit - before.Submit), each(after.Boundaries - before.Boundaries),
		each(after.Interiors - before.Interiors), each(after.Swap - before.Swap)}
}

// stepRate does steps for a time and returns their number in a second.
func (r *run) stepRate(sim *wave3d.Sim, seconds float64) (float64, error) {
	const batch = 32
	began, steps := time.Now(), 0
	for time.Since(began).Seconds() < seconds {
		if err := sim.Step(r.ctx, batch); err != nil {
			return 0, err
		}
		steps += batch
	}
	return perSecond(steps, began), nil
}

// agree compares all cells of two simulations.
func (r *run) agree(a, b *wave3d.Sim) (bool, error) {
	x, err := a.Field(r.ctx)
	if err != nil {
		return false, err
	}
	y, err := b.Field(r.ctx)
	return err == nil && slices.Equal(x, y), err
}
