package wave

import (
	"fmt"
	"math"
)

// Border is the boundary condition at the edge of the grid.
type Border uint8

const (
	Reflecting Border = iota // u is 0 beyond the edge, which reflects waves inverted
	Absorbing                // a damping layer absorbs waves
)

// String returns the name of the border in lower case.
func (b Border) String() string {
	if b == Absorbing {
		return "absorbing"
	}
	return "reflecting"
}

// Options describe a simulation. The zero value is 256x256 cells in 8x8 tiles
// with reflecting borders.
type Options struct {
	Width, Height int // cells; default 256 each

	// TilesX and TilesY are the numbers of tiles in a row and in a column. A work
	// group has one tile. Default: 8 each.
	TilesX, TilesY int

	// Courant is the Courant number c*dt/dx, more than 0 and at most sqrt(1/2). Default: 0.5.
	Courant float32

	// Border is the boundary condition. Default: Reflecting.
	Border Border

	// Sponge is the width in cells of the damping layer of an absorbing border.
	// Default: an eighth of the smaller side.
	Sponge int

	// Local is the number of invocations of a group, a power of 2 up to 1024.
	// Default: 256.
	Local int
}

// maxCellsEach limits the cells of one invocation: some drivers silently end loops after
// 65,535 iterations.
const maxCellsEach = 4096

func (o Options) withDefaults() (Options, error) {
	for _, d := range []struct {
		value  *int
		normal int
	}{{&o.Width, 256}, {&o.Height, 256}, {&o.TilesX, 8}, {&o.TilesY, 8}, {&o.Local, 256}} {
		if *d.value == 0 {
			*d.value = d.normal
		}
	}
	if o.Courant == 0 {
		o.Courant = 0.5
	}
	if o.Sponge == 0 {
		o.Sponge = max(1, min(o.Width, o.Height)/8)
	}
	return o, o.validate()
}

func (o Options) validate() error {
	const most = 1 << 14
	switch {
	case o.Width < 1 || o.Height < 1 || o.Width > most || o.Height > most:
		return fmt.Errorf("wave: %dx%d cells: each side must be 1 to %d", o.Width, o.Height, most)
	case o.TilesX < 1 || o.TilesY < 1 || o.TilesX > o.Width || o.TilesY > o.Height || o.TilesX*o.TilesY > math.MaxUint16:
		return fmt.Errorf("wave: %dx%d tiles for %dx%d cells: each tile needs a cell, and at most %d are possible",
			o.TilesX, o.TilesY, o.Width, o.Height, math.MaxUint16)
	case o.Local < 1 || o.Local > 1024 || o.Local&(o.Local-1) != 0:
		return fmt.Errorf("wave: Options.Local is %d, not a power of 2 up to 1024", o.Local)
	case o.blockW()*o.blockH() > maxCellsEach*o.Local:
		return fmt.Errorf("wave: a tile has %d cells, but %d invocations take at most %d: use more tiles",
			o.blockW()*o.blockH(), o.Local, maxCellsEach*o.Local)
	case !(o.Courant > 0 && o.Courant <= math.Sqrt2/2):
		return fmt.Errorf("wave: a Courant number of %v is not stable: it must be more than 0 and at most 0.707", o.Courant)
	case o.Border > Absorbing:
		return fmt.Errorf("wave: unknown border %d", o.Border)
	case o.Sponge < 1:
		return fmt.Errorf("wave: a damping layer of %d cells", o.Sponge)
	}
	return nil
}

// cellsEach returns the largest number of cells of one invocation.
func (o Options) cellsEach() int { return (o.blockW()*o.blockH() + o.Local - 1) / o.Local }

// blockW and blockH return the size of a block. Where the tiles do not divide a side
// evenly, cells of the last tiles lie outside the grid and stay 0.
func (o Options) blockW() int { return (o.Width + o.TilesX - 1) / o.TilesX }
func (o Options) blockH() int { return (o.Height + o.TilesY - 1) / o.TilesY }

func (o Options) tiles() int { return o.TilesX * o.TilesY }

// cells returns the number of cells of all blocks.
func (o Options) cells() int { return o.tiles() * o.blockW() * o.blockH() }

// faces returns the number of cells of all faces.
func (o Options) faces() int { return o.tiles() * 2 * (o.blockW() + o.blockH()) }

// index returns the index of a cell in a field of blocks.
func (o Options) index(x, y int) int {
	bw, bh := o.blockW(), o.blockH()
	tile := y/bh*o.TilesX + x/bw
	return tile*bw*bh + y%bh*bw + x%bw
}

// courant2 returns the square of the Courant number.
func (o Options) courant2() float32 { return o.Courant * o.Courant }

// damping returns a and b of the scheme for each distance from the edge, 0 first. The
// last pair is for all larger distances.
func (o Options) damping() []float32 {
	var pairs []float32
	if o.Border == Absorbing {
		for d := range o.Sponge {
			in := 1 - (float64(d)+0.5)/float64(o.Sponge)
			s := spongeStrength * in * in
			pairs = append(pairs, float32(1/(1+s)), float32((1-s)/(1+s)))
		}
	}
	return append(pairs, 1, 1)
}

// spongeStrength is s at the edge. A larger one reflects waves at the damping layer, a
// smaller one lets them reach the edge and return.
const spongeStrength = 0.3
