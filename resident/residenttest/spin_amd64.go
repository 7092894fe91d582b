package residenttest

// Pause tells the CPU that a loop waits for memory.
func Pause()

// Stream writes a word with a non-temporal store, and waits until it has left the CPU.
//
//go:noescape
func Stream(at *uint32, word uint32)
