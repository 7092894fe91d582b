package cache

import (
	"fmt"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// Stats is the state of a cache at one moment.
type Stats struct {
	binary.Counters `json:"counters"` // of this cache since New

	Resident      int    `json:"resident"`       // programs
	ResidentBytes int64  `json:"resident_bytes"` // sum of Program.Bytes
	InUse         int    `json:"in_use"`         // resident programs with handles
	KeptBytes     int64  `json:"kept_bytes"`     // payloads of evicted programs in memory
	MemoryOnly    string `json:"memory_only"`    // why nothing is on disk; "" when there is a store
	DriverCache   string `json:"driver_cache"`   // what became of the driver's own cache; "" when the device does not say
}

// String is the gist in one line.
func (s Stats) String() string {
	line := fmt.Sprintf("resident %d, in use %d, compiled %d, from disk %d, hit rate %.0f%%, saved %v",
		s.Resident, s.InUse, s.Compiles, s.DiskHits, 100*s.HitRate(), time.Duration(s.SavedNanos).Round(time.Millisecond))
	if s.MemoryOnly != "" {
		line += ", in memory only: " + s.MemoryOnly
	}
	return line
}

// driverCached is what a device has that looks after its driver's own cache.
type driverCached interface{ DriverCacheState() string }

// Stats counts what happened so far. It touches neither GL nor the disk.
func (c *Cache) Stats() Stats {
	s := Stats{MemoryOnly: c.memoryOnly}
	if d, ok := c.dev.(driverCached); ok {
		s.DriverCache = d.DriverCacheState()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.ResidentBytes, s.KeptBytes = c.mu.resident.bytes, c.mu.kept.bytes
	for _, e := range c.mu.resident.entries() {
		c.mu.ledger.settle(e)
		s.Resident++
		if e.handles() > 0 {
			s.InUse++
		}
	}
	s.Counters = c.mu.ledger.total()
	return s
}

// ledger holds counters and uses until the store has recorded them. Its owner
// guards it with Cache.mu.
type ledger struct {
	fresh    binary.Counters // not offered to the store yet
	offered  binary.Counters // the store is recording them
	recorded binary.Counters

	uses map[shader.Key]binary.Use // not recorded yet; nil: nobody will ask
}

func (l *ledger) total() binary.Counters {
	sum := l.recorded
	sum.Add(l.offered)
	sum.Add(l.fresh)
	return sum
}

// settle takes over what handles of e have counted since the last time.
func (l *ledger) settle(e *entry) {
	hits := e.hits()
	last := e.lastUse()
	if e.handles() > 0 {
		last = e.clock.elapsed()
	}
	if hits == e.settled && last == e.reported {
		return
	}
	use := e.describe()
	use.Hits = hits - e.settled
	use.LastUse = e.clock.at(last)
	l.fresh.ResidentHits += use.Hits
	l.note(use)
	e.settled, e.reported = hits, last
}

// made takes over what making e cost. blob is what it was loaded from, or nil.
func (l *ledger) made(e *entry, blob *binary.Blob) {
	use := e.describe()
	switch e.origin {
	case Compiled:
		l.fresh.Compiles++
		l.fresh.CompileNanos += e.compileNanos
	case Disk:
		l.fresh.DiskHits++
	case Memory:
		l.fresh.MemoryHits++
	}
	if blob != nil {
		use.Hits = 1
		l.fresh.LoadNanos += e.loadNanos
		if blob.CompileNanos > 0 {
			l.fresh.SavedNanos += blob.CompileNanos - e.loadNanos
		}
	}
	l.note(use)
}

// note adds hits up and keeps the latest of everything else.
func (l *ledger) note(use binary.Use) {
	if l.uses == nil {
		return
	}
	old, known := l.uses[use.Key]
	if !known {
		l.uses[use.Key] = use
		return
	}
	old.Hits += use.Hits
	if !use.LastUse.Before(old.LastUse) {
		old.LastUse, old.Name = use.LastUse, use.Name
	}
	if use.CompileNanos != 0 {
		old.CompileNanos = use.CompileNanos
	}
	if use.LoadNanos != 0 {
		old.LoadNanos = use.LoadNanos
	}
	l.uses[use.Key] = old
}

// offer hands everything out that is not recorded. accept or refuse must
// follow.
func (l *ledger) offer() ([]binary.Use, binary.Counters) {
	uses := make([]binary.Use, 0, len(l.uses))
	for _, use := range l.uses {
		uses = append(uses, use)
	}
	clear(l.uses)
	l.offered, l.fresh = l.fresh, binary.Counters{}
	return uses, l.offered
}

func (l *ledger) accept() {
	l.recorded.Add(l.offered)
	l.offered = binary.Counters{}
}

// refuse takes back what the store did not record. What was noted meanwhile is
// newer.
func (l *ledger) refuse(uses []binary.Use) {
	l.fresh.Add(l.offered)
	l.offered = binary.Counters{}
	newer := l.uses
	l.uses = make(map[shader.Key]binary.Use, len(uses)+len(newer))
	for _, use := range uses {
		l.note(use)
	}
	for _, use := range newer {
		l.note(use)
	}
}
