package conv2d

import (
	"time"

	"github.com/shadercache/shadercache/cache"
)

// Timing says what one call of a Runner cost.
type Timing struct {
	Program    string        // the name of the program
	Origin     cache.Origin  // where the program came from
	Get        time.Duration // until the program was ready
	Dispatch   time.Duration // from the first dispatch until the GPU had finished
	Readback   time.Duration // copying the result to the host
	Dispatches int
}
