package conv2d

import "fmt"

// StartupProblem is what every program of the workload startup48 computes.
func StartupProblem() GEMMProblem { return GEMMProblem{M: 128, N: 128, K: 128} }

// startupActivations is how many activations the workload has: none, relu, tanh
// and silu.
const startupActivations = 4

// Startup48 is the workload startup48: one matrix product in 48 programs, with
// tiles of 32, 64 and 128, the four activations, and scales 1 to 4. It fails
// where a device with so much shared memory cannot run them.
func Startup48(sharedBytes int) ([]Variant, error) { return StartupVariants(48, sharedBytes) }

// StartupVariants is startup48 with another number of programs: fewer, or more
// by going on with scales 5, 6 and so on. Programs are ordered by scale, then
// activation, then tile, so that a short list still has every tile. Tiles that
// the shared memory cannot hold get less depth; all programs stay different.
func StartupVariants(programs, sharedBytes int) ([]Variant, error) {
	if programs < 0 {
		return nil, fmt.Errorf("conv2d: a workload of %d programs", programs)
	}
	tiles := []Tile{Tile32, Tile64, Tile128}
	for i, t := range tiles {
		fitted, err := t.Fit(sharedBytes)
		if err != nil {
			return nil, err
		}
		tiles[i] = fitted
	}
	variants := make([]Variant, programs)
	perScale := len(tiles) * startupActivations
	for i := range variants {
		variants[i] = Variant{
			Tile:       tiles[i%len(tiles)],
			Activation: Activation(i / len(tiles) % startupActivations),
			Scale:      float32(1 + i/perScale),
		}
	}
	return variants, nil
}
