//go:build !amd64

package residenttest

import "sync/atomic"

// Pause does nothing on this CPU.
func Pause() {}

// Stream is an atomic store on this CPU.
func Stream(at *uint32, word uint32) { atomic.StoreUint32(at, word) }
