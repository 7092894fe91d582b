package wave

import "errors"

// Errors of a simulation. Those of the executor and of the cache pass through.
var (
	// ErrLost is returned by Poke when a tile has not acknowledged, or not at the
	// step that it should have.
	ErrLost = errors.New("wave: a poke was not acknowledged")
	// ErrDiffers is returned by a comparison with the reference.
	ErrDiffers = errors.New("wave: the simulation differs from the reference")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("wave: simulation is closed")
)
