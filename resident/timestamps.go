//go:build linux

package resident

import (
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// timestamps is a pool of timestamp queries. It is used on the GL thread.
type timestamps struct{ free []glctx.Query }

// write records the GPU's time in a query, which the caller returns by read or reuse.
func (t *timestamps) write(gl *glctx.GL) glctx.Query {
	var q glctx.Query
	if n := len(t.free); n > 0 {
		q, t.free = t.free[n-1], t.free[:n-1]
	} else {
		q = gl.NewQuery()
	}
	gl.WriteTimestamp(q)
	return q
}

// read returns the times of two queries that the GPU has reached, and reuses them.
func (t *timestamps) read(gl *glctx.GL, begin, end glctx.Query) (from, to time.Duration) {
	from, to = gl.Timestamp(begin), gl.Timestamp(end)
	t.reuse(begin, end)
	return from, to
}

// reuse returns queries to the pool.
func (t *timestamps) reuse(begin, end glctx.Query) { t.free = append(t.free, begin, end) }

func (t *timestamps) delete(gl *glctx.GL) {
	for _, q := range t.free {
		gl.DeleteQuery(q)
	}
	t.free = nil
}
