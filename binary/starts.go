package binary

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// starts.jsonl holds what starts of applications did: one line of JSON for each Record
// of a store that had a start, appended in one write, so that processes that end
// together lose nothing. Caches that only fill a directory have no starts and no lines.
//
//	{"time":"2026-01-02T03:04:05Z","driver":"NVIDIA_H200-1f0c3a2b","counters":{"starts":1,"disk_hits":48}}
//
// A long file is summed up: lines of the last hour stay, older ones become
// one line for each driver and hour, after a week one for each day; a year is kept. A
// line that is appended while another process sums up may be lost.
var starts = appended[Starts]{
	name: "starts.jsonl", above: 256 << 10, limit: 16 << 20,
	time:    func(s Starts) time.Time { return s.Time },
	shorten: sumUpStarts,
}

const (
	startsHourly = 7 * 24 * time.Hour
	startsKept   = 366 * 24 * time.Hour
)

// Starts is what starts of applications did in one period.
type Starts struct {
	Time     time.Time `json:"time"`   // of the end of the period; where it was summed up, of its begin
	Driver   string    `json:"driver"` // folder in the cache directory
	Counters Counters  `json:"counters"`
}

// Starts returns what starts did since a time, or since [Dir.Zero], in order of time. A
// line that cannot be read is left out.
func (d *Dir) Starts(since time.Time) []Starts {
	all := starts.since(d, since)
	slices.SortStableFunc(all, func(a, b Starts) int { return a.Time.Compare(b.Time) })
	return all
}

// recordStarts appends what a store with a start did. Failures are ignored: these
// figures are for people. The caller holds recording.
func (s *Store) recordStarts(counters Counters) {
	s.started = s.started || counters.Starts > 0
	if s.started && counters != (Counters{}) {
		_ = starts.add(s.dir, Starts{s.dir.now().UTC(), s.name, counters})
	}
}

// MarshalJSON leaves out counters that are 0.
func (s Starts) MarshalJSON() ([]byte, error) {
	all, err := json.Marshal(s.Counters)
	if err != nil {
		return nil, err
	}
	counters := map[string]json.Number{}
	if err := json.Unmarshal(all, &counters); err != nil {
		return nil, err
	}
	maps.DeleteFunc(counters, func(_ string, value json.Number) bool { return value == "0" })
	return json.Marshal(struct {
		Time     time.Time              `json:"time"`
		Driver   string                 `json:"driver"`
		Counters map[string]json.Number `json:"counters"`
	}{s.Time, s.Driver, counters})
}

// sumUpStarts returns fewer lines.
func sumUpStarts(all []Starts, now time.Time) []Starts {
	kept := summedUp(all, now, time.Hour)
	if len(kept) > len(all)/2 {
		kept = summedUp(all, now, 0) // one process that records every second
	}
	return kept
}

// summedUp returns all with fewer elements; those younger than single stay as they are.
func summedUp(all []Starts, now time.Time, single time.Duration) (kept []Starts) {
	type period struct {
		begin  time.Time
		driver string
	}
	sums := map[period]Counters{}
	for _, s := range all {
		age := now.Sub(s.Time)
		switch {
		case age < single:
			kept = append(kept, s)
			continue
		case age > startsKept:
			continue
		}
		length := time.Hour
		if age > startsHourly {
			length = 24 * time.Hour
		}
		p := period{s.Time.Truncate(length), s.Driver}
		sum := sums[p]
		sum.Add(s.Counters)
		sums[p] = sum
	}
	for p, sum := range sums {
		kept = append(kept, Starts{p.begin, p.driver, sum})
	}
	slices.SortStableFunc(kept, func(a, b Starts) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Driver, b.Driver))
	})
	return kept
}
