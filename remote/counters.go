package remote

import "time"

// Counters are summed over processes, in the directory.
type Counters struct {
	Hits      int64            `json:"hits"`   // starts that pulled, or were current
	Misses    int64            `json:"misses"` // the remote had nothing
	Errors    map[string]int64 `json:"errors"` // by class: unreachable, slow, denied, busy, protocol, signature, rollback, fingerprint, damaged, newer, changed, local
	Bytes     int64            `json:"bytes"`
	Time      time.Duration    `json:"time_ns"`
	Backfills int64            `json:"backfills"` // programs that were installed
}

// count changes the counters. What cannot be stored is lost.
func (r *Remote) count(change func(*Counters)) {
	var c Counters
	r.note(r.state.update(countersName, &c, func() {
		if c.Errors == nil {
			c.Errors = map[string]int64{}
		}
		change(&c)
	}))
}

// countPull counts what a pull transferred, and its error by class, "" for none.
func (r *Remote) countPull(p PullReport, took time.Duration, class string) {
	if p.Bytes == 0 && p.Programs == 0 && class == "" {
		return
	}
	r.count(func(c *Counters) {
		c.Bytes += p.Bytes
		c.Backfills += int64(p.Programs)
		c.Time += took
		if class != "" {
			c.Errors[class]++
		}
	})
}

// Counters returns the counters of this remote in the directory.
func (r *Remote) Counters() Counters {
	c := Counters{Errors: map[string]int64{}}
	r.state.read(countersName, &c)
	return c
}
