//go:build linux

package resident

import (
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// stamps are queries of the GPU's clock that no flight has. They are for the GL
// thread.
type stamps struct{ spare []glctx.Query }

// stamp notes the GPU's time, in a query that whoever calls has until give.
func (s *stamps) stamp(gl *glctx.GL) glctx.Query {
	var q glctx.Query
	if n := len(s.spare); n > 0 {
		q, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		q = gl.NewQuery()
	}
	gl.WriteTimestamp(q)
	return q
}

// read is what two stamps say and takes them back. The GPU has come to them.
func (s *stamps) read(gl *glctx.GL, begin, end glctx.Query) (from, to time.Duration) {
	from, to = gl.Timestamp(begin), gl.Timestamp(end)
	s.give(begin, end)
	return from, to
}

// give takes back stamps that nobody reads.
func (s *stamps) give(begin, end glctx.Query) { s.spare = append(s.spare, begin, end) }

func (s *stamps) free(gl *glctx.GL) {
	for _, q := range s.spare {
		gl.DeleteQuery(q)
	}
	s.spare = nil
}
