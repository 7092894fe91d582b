package glctx

import "syscall"

// threadID returns the id of this OS thread.
func threadID() int64 { return int64(syscall.Gettid()) }

// lowerPriority lets other threads go before this one. Without the right to do so the
// thread competes with them.
func lowerPriority() { _ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), besidePriority) }
