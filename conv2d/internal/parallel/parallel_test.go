package parallel

import (
	"sync/atomic"
	"testing"
)

func TestForCallsWorkOnceForEveryNumber(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		calls := make([]atomic.Int64, n)
		For(n, func(i int) { calls[i].Add(1) })
		for i := range calls {
			if got := calls[i].Load(); got != 1 {
				t.Errorf("%d of %d: %d calls", i, n, got)
			}
		}
	}
}
