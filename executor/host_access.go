package executor

import (
	"sync"
	"sync/atomic"
)

// hostAccess counts the goroutines that use the slots' mapped memory, so that Close
// unmaps it only after the last of them. A goroutine may begin an access inside
// another.
type hostAccess struct {
	users  sync.RWMutex // held for reading by each
	closed atomic.Bool
}

// begin reports whether the memory may be used. If so the caller calls end. It does not wait,
// so that an access inside another does not wait for wait, which waits for that one.
func (a *hostAccess) begin() bool { return !a.closed.Load() && a.users.TryRLock() }

func (a *hostAccess) end() { a.users.RUnlock() }

// close makes begin return false from now on.
func (a *hostAccess) close() { a.closed.Store(true) }

// wait returns when every access has ended. close was called before.
func (a *hostAccess) wait() { a.users.Lock() }
