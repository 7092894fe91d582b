package conv2d

import (
	"math/rand/v2"

	"github.com/shadercache/shadercache/conv2d/internal/parallel"
)

// randomPiece is the number of values that follow from one source.
const randomPiece = 1 << 16

// RandomValues returns n numbers between -0.5 and 0.5, the same for the same seed on
// every machine. A hundred products of such numbers sum up to about 1, where the
// activations bend. All processors make them.
func RandomValues(n int, seed uint64) []float32 {
	values := make([]float32, n)
	parallel.For(ceilDiv(n, randomPiece), func(i int) {
		source := rand.New(rand.NewPCG(seed, uint64(i)))
		piece := values[i*randomPiece : min((i+1)*randomPiece, n)]
		for k := range piece {
			piece[k] = source.Float32() - 0.5
		}
	})
	return values
}
