package startup

import (
	"fmt"

	"github.com/shadercache/shadercache/conv2d"
)

// Program is one program of the workload startup48. Everything that makes it differ
// from the others is compiled into it.
type Program struct {
	conv2d.TiledProgram
	Alpha      float32
	Activation conv2d.Activation
}

// tiles are the sides of the tiles of the workload.
var tiles = []int{32, 64, 128}

// activations is how many activations the workload has: none, relu, tanh and silu.
const activations = 4

// problem returns what every program of the workload computes, each with an alpha and
// an activation of its own.
func problem() conv2d.GEMMProblem {
	return conv2d.GEMMProblem{M: 128, N: 128, K: 128}
}

// Programs returns startup48, one matrix product in 48 programs: tiles of 32, 64 and
// 128, the four activations, and alphas of 1 to 4. With another count it returns the
// first of them, or continues with alphas of 5, 6 and higher; a short list still has
// every tile. Tiles that the shared memory cannot hold get less depth; all programs
// stay different. It needs no context. It fails for a negative count and where a
// device with that much shared memory cannot run the programs.
func Programs(count, sharedBytes int) ([]Program, error) {
	if count < 0 {
		return nil, fmt.Errorf("startup: a workload of %d programs", count)
	}
	programs := make([]Program, count)
	for i := range programs {
		p := problem()
		alpha := float32(1 + i/(len(tiles)*activations))
		p.Factors = conv2d.AlphaBeta(alpha, 0)
		p.Activation = conv2d.Activation(i / len(tiles) % activations)
		program, err := conv2d.NewTiledProgram(p, tiles[i%len(tiles)], sharedBytes)
		if err != nil {
			return nil, err
		}
		programs[i] = Program{program, alpha, p.Activation}
	}
	return programs, nil
}

// Expected returns what the program makes of A*B, given that product.
func (p Program) Expected(product conv2d.Expected) conv2d.Expected {
	return product.Scale(float64(p.Alpha), p.Activation)
}
