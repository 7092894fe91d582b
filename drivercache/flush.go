package drivercache

import "github.com/shadercache/shadercache/drivercache/mesa"

// Flush waits until the driver has written what it compiled so far, at most 5 s. If a
// process ends earlier, the next one may have to compile again. NVIDIA's driver writes
// at once, and Flush returns at once; Mesa needs some milliseconds on an idle machine.
func Flush() { mesa.Flush() }
