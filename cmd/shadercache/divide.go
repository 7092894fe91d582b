package main

import (
	"slices"
	"sync"
)

// divide has workers do n pieces of work side by side, each one piece at a time. do reports
// whether the worker can do more: one that cannot does none, and another one does that piece,
// once the others have ended theirs. It returns the pieces that no worker did, in order.
func divide[W any](workers []W, n int, do func(worker W, piece int) bool) (left []int) {
	for piece := range n {
		left = append(left, piece)
	}
	var mu sync.Mutex // of left and good
	for len(left) > 0 && len(workers) > 0 {
		pieces := make(chan int, len(left))
		for _, piece := range left {
			pieces <- piece
		}
		close(pieces)
		left = nil
		var good []W
		var working sync.WaitGroup
		for _, w := range workers {
			working.Go(func() {
				for piece := range pieces {
					if !do(w, piece) {
						mu.Lock()
						defer mu.Unlock()
						left = append(left, piece)
						return
					}
				}
				mu.Lock()
				defer mu.Unlock()
				good = append(good, w)
			})
		}
		working.Wait()
		for piece := range pieces { // every worker has failed
			left = append(left, piece)
		}
		workers = good
	}
	slices.Sort(left)
	return left
}
