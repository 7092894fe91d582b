package sessions

import (
	"fmt"
	"time"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/lab/bench/measure"
	"github.com/shadercache/shadercache/resident"
)

// heartbeatPeriod is the time between two reads of the heartbeat. Each costs 20 to 90 us
// of the CPU time that the row reports.
const heartbeatPeriod = 5 * time.Millisecond

// mostSilent is how many submissions may be issued between two heartbeats: three are in
// flight at most, so with one more, one was issued after the first heartbeat and has ended
// without another. Times say less: the heartbeat is group 0's, and a software driver runs the
// other groups of a dispatch after it, which takes mega a second, and a busy machine longer.
const mostSilent = 4

// enoughSoak is the time in which every session has heartbeats to compare.
const enoughSoak = 5 * time.Second

// What soak rows have as BoundBy.
const (
	stalls   = "stalls"
	noStall  = "no stall"
	tooShort = "too short to tell"
)

// stallWord returns whether a soak stalled.
func (b *beats) stallWord(soak time.Duration) string {
	switch {
	case b.silent > mostSilent:
		return stalls
	case len(b.gaps) == 0 && soak < enoughSoak:
		return tooShort
	case len(b.gaps) == 0:
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
	before := measure.TakeHeld(r.gpu)
	row, err := r.beatingSession(strategy)
	after := measure.TakeHeld(r.gpu)
	after.AwaitGoroutines(before)
	row.Held, row.Leaks = &after, after.Grown(before)
	return row, err
}

// beatingSession runs a session, and closes it.
func (r *run) beatingSession(strategy resident.Strategy) (Row, error) {
	s, row, err := r.session(grid.Kernel(), resident.Options{Strategy: strategy}, "soak", r.Soak.String())
	if err != nil {
		return row, err
	}
	defer s.Close()
	cpu, began := measure.CPUTime(), time.Now()
	if err := s.Start(0); err != nil {
		return row, err
	}
	seen := r.watchBeats(s, began.Add(r.Soak))
	stopping := time.Now()
	out, err := s.Stop(r.ctx)
	if err != nil {
		return row, err
	}
	row.StopMillis = cli.Milliseconds(time.Since(stopping))
	wall := time.Since(began)
	row.CPUPercent = measure.CPUPercent(cpu, wall)
	row.Iterations = out.Steps * gridLanes
	row.PerSecond = float64(row.Iterations) / wall.Seconds()
	row.WallMillis = cli.Milliseconds(wall)
	n := s.Stats()
	row.Dispatches = n.Dispatches
	row.LongestTick = cli.Milliseconds(n.LongestTick)
	row.NapsPerSecond, row.LooksPerSecond = float64(n.Sleeps)/wall.Seconds(), float64(n.Polls)/wall.Seconds()
	gaps := measure.NewLatencies(seen.gaps)
	row.HeartbeatMedian, row.HeartbeatMax = cli.Milliseconds(gaps.Median), cli.Milliseconds(gaps.Max)
	row.Silent, row.BoundBy = seen.silent, seen.stallWord(r.Soak)
	row.Verified = grid.Verify(r.ctx, s) == nil
	return row, nil
}

// beats is what was seen of a heartbeat.
type beats struct {
	count  uint32          // as of the last look
	at     time.Time       // of its last change
	since  uint64          // submissions that were issued until then
	silent uint64          // the most that were issued without a change
	gaps   []time.Duration // between changes, without the first 20, in which the session learns its pace
	skip   int
}

// beatSource is a session. Both counts rise.
type beatSource interface {
	Heartbeat() uint32
	Stats() resident.Stats
}

// look reads the heartbeat. What was issued is read before it, and after a change once more,
// so that it is never too much.
func (b *beats) look(s beatSource, now time.Time) {
	issued := s.Stats().Submissions
	if h := s.Heartbeat(); h == b.count {
		b.silent = max(b.silent, issued-b.since)
		return
	} else if b.count = h; b.skip > 0 {
		b.skip--
	} else {
		b.gaps = append(b.gaps, now.Sub(b.at))
	}
	b.at, b.since = now, s.Stats().Submissions
}

// watchBeats looks at the heartbeat every heartbeatPeriod.
func (r *run) watchBeats(s beatSource, until time.Time) beats {
	tick := time.NewTicker(heartbeatPeriod)
	defer tick.Stop()
	b := beats{count: s.Heartbeat(), at: time.Now(), since: s.Stats().Submissions, skip: 20}
	for now := range tick.C {
		if now.After(until) || r.ctx.Err() != nil {
			break
		}
		b.look(s, now)
	}
	return b
}
