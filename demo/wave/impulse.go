package wave

import (
	"fmt"
	"math"
)

// PulseRadius is how far a poke reaches, in cells each way.
const PulseRadius = 6

const pulseSide = 2*PulseRadius + 1

// maxPokes is how many pokes go to the tiles at once.
const maxPokes = 64

// Poke is a message to the tiles around a cell: raise the surface by a bell of
// the given height, at rest.
type Poke struct {
	X, Y      int
	Amplitude float32
}

// Ack says that a poke was done.
type Ack struct {
	Poke
	Step uint32 // steps that had been done before
}

// check is strict about numbers, since one NaN would spread everywhere.
func (p Poke) check(o Options) error {
	if p.X < 0 || p.Y < 0 || p.X >= o.Width || p.Y >= o.Height {
		return fmt.Errorf("wave: poke at %d,%d outside of %dx%d cells", p.X, p.Y, o.Width, o.Height)
	}
	if size := math.Abs(float64(p.Amplitude)); !(size <= 1e6) || size != 0 && size < 1e-6 {
		return fmt.Errorf("wave: poke of %v, it may be 1e-6 to 1e6 high or deep", p.Amplitude)
	}
	return nil
}

// pulse is the bell of height 1, row by row. Its edges are 0.
func pulse() []float32 {
	bell := make([]float32, pulseSide*pulseSide)
	for i := range bell {
		x, y := float64(i%pulseSide-PulseRadius), float64(i/pulseSide-PulseRadius)
		r := math.Hypot(x, y) / PulseRadius
		if r < 1 {
			bell[i] = float32(math.Pow(math.Cos(r*math.Pi/2), 2))
		}
	}
	return bell
}
