package group

import (
	"fmt"
	"slices"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/demo/wave3d"
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
	row := Row{Workload: Wave, Detail: fmt.Sprintf("3-D wave, %d cubed, mesh %v", r.Side, all.Mesh().Sides), Unit: "steps/s"}
	const warm = 4
	if err := alone.Step(r.ctx, warm); err != nil {
		return err
	}
	if err := all.Step(r.ctx, warm); err != nil {
		return err
	}
	if row.Verified, err = r.agree(alone, all); err != nil {
		return err
	}
	err = r.compare(row, func(device shadercache.Device) (float64, error) {
		sim := all
		if device != shadercache.Device(r.group.Group) {
			sim = alone
		}
		return r.stepRate(sim)
	})
	if err != nil {
		return err
	}
	// The one that did fewer steps catches up.
	behind, ahead := alone, all
	if behind.Steps() > ahead.Steps() {
		behind, ahead = ahead, behind
	}
	if err := behind.Step(r.ctx, ahead.Steps()-behind.Steps()); err != nil {
		return err
	}
	same, err := r.agree(alone, all)
	if !same {
		r.result.Verified, r.result.Rows[len(r.result.Rows)-1].Verified = false, false
	}
	return err
}

// stepRate returns steps a second.
func (r *run) stepRate(sim *wave3d.Sim) (float64, error) {
	const batch = 16
	began, steps := time.Now(), 0
	for time.Since(began).Seconds() < r.Seconds {
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
