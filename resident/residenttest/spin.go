package residenttest

import "sync/atomic"

// drain is the word that Drain changes.
var drain atomic.Uint32

// Drain flushes the CPU's write-combining buffers by a locked operation on other memory.
func Drain() { drain.Add(1) }
