package cli

import (
	"time"

	"github.com/shadercache/shadercache/binary"
)

// Figures are what starts did.
type Figures struct {
	Starts            uint64  `json:"starts"`              // processes that got programs
	ResidentHits      uint64  `json:"resident_hits"`       // requests answered by a resident program
	MemoryHits        uint64  `json:"memory_hits"`         // programs that were evicted and loaded again from memory
	DiskHits          uint64  `json:"disk_hits"`           // programs loaded from disk
	Compiles          uint64  `json:"compiles"`            // programs compiled
	Rejected          uint64  `json:"rejected"`            // binaries that the driver refused
	Evictions         uint64  `json:"evictions"`           // programs evicted from memory
	MachineCodeMisses uint64  `json:"machine_code_misses"` // programs that were loaded and whose machine code the driver made again
	CompilesPerStart  float64 `json:"compiles_per_start"`  // mean
	DiskRate          float64 `json:"disk_rate"`           // disk_hits of disk_hits and compiles, 0 to 1
	ResidentRate      float64 `json:"resident_rate"`       // resident_hits of all requests, 0 to 1
	FirstMillis       float64 `json:"first_ms"`            // mean, 0 = unknown: from the begin of the cache until the first program was ready
	MadeMillis        float64 `json:"made_ms"`             // spent compiling, loading and priming
	SavedMillis       float64 `json:"saved_ms"`            // compile time less load time
}

// NewFigures returns the figures of counters.
func NewFigures(c binary.Counters) Figures {
	return Figures{
		Starts: c.Starts, ResidentHits: c.ResidentHits, MemoryHits: c.MemoryHits, DiskHits: c.DiskHits, Compiles: c.Compiles,
		Rejected: c.Rejected, Evictions: c.Evictions, MachineCodeMisses: c.MachineCodeMisses,
		CompilesPerStart: c.CompilesPerStart(), DiskRate: c.DiskRate(), ResidentRate: c.ResidentRate(),
		FirstMillis: Milliseconds(c.FirstReady()), MadeMillis: Milliseconds(time.Duration(c.CompileNanos + c.LoadNanos)),
		SavedMillis: Milliseconds(time.Duration(max(c.SavedNanos, 0))),
	}
}

// SumStarts returns the sum of periods.
func SumStarts(periods []binary.Starts) (total binary.Counters) {
	for _, p := range periods {
		total.Add(p.Counters)
	}
	return total
}
