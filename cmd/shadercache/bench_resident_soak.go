package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/shadercache/shadercache/internal/cli"
	"github.com/shadercache/shadercache/resident"
)

// heartbeatLook is how often the soak test looks at the heartbeat. Each look costs
// 20 to 90 us of the CPU time that the row reports.
const heartbeatLook = 5 * time.Millisecond

// mostStall is how much longer than the median a heartbeat may take.
const mostStall = 10

// soakAll runs every strategy for a while.
func (b *residentBench) soakAll() error {
	for _, strategy := range resident.Strategies() {
		row, err := b.soakOne(strategy)
		if err != nil {
			return fmt.Errorf("%v: %w", strategy, err)
		}
		b.add(row)
	}
	return nil
}

// soakOne runs one strategy, watches its heartbeat, stops it, and compares its
// state with what its steps must have made of it.
func (b *residentBench) soakOne(strategy resident.Strategy) (residentRow, error) {
	w := resident.Persistence{Groups: residentGroups, Local: residentLocal, FMAs: residentFMAs}
	k, err := w.Kernel()
	if err != nil {
		return residentRow{}, err
	}
	s, row, err := b.session(k, resident.Options{Strategy: strategy}, "soak", b.soak.String())
	if err != nil {
		return row, err
	}
	defer s.Close()
	cpu, began := cpuTime(), time.Now()
	if err := s.Start(0); err != nil {
		return row, err
	}
	gaps := b.watchHeart(s, began.Add(b.soak))
	stopping := time.Now()
	out, err := s.Stop(b.ctx)
	if err != nil {
		return row, err
	}
	row.StopMillis = cli.Milliseconds(time.Since(stopping))
	wall := time.Since(began)
	row.CPUPercent = 100 * float64(cpuTime()-cpu) / float64(wall)
	row.Iterations = out.Steps * residentLanes
	row.PerSecond = float64(row.Iterations) / wall.Seconds()
	row.WallMillis = cli.Milliseconds(wall)
	n := s.Stats()
	row.Dispatches = n.Dispatches
	row.LongestTick = cli.Milliseconds(n.LongestTick)
	row.NapsPerSecond, row.LooksPerSecond = float64(n.Naps)/wall.Seconds(), float64(n.Looks)/wall.Seconds()
	if len(gaps) > 0 {
		slices.Sort(gaps)
		row.HeartbeatMedian, row.HeartbeatMax = cli.Milliseconds(gaps[len(gaps)/2]), cli.Milliseconds(gaps[len(gaps)-1])
	}
	row.BoundBy = "no stall"
	if row.HeartbeatMax > mostStall*row.HeartbeatMedian || len(gaps) == 0 {
		row.BoundBy = "stalls"
	}
	row.Verified, err = b.verify(s, w)
	return row, err
}

// watchHeart returns the times between changes of the heartbeat, as seen every
// heartbeatLook. The first one, while the pace is learned, is left out.
func (b *residentBench) watchHeart(s *resident.Session, until time.Time) (gaps []time.Duration) {
	tick := time.NewTicker(heartbeatLook)
	defer tick.Stop()
	beat, at, beats := s.Heartbeat(), time.Now(), 0
	for now := range tick.C {
		if now.After(until) || b.ctx.Err() != nil {
			break
		}
		if h := s.Heartbeat(); h != beat {
			if beats++; beats > 20 {
				gaps = append(gaps, now.Sub(at))
			}
			beat, at = h, now
		}
	}
	return gaps
}
