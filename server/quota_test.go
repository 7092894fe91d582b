//go:build linux

package server

import (
	"errors"
	"math"
	"sync/atomic"
	"testing"

	"github.com/shadercache/shadercache/server/internal/wire"
)

// TestAQuotaIsNotPassed takes up to the limit, beyond it, and so much that a sum overflows.
func TestAQuotaIsNotPassed(t *testing.T) {
	var all atomic.Int64
	q := quota{what: "buffers", limit: 100, all: &all}
	for _, c := range []struct {
		size uint64
		fits bool
	}{{60, true}, {41, false}, {math.MaxUint64, false}, {math.MaxUint64 - 59, false}, {40, true}, {1, false}, {0, true}} {
		err := q.take(c.size)
		if refused, ok := errors.AsType[*wire.Error](err); (err == nil) != c.fits || !c.fits && (!ok || refused.Code != wire.CodeQuota) {
			t.Errorf("%d bytes more of %d: %v", c.size, q.used.Load(), err)
		}
	}
	if q.give(60); q.used.Load() != 40 || all.Load() != 40 {
		t.Errorf("%d bytes are used, %d of all", q.used.Load(), all.Load())
	}
}
