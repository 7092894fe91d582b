package conv2d

import "math/rand/v2"

// RandomValues returns n numbers between -0.5 and 0.5, the same for the same seed on
// every machine. A hundred products of such numbers sum up to about 1, where the
// activations bend.
func RandomValues(n int, seed uint64) []float32 {
	source := rand.New(rand.NewPCG(seed, 0))
	values := make([]float32, n)
	for i := range values {
		values[i] = source.Float32() - 0.5
	}
	return values
}
