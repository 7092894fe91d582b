package sessions

import (
	"fmt"
	"time"

	"github.com/shadercache/shadercache/internal/bench"
	"github.com/shadercache/shadercache/internal/bench/stats"
	"github.com/shadercache/shadercache/internal/cli"
	"github.com/shadercache/shadercache/resident"
)

// heartbeatPeriod is the time between two reads of the heartbeat. Each costs 20 to 90 us
// of the CPU time that the row reports.
const heartbeatPeriod = 5 * time.Millisecond

// stallRatio is how many medians a heartbeat may take before the row has a stall.
const stallRatio = 10

// enoughSoak is the time in which every session has heartbeats to compare.
const enoughSoak = 5 * time.Second

// What soak rows have as BoundBy.
const (
	stalls   = "stalls"
	noStall  = "no stall"
	tooShort = "too short to tell"
)

// stallWord returns whether a soak stalled, by the times between its heartbeats, which are
// 0 where there were none.
func stallWord(median, most, soak time.Duration) string {
	switch {
	case most == 0 && soak < enoughSoak:
		return tooShort
	case most == 0 || most > stallRatio*median:
		return stalls
	}
	return noStall
}

// soak runs every strategy for a long time.
func (r *run) soak() error {
	for _, strategy := range resident.Strategies() {
		row, err := r.soakOne(strategy)
		if err != nil {
			return fmt.Errorf("%v: %w", strategy, err)
		}
		r.addRow(row)
	}
	return nil
}

// soakOne runs one strategy, records its heartbeat, stops it, and verifies its state and
// what it leaves behind.
func (r *run) soakOne(strategy resident.Strategy) (Row, error) {
	before := bench.TakeHeld(r.gpu)
	row, err := r.beatingSession(strategy)
	after := bench.TakeHeld(r.gpu)
	after.AwaitGoroutines(before)
	row.Held, row.Leaks = &after, after.Grown(before)
	return row, err
}

// beatingSession runs a session, and closes it.
func (r *run) beatingSession(strategy resident.Strategy) (Row, error) {
	k, err := grid.Kernel()
	if err != nil {
		return Row{}, err
	}
	s, row, err := r.session(k, resident.Options{Strategy: strategy}, "soak", r.Soak.String())
	if err != nil {
		return row, err
	}
	defer s.Close()
	cpu, began := bench.CPUTime(), time.Now()
	if err := s.Start(0); err != nil {
		return row, err
	}
	gaps := r.heartbeatGaps(s, began.Add(r.Soak))
	stopping := time.Now()
	out, err := s.Stop(r.ctx)
	if err != nil {
		return row, err
	}
	row.StopMillis = cli.Milliseconds(time.Since(stopping))
	wall := time.Since(began)
	row.CPUPercent = bench.CPUPercent(cpu, wall)
	row.Iterations = out.Steps * gridLanes
	row.PerSecond = float64(row.Iterations) / wall.Seconds()
	row.WallMillis = cli.Milliseconds(wall)
	n := s.Stats()
	row.Dispatches = n.Dispatches
	row.LongestTick = cli.Milliseconds(n.LongestTick)
	row.NapsPerSecond, row.LooksPerSecond = float64(n.Sleeps)/wall.Seconds(), float64(n.Polls)/wall.Seconds()
	beats := stats.NewLatencies(gaps)
	row.HeartbeatMedian, row.HeartbeatMax = cli.Milliseconds(beats.Median), cli.Milliseconds(beats.Max)
	row.BoundBy = stallWord(beats.Median, beats.Max, r.Soak)
	row.Verified, err = r.verify(s, grid)
	return row, err
}

// heartbeatGaps returns the times between changes of the heartbeat, read every
// heartbeatPeriod, without the first 20, in which the session learns its pace.
func (r *run) heartbeatGaps(s *resident.Session, until time.Time) (gaps []time.Duration) {
	tick := time.NewTicker(heartbeatPeriod)
	defer tick.Stop()
	beat, at, beats := s.Heartbeat(), time.Now(), 0
	for now := range tick.C {
		if now.After(until) || r.ctx.Err() != nil {
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
