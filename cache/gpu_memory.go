package cache

import (
	"time"
)

// gpuMemoryInterval is the time between two queries of the GPU's memory, which go to the
// device's thread.
const gpuMemoryInterval = time.Second

// GPUMemory is the memory of a GPU, of all processes together, in bytes.
type GPUMemory struct {
	Total int64 `json:"total_bytes"` // of memory; 0: the driver does not say
	Free  int64 `json:"free_bytes"`  // of memory, as of the last query: see Cache.GPUMemory
}

// GPUMemory asks the driver for the memory of the GPU, where it has an answer: NVIDIA's
// and Mesa's drivers of GPUs do. It needs the device's thread. Stats has the last answer.
func (c *Cache) GPUMemory() GPUMemory {
	var m GPUMemory
	m.Total, m.Free = c.dev.GPUMemory()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.gpuMemory = m
	return m
}

// watchMemory evicts programs without handles, the older half, while the GPU has less free
// memory than Options.MinFreeGPUBytes, which is set. It is called after a program was made,
// without mu, and asks at most once a second.
func (c *Cache) watchMemory() {
	if !c.isMemoryDue() {
		return
	}
	m := c.GPUMemory()
	if m == (GPUMemory{}) || m.Free >= c.options.MinFreeGPUBytes {
		return
	}
	c.count(&c.mu.counters.total.LowMemory)
	c.evict(c.mu.resident.evictOlder)
}

// isMemoryDue reports whether the last query is a second old, and begins another second.
func (c *Cache) isMemoryDue() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.elapsed()
	if c.mu.memoryAsked != 0 && now-c.mu.memoryAsked < int64(gpuMemoryInterval) {
		return false
	}
	c.mu.memoryAsked = max(now, 1)
	return true
}
