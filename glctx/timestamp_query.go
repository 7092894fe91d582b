//go:build linux && cgo

package glctx

import (
	"time"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
)

// NewQuery makes a query, which WriteTimestamp may use any number of times. Below
// OpenGL 4.5 its timestamps are 0.
func (gl *GL) NewQuery() Query {
	var q Query
	if !gl.c.full {
		return q
	}
	gl45.CreateQueries(gl45.TIMESTAMP, 1, &q.id)
	gl.debugCheck("glCreateQueries")
	return q
}

// WriteTimestamp makes the GPU store the time at which it has finished all earlier
// commands in q.
func (gl *GL) WriteTimestamp(q Query) {
	if q.id == 0 {
		return
	}
	gl45.QueryCounter(q.id, gl45.TIMESTAMP)
	gl.debugCheck("glQueryCounter")
}

// Timestamp returns the time that WriteTimestamp stored. It does not wait if a fence
// behind the WriteTimestamp is signalled, and must not be called before. Some software
// drivers return 0 or the time of the call: compare it with a wall clock before you
// rely on it.
func (gl *GL) Timestamp(q Query) time.Duration {
	if q.id == 0 {
		return 0
	}
	var nanos uint64
	gl45.GetQueryObjectui64v(q.id, gl45.QUERY_RESULT, &nanos)
	gl.debugCheck("glGetQueryObjectui64v")
	return time.Duration(nanos)
}

// DeleteQuery frees a query.
func (gl *GL) DeleteQuery(q Query) {
	gl45.DeleteQueries(1, &q.id)
	gl.debugCheck("glDeleteQueries")
}

// GPUTime returns the GPU's time now, on the clock of WriteTimestamp, or 0 where there is
// none. It does not wait for the GPU.
func (gl *GL) GPUTime() time.Duration {
	var nanos int64
	if gl.c.full {
		gl45.GetInteger64v(gl45.TIMESTAMP, &nanos)
		gl.debugCheck("glGetInteger64v")
	}
	return time.Duration(nanos)
}
