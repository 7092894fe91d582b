//go:build !linux

package osfile

import "math"

// MachineMemory returns a large number: not known.
func MachineMemory() int64 { return math.MaxInt64 }
