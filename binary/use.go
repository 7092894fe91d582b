package binary

import (
	"time"

	"github.com/shadercache/shadercache/shader"
)

// Use is what one process learned about one program since it last told the
// store. Stores add Hits up and keep the latest of everything else.
type Use struct {
	Key          shader.Key
	Name         string
	LastUse      time.Time
	Hits         uint64 // resident and disk
	CompileNanos int64  // time to a primed program without the cache; 0 = unknown
	LoadNanos    int64  // time to a primed program from the blob; 0 = unknown
}

// Counters count what a cache did. A process's counters are added to the
// lifetime counters of its fingerprint in the store.
type Counters struct {
	ResidentHits  uint64 `json:"resident_hits"`
	MemoryHits    uint64 `json:"memory_hits"` // evicted, reloaded from bytes kept in memory
	DiskHits      uint64 `json:"disk_hits"`
	Compiles      uint64 `json:"compiles"`
	CompileErrors uint64 `json:"compile_errors"`
	Rejected      uint64 `json:"rejected"`      // the driver refused a binary
	Damaged       uint64 `json:"damaged"`       // a checksum refused a binary
	WrongAnswers  uint64 `json:"wrong_answers"` // a loaded program failed its check
	Quarantined   uint64 `json:"quarantined"`   // programs found in flight of processes that died
	Refusals      uint64 `json:"refusals"`      // requests for sources in quarantine
	NegativeHits  uint64 `json:"negative_hits"` // requests answered with a compile error that was known
	Evictions     uint64 `json:"evictions"`
	OverCapacity  uint64 `json:"over_capacity"`  // all in use, so the limit was passed
	OutOfMemory   uint64 `json:"out_of_memory"`  // GL_OUT_OF_MEMORY seen
	Stored        uint64 `json:"stored"`         // blobs written
	StoreFailures uint64 `json:"store_failures"` // reads or writes that failed; never fatal
	CompileNanos  int64  `json:"compile_ns"`     // spent compiling, priming included
	LoadNanos     int64  `json:"load_ns"`        // spent loading, priming included
	SavedNanos    int64  `json:"saved_ns"`       // compile time not spent, loads subtracted
}

// Add adds o to c, field by field.
func (c *Counters) Add(o Counters) {
	c.ResidentHits += o.ResidentHits
	c.MemoryHits += o.MemoryHits
	c.DiskHits += o.DiskHits
	c.Compiles += o.Compiles
	c.CompileErrors += o.CompileErrors
	c.Rejected += o.Rejected
	c.Damaged += o.Damaged
	c.WrongAnswers += o.WrongAnswers
	c.Quarantined += o.Quarantined
	c.Refusals += o.Refusals
	c.NegativeHits += o.NegativeHits
	c.Evictions += o.Evictions
	c.OverCapacity += o.OverCapacity
	c.OutOfMemory += o.OutOfMemory
	c.Stored += o.Stored
	c.StoreFailures += o.StoreFailures
	c.CompileNanos += o.CompileNanos
	c.LoadNanos += o.LoadNanos
	c.SavedNanos += o.SavedNanos
}

// HitRate is the share of requests that needed no compile, 0 to 1; 0 when there
// were none.
func (c Counters) HitRate() float64 {
	hits := c.ResidentHits + c.MemoryHits + c.DiskHits
	total := hits + c.Compiles + c.CompileErrors // what was known to fail needed no compile
	if total == 0 {
		return 0
	}
	return float64(hits) / float64(total)
}
