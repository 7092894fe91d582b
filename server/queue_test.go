//go:build linux

package server

import (
	"testing"

	"golang.org/x/sync/semaphore"

	"github.com/shadercache/shadercache/server/internal/wire"
)

// TestSmallRequestsTakeLittle has a small request behind a large one, whose buffer is reused: the
// backlog counts the bytes of the request alone.
func TestSmallRequestsTakeLittle(t *testing.T) {
	s := &session{backlog: semaphore.NewWeighted(wire.MaxBacklog)}
	for range 100 {
		for _, n := range []int{maxKeptBody, 5} {
			s.backlog.TryAcquire(wire.Weight(n, 0))
			queued := &task{s: s, body: make([]byte, n)}
			queued.keepBody()
			if c := cap(queued.kept.bytes); c > 4*max(n, 1024) || len(queued.body) != n {
				t.Fatalf("%d bytes for %d", c, n)
			}
			queued.free()
		}
	}
}
