package residenttest

import "sync/atomic"

// drain is what Drain writes to.
var drain atomic.Uint32

// Drain makes what this thread wrote before leave the CPU: a locked operation
// empties the buffers of a write-combining mapping too, and touches none of it.
func Drain() { drain.Add(1) }
