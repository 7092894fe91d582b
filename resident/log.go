//go:build linux

package resident

import (
	"context"
	"slices"

	"github.com/shadercache/shadercache/glctx"
)

// LogEntry is what a kernel wrote by residentLog.
type LogEntry struct {
	Number  uint64 // from 1; what is missing before the first one was lost
	Step    uint64
	Group   uint32
	A, B, C uint32
}

// Logs reads the entries that the log ring holds, oldest first: at most 1024.
// It also brings Stats.Logged and Stats.Lanes up to date.
func (s *Session) Logs(ctx context.Context) ([]LogEntry, error) {
	var counters [lineWords]uint32
	ring := make([]uint32, logWords*logLength)
	err := s.atBoundary(ctx, &ask{do: func() error {
		return s.context.Do(func(gl *glctx.GL) error {
			gl.Download(s.gl.work, 4*wordLogged, glctx.Bytes(counters[:]))
			gl.Download(s.gl.work, 4*wordsResidentWork, glctx.Bytes(ring))
			return gl.Err()
		})
	}})
	if err != nil {
		return nil, err
	}
	s.counts.logged.Store(uint64(counters[0]))
	s.counts.lanes.Store(uint64(counters[wordLanesLow-wordLogged]) | uint64(counters[wordLanesHigh-wordLogged])<<32)
	var list []LogEntry
	for w := range slices.Chunk(ring, logWords) {
		if w[0] != 0 {
			list = append(list, LogEntry{Number: uint64(w[0]), Step: uint64(w[1]) | uint64(w[2])<<32, Group: w[3],
				A: w[4], B: w[5], C: w[6]})
		}
	}
	slices.SortFunc(list, func(a, b LogEntry) int { return int(int64(a.Number) - int64(b.Number)) })
	return list, nil
}
