//go:build linux

package glctx

import (
	"time"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
)

// Query is a point in time on the GPU's clock. The one who made it deletes it.
type Query struct{ id uint32 }

// NewQuery makes a query that Stamp can use again and again.
func (gl *GL) NewQuery() Query {
	var q Query
	gl45.CreateQueries(gl45.TIMESTAMP, 1, &q.id)
	gl.check("glCreateQueries")
	return q
}

// WriteTimestamp notes the time at which the GPU has done everything so far.
func (gl *GL) WriteTimestamp(q Query) {
	gl45.QueryCounter(q.id, gl45.TIMESTAMP)
	gl.check("glQueryCounter")
}

// Timestamp is what Stamp noted. It must be called only after a fence behind the
// Stamp was reached, and then does not wait. Some software drivers give 0, or
// the time of the call: compare with a wall clock before you rely on it.
func (gl *GL) Timestamp(q Query) time.Duration {
	var nanos uint64
	gl45.GetQueryObjectui64v(q.id, gl45.QUERY_RESULT, &nanos)
	gl.check("glGetQueryObjectui64v")
	return time.Duration(nanos)
}

// DeleteQuery frees a query.
func (gl *GL) DeleteQuery(q Query) {
	gl45.DeleteQueries(1, &q.id)
	gl.check("glDeleteQueries")
}
