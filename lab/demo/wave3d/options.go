package wave3d

import (
	"errors"
	"fmt"
)

// Options configure a simulation and its reference.
type Options struct {
	Cells   [3]int  // of the volume, along x, y and z
	Courant float32 // above 0, at most sqrt(1/3). Default: 0.5
	Seed    uint32  // of the values at step 0

	// Members is the number of members of the group that have blocks, from rank 0 on.
	// Default: all.
	Members int
}

func (o Options) withDefaults() Options {
	if o.Courant == 0 {
		o.Courant = 0.5
	}
	return o
}

func (o Options) validate() error {
	cells := 1
	for axis, n := range o.Cells {
		if n < 1 || n > 4096 {
			return fmt.Errorf("wave3d: %d cells along axis %d: 1 to 4096 are possible", n, axis)
		}
		cells *= n
	}
	switch {
	case cells > 1<<30:
		return errors.New("wave3d: more than 2^30 cells")
	case !(o.Courant > 0 && 3*o.Courant*o.Courant <= 1):
		return errors.New("wave3d: the Courant number must be above 0 and at most sqrt(1/3)")
	case o.Members < 0:
		return errors.New("wave3d: a negative number of members")
	}
	return nil
}

// count returns the number of cells.
func (o Options) count() int { return o.Cells[0] * o.Cells[1] * o.Cells[2] }

// noise is the value of a cell at step 0: that of the kernel, in the same operations.
func noise(seed uint32, x, y, z int) float32 {
	h := seed + uint32(x)*0x9e3779b1 + uint32(y)*0x85ebca77 + uint32(z)*0xc2b2ae3d
	h = (h ^ (h >> 15)) * 0x2c1b3c6d
	h = (h ^ (h >> 12)) * 0x297a2d39
	h ^= h >> 15
	return float32(h>>8)*(1.0/16777216.0) - 0.5
}
