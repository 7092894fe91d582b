package cache

import (
	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
)

// Stats is the state of a cache at one moment.
type Stats struct {
	binary.Counters `json:"counters"` // of this cache since New

	Resident      int       `json:"resident"`       // programs
	ResidentBytes int64     `json:"resident_bytes"` // sum of Program.Bytes
	InUse         int       `json:"in_use"`         // resident programs with handles
	GPUMemory     GPUMemory `json:"gpu_memory"`     // as of the last query; zero where there was none
	KeptBytes     int64     `json:"kept_bytes"`     // payloads of evicted programs in memory
	MemoryOnly    string    `json:"memory_only"`    // why there is no store; "" when there is one
	SourceOnly    string    `json:"source_only"`    // why program binaries are not used; "" when they are
	DriverCache   string    `json:"driver_cache"`   // state of the driver's own cache; "" when the device does not know
}

// Stats returns the state of the cache and its counters. It touches neither GL
// nor the disk.
func (c *Cache) Stats() Stats {
	s := Stats{MemoryOnly: c.memoryOnly, SourceOnly: c.sourceOnly}
	if state := c.dev.DriverCache(); state != (drivercache.State{}) {
		s.DriverCache = state.String()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.GPUMemory = c.mu.gpuMemory
	s.ResidentBytes, s.KeptBytes = c.mu.resident.bytes, c.mu.evicted.bytes
	for _, e := range c.mu.resident.entries() {
		c.mu.counters.collect(e)
		s.Resident++
		if e.handles() > 0 {
			s.InUse++
		}
	}
	c.mu.counters.addMachineCode(false)
	s.Counters = c.mu.counters.total
	return s
}
