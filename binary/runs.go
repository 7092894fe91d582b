package binary

import (
	"time"

	"github.com/shadercache/shadercache/drivercache"
)

// exec.jsonl holds what drivers did with their own cache while a program ran that
// "shadercache exec --report" started: a line of JSON for each.
var runs = appended[Run]{
	name: "exec.jsonl", above: 256 << 10, limit: 4 << 20,
	time:    func(r Run) time.Time { return r.Time },
	shorten: laterHalf[Run],
}

// Run is one run of a program that knows nothing of this cache.
type Run struct {
	Time    time.Time `json:"time"`    // of its end
	Program string    `json:"program"` // path
	drivercache.Activity
	Millis float64 `json:"ms"` // that it ran
}

// AppendRun records a run.
func (d *Dir) AppendRun(r Run) error { return runs.add(d, r) }

// Runs returns the runs since a time, or since [Dir.Zero], in the order of their ends. A
// line that cannot be read is left out.
func (d *Dir) Runs(since time.Time) []Run { return runs.since(d, since) }
