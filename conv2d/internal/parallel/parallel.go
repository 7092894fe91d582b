// Package parallel runs loops on all processors.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// For calls work once for every number from 0 to n-1, on all processors, and waits. The
// calling goroutine works too: what others begin too late for does not delay it.
func For(n int, work func(i int)) {
	var next atomic.Int64
	var pending sync.WaitGroup
	pending.Add(n)
	worker := func() {
		for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
			work(int(i))
			pending.Done()
		}
	}
	for range min(n, runtime.GOMAXPROCS(0)) - 1 {
		go worker()
	}
	worker()
	pending.Wait()
}
