package wave

import "errors"

// Errors of a simulation. Those of the executor and of the cache are wrapped.
var (
	// ErrLost is returned by Poke when a tile did not acknowledge an impulse, or
	// acknowledged it for another step.
	ErrLost = errors.New("wave: an impulse was not acknowledged")
	// ErrDiffers is returned by Reference.Compare for a field that differs.
	ErrDiffers = errors.New("wave: the simulation differs from the reference")
	// ErrOtherPokes is returned, wrapped, by Experiment.Run for a simulation that continues
	// and had other impulses.
	ErrOtherPokes = errors.New("wave: the pokes are not those of the simulation that continues")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("wave: simulation is closed")
)
