package binary

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
)

// starts.jsonl holds what starts of applications did: one line of JSON for each Record
// of a store that had a start, appended in one write, so that processes that end
// together lose nothing. Caches that only fill a directory have no starts and no lines.
//
//	{"time":"2026-01-02T03:04:05Z","driver":"NVIDIA_H200-1f0c3a2b","counters":{"starts":1,"disk_hits":48}}
//
// A file above startsBytes is summed up: lines of the last hour stay, older ones become
// one line for each driver and hour, after a week one for each day; a year is kept. A
// line that is appended while another process sums up may be lost.
const (
	startsName  = "starts.jsonl"
	startsBytes = 256 << 10
	startsLimit = 16 << 20 // of a file that is read

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
	if zero := d.readZero(); zero.Time.After(since) {
		since = zero.Time
	}
	return slices.DeleteFunc(d.readStarts(), func(s Starts) bool { return s.Time.Before(since) })
}

// SumStarts returns the sum of periods.
func SumStarts(periods []Starts) (total Counters) {
	for _, p := range periods {
		total.Add(p.Counters)
	}
	return total
}

func (d *Dir) startsPath() string { return filepath.Join(d.path, startsName) }

func (d *Dir) readStarts() (all []Starts) {
	data, _, err := readRegular(d.startsPath(), startsLimit)
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(data) {
		var s Starts
		if json.Unmarshal(line, &s) == nil && !s.Time.IsZero() {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b Starts) int { return a.Time.Compare(b.Time) })
	return all
}

// recordStarts appends what a store with a start did. Failures are ignored: these
// figures are for people.
func (s *Store) recordStarts(counters Counters) {
	s.mu.Lock()
	s.mu.started = s.mu.started || counters.Starts > 0
	started := s.mu.started
	s.mu.Unlock()
	if started && counters != (Counters{}) {
		_ = s.dir.appendStarts(Starts{s.dir.now().UTC(), s.name, counters})
	}
}

func (d *Dir) appendStarts(s Starts) error {
	line, err := s.line()
	if err != nil {
		return err
	}
	return appendLine(d.startsPath(), line, startsBytes, d.sumUpStarts)
}

// line returns the line of s, without counters that are 0.
func (s Starts) line() ([]byte, error) {
	all, err := json.Marshal(s.Counters)
	if err != nil {
		return nil, err
	}
	counters := map[string]json.Number{}
	if err := json.Unmarshal(all, &counters); err != nil {
		return nil, err
	}
	for name, value := range counters {
		if value == "0" {
			delete(counters, name)
		}
	}
	line, err := json.Marshal(struct {
		Time     time.Time              `json:"time"`
		Driver   string                 `json:"driver"`
		Counters map[string]json.Number `json:"counters"`
	}{s.Time, s.Driver, counters})
	return append(line, '\n'), err
}

// sumUpStarts rewrites starts.jsonl with fewer lines.
func (d *Dir) sumUpStarts() error {
	now, all := d.now().UTC(), d.readStarts()
	kept := summedUp(all, now, time.Hour)
	if len(kept) > len(all)/2 {
		kept = summedUp(all, now, 0) // one process that records every second
	}
	return osfile.WriteUnsynced(d.startsPath(), func(w *bufio.Writer) error {
		for _, s := range kept {
			line, err := s.line()
			if err != nil {
				return err
			}
			if _, err := io.Copy(w, bytes.NewReader(line)); err != nil {
				return err
			}
		}
		return nil
	})
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
