//go:build !linux

package glctx

// threadID returns 1. There is no context here, and so no thread of one.
func threadID() int64 { return 1 }

func lowerPriority() {}
