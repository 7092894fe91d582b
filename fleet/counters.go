package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Counters are summed over processes, in the directory.
type Counters struct {
	Hits      int64            `json:"hits"`   // starts that pulled, or were current
	Misses    int64            `json:"misses"` // the remote had nothing
	Errors    map[string]int64 `json:"errors"` // by class: unreachable, slow, denied, busy, protocol, signature, rollback, fingerprint, damaged, newer, changed, local
	Bytes     int64            `json:"bytes"`
	Time      time.Duration    `json:"time_ns"`   // that they took
	Backfills int64            `json:"backfills"` // programs that were installed
}

// add adds other counters.
func (c *Counters) add(other Counters) {
	c.Hits += other.Hits
	c.Misses += other.Misses
	c.Bytes += other.Bytes
	c.Time += other.Time
	c.Backfills += other.Backfills
	if c.Errors == nil {
		c.Errors = map[string]int64{}
	}
	for class, n := range other.Errors {
		c.Errors[class] += n
	}
}

// maxCounterBytes is the size of counters.jsonl from which its lines become one.
const maxCounterBytes = 64 << 10

// count adds counters. What cannot be stored is lost.
func (r *Remote) count(c Counters) {
	size, err := r.state.appendCounters(c)
	if err == nil && size > maxCounterBytes {
		err = r.state.foldCounters()
	}
	r.note(err)
}

// appendCounters adds a line to counters.jsonl, and returns the size of the file. Processes
// do not wait for each other, but for the millisecond of foldCounters.
func (d stateDir) appendCounters(c Counters) (size int64, err error) {
	line, err := json.Marshal(c)
	if err != nil {
		return 0, err
	}
	err = d.locked(lockWait, countersLock, false, func() error {
		f, err := os.OpenFile(filepath.Join(d.path, countersName), os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NONBLOCK, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(append(line, '\n'))
		if info, statErr := f.Stat(); statErr == nil {
			size = info.Size()
		}
		return errors.Join(err, f.Close())
	})
	return size, err
}

// foldCounters replaces the lines of counters.jsonl by one.
func (d stateDir) foldCounters() error {
	return d.locked(lockWait, countersLock, true, func() error {
		line, err := json.Marshal(d.counters())
		if err != nil {
			return err
		}
		return d.write(countersName, append(line, '\n'))
	})
}

// counters returns the sum of all lines. One that is damaged does not count.
func (d stateDir) counters() Counters {
	c := Counters{Errors: map[string]int64{}}
	data, _ := d.content(countersName, maxStateBytes)
	for line := range bytes.Lines(data) {
		var one Counters
		if json.Unmarshal(line, &one) == nil {
			c.add(one)
		}
	}
	return c
}

// countPull counts what a pull transferred, and its error by class, "" for none.
func (r *Remote) countPull(p PullReport, class string) {
	if p.Bytes == 0 && p.Programs == 0 && class == "" {
		return
	}
	c := Counters{Bytes: p.Bytes, Backfills: int64(p.Programs), Time: p.took}
	if class != "" {
		c.Errors = map[string]int64{class: 1}
	}
	r.count(c)
}

// Counters returns the counters of this remote in the directory.
func (r *Remote) Counters() Counters { return r.state.counters() }
