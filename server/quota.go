//go:build linux

package server

import (
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/shadercache/shadercache/server/internal/wire"
)

// quota counts the bytes that a session uses of one limit. One goroutine takes of it.
type quota struct {
	what     string
	limit    uint64
	used     atomic.Uint64
	all      *atomic.Int64       // bytes of all quotas of the session
	together *semaphore.Weighted // bytes that all sessions have left; nil: not bounded
}

// take counts size bytes, or returns an error where they pass the limit.
func (q *quota) take(size uint64) error {
	if used := q.used.Load(); size > q.limit || used > q.limit-size {
		return reject(wire.CodeQuota, "%d bytes of %s and %d more exceed the session's limit of %d", used, q.what, size, q.limit)
	}
	if q.together != nil && !q.together.TryAcquire(int64(size)) {
		return reject(wire.CodeQuota, "%d bytes of %s more exceed what all sessions may have together", size, q.what)
	}
	q.used.Add(size)
	q.all.Add(int64(size))
	return nil
}

// give counts size bytes less.
func (q *quota) give(size uint64) {
	q.used.Add(-size)
	q.all.Add(-int64(size))
	if q.together != nil {
		q.together.Release(int64(size))
	}
}
