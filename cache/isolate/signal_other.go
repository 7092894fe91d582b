//go:build !unix

package isolate

// endingSignal returns "": no signal ends a process here.
func endingSignal(error) string { return "" }
