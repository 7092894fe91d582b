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
	for len(left) > 0 && len(workers) > 0 {
		pieces := make(chan int, len(left))
		for _, piece := range left {
			pieces <- piece
		}
		close(pieces)
		failed := make([]bool, len(workers))
		last := make([]int, len(workers))
		var working sync.WaitGroup
		for i, w := range workers {
			working.Go(func() {
				for piece := range pieces {
					if last[i] = piece; !do(w, piece) {
						failed[i] = true
						return
					}
				}
			})
		}
		working.Wait()
		left = nil
		for piece := range pieces { // every worker has failed
			left = append(left, piece)
		}
		var good []W
		for i, w := range workers {
			if failed[i] {
				left = append(left, last[i])
			} else {
				good = append(good, w)
			}
		}
		workers = good
	}
	slices.Sort(left)
	return left
}
