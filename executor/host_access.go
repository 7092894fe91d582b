package executor

import "sync/atomic"

// hostAccess counts the goroutines that use the slots' mapped memory, so that Close
// unmaps it only after the last of them. A goroutine may begin an access inside
// another.
type hostAccess struct {
	active atomic.Int64
	closed atomic.Bool
	ended  chan struct{} // one token when the last access after close ends
}

func newHostAccess() *hostAccess { return &hostAccess{ended: make(chan struct{}, 1)} }

// begin reports whether the memory may be used. If so the caller calls end.
func (a *hostAccess) begin() bool {
	a.active.Add(1)
	if a.closed.Load() {
		a.end()
		return false
	}
	return true
}

func (a *hostAccess) end() {
	if a.active.Add(-1) == 0 && a.closed.Load() {
		select {
		case a.ended <- struct{}{}:
		default:
		}
	}
}

// close makes begin return false from now on.
func (a *hostAccess) close() { a.closed.Store(true) }

// wait returns when every access has ended. close was called before.
func (a *hostAccess) wait() {
	for a.active.Load() != 0 {
		<-a.ended
	}
}
