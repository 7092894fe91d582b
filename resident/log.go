//go:build linux

package resident

import (
	"context"
	"slices"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident/internal/wire"
)

// LogEntry is an entry that a kernel wrote with residentLog.
type LogEntry struct {
	Number  uint64 // from 1; entries before the first one were overwritten
	Step    uint64
	Group   uint32
	A, B, C uint32
}

// Logs reads the entries in the log ring, oldest first: at most 1024. It also updates
// Stats.Logged and Stats.Lanes.
func (s *Session) Logs(ctx context.Context) ([]LogEntry, error) {
	var counters [wire.AtLanesHigh - wire.AtLogged + 1]uint32
	ring := make([]uint32, wire.LogRingWords*wire.LogLength)
	err := s.onGL(ctx, func(gl *glctx.GL, m *memory) error {
		gl.Download(m.work, 4*wire.AtLogged, glctx.Bytes(counters[:]))
		gl.Download(m.work, 4*wire.AtLogRing, glctx.Bytes(ring))
		return gl.Err()
	})
	if err != nil {
		return nil, err
	}
	s.run.count(func(n *Stats) {
		n.Logged = uint64(counters[0])
		n.Lanes = uint64(counters[wire.AtLanesLow-wire.AtLogged]) | uint64(counters[wire.AtLanesHigh-wire.AtLogged])<<32
	})
	var list []LogEntry
	for w := range slices.Chunk(ring, wire.LogRingWords) {
		if w[0] != 0 {
			list = append(list, LogEntry{Number: uint64(w[0]), Step: uint64(w[1]) | uint64(w[2])<<32, Group: w[3],
				A: w[4], B: w[5], C: w[6]})
		}
	}
	slices.SortFunc(list, func(a, b LogEntry) int { return int(int64(a.Number) - int64(b.Number)) })
	return list, nil
}
