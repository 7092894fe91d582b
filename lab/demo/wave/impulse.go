package wave

import (
	"fmt"
	"math"
)

// PulseRadius is the radius of an impulse in cells.
const PulseRadius = 6

const pulseSide = 2*PulseRadius + 1

// maxPokes is the number of impulses in a submission.
const maxPokes = 64

// Impulse is an impulse: it raises the surface around a cell by a bell, without velocity.
type Impulse struct {
	X, Y      int
	Amplitude float32 // height of the bell
}

// Ack is the acknowledgement of an impulse.
type Ack struct {
	Impulse
	Step uint32 // number of steps before it
}

// Applied counts the impulses that a simulation has had, and has the sum of their hashes.
type Applied struct {
	Count  int
	Digest uint32
}

// impulseHash identifies an impulse and the step before which it was applied. The factors
// are primes of xxHash.
func impulseHash(p Impulse, step uint32) uint32 {
	hash := (uint32(p.X)*0x9E3779B1 ^ uint32(p.Y)) * 0x85EBCA77
	hash = (hash ^ math.Float32bits(p.Amplitude)) * 0xC2B2AE3D
	return (hash ^ step) * 0x27D4EB2F
}

// check rejects also NaN and extreme heights, since a NaN would spread over the grid.
func (p Impulse) check(o Options) error {
	if p.X < 0 || p.Y < 0 || p.X >= o.Width || p.Y >= o.Height {
		return fmt.Errorf("wave: impulse at %d,%d is outside of %dx%d cells", p.X, p.Y, o.Width, o.Height)
	}
	if size := math.Abs(float64(p.Amplitude)); !(size <= 1e6) || size != 0 && size < 1e-6 {
		return fmt.Errorf("wave: impulse of height %v: must be 0 or 1e-6 to 1e6, or the same below 0", p.Amplitude)
	}
	return nil
}

// pulse returns the bell of height 1, row by row. Its edges are 0.
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
