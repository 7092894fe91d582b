package binary

import (
	"encoding/json"
	"path/filepath"
	"time"
)

// exec.jsonl holds what drivers did with their own cache while a program ran that
// "shadercache exec --report" started: a line of JSON for each, appended in one write. Of a
// file above runsBytes the later half is kept.
const (
	runsName  = "exec.jsonl"
	runsBytes = 256 << 10
	runsLimit = 4 << 20 // of a file that is read
)

// Run is one run of a program that knows nothing of this cache.
type Run struct {
	Time    time.Time `json:"time"`    // of its end
	Program string    `json:"program"` // path
	Read    int       `json:"read"`    // entries of the driver's cache that it read; -1 = unknown
	Added   int       `json:"added"`   // entries that the driver had to add
	Bytes   int64     `json:"bytes"`   // of the added entries
	Millis  float64   `json:"ms"`      // that it ran
}

// AppendRun records a run.
func (d *Dir) AppendRun(r Run) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return appendLine(d.runsPath(), append(line, '\n'), runsBytes, d.shortenRuns)
}

func (d *Dir) runsPath() string { return filepath.Join(d.path, runsName) }

// shortenRuns keeps the later half of exec.jsonl.
func (d *Dir) shortenRuns() error {
	return keepLaterHalf(d.runsPath(), d.Runs(time.Time{}))
}

// Runs returns the runs since a time, or since [Dir.Zero], in the order of their ends. A
// line that cannot be read is left out.
func (d *Dir) Runs(since time.Time) (runs []Run) {
	if zero := d.readZero(); zero.Time.After(since) {
		since = zero.Time
	}
	for _, r := range readLines[Run](d.runsPath(), runsLimit) {
		if !r.Time.IsZero() && !r.Time.Before(since) {
			runs = append(runs, r)
		}
	}
	return runs
}
