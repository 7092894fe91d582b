//go:build !linux

package isolate

import "math"

// memoryOf returns 0, not known: only Linux is measured, so there is no limit.
func memoryOf(int) int64 { return 0 }

// machineMemory returns a large number: not known.
func machineMemory() int64 { return math.MaxInt64 }
