package main

import (
	"slices"
	"sync"
	"sync/atomic"
)

// divide has workers do n pieces of work side by side, each one piece at a time. do reports
// whether the worker can do more: one that cannot has not done its piece, and another one does
// it. It returns the pieces that no worker did, in order. n is at least 1.
func divide[W any](workers []W, n int, do func(worker W, piece int) bool) (left []int) {
	pieces := make(chan int, n)
	for piece := range n {
		pieces <- piece
	}
	var missing atomic.Int64
	missing.Store(int64(n))
	var working sync.WaitGroup
	for _, w := range workers {
		working.Go(func() {
			for piece := range pieces { // one that waits may get that of a worker that fails
				if !do(w, piece) {
					pieces <- piece
					return
				}
				if missing.Add(-1) == 0 {
					close(pieces)
				}
			}
		})
	}
	working.Wait()
	for len(pieces) > 0 { // every worker has failed
		left = append(left, <-pieces)
	}
	slices.Sort(left)
	return left
}
