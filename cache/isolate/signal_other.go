//go:build !unix

package isolate

import "os"

// endingSignal returns "": no signal ends a process here.
func endingSignal(*os.ProcessState) string { return "" }
