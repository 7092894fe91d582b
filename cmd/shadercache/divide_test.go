package main

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// Each piece is done once, by several workers. The piece of one that fails is done by
// another, and what none does is returned.
func TestDivide(t *testing.T) {
	for _, c := range []struct {
		name    string
		workers int
		fails   map[int]int // pieces that a worker does until it fails, by worker
		left    int
	}{
		{"one", 1, nil, 0},
		{"three", 3, nil, 0},
		{"one fails at once", 3, map[int]int{1: 0}, 0},
		{"all but one fail", 4, map[int]int{0: 0, 1: 1, 3: 0}, 0},
		{"the last one fails", 1, map[int]int{0: 2}, 5},
	} {
		const pieces = 7
		var mu sync.Mutex
		done, by := make([]int, pieces), map[int]int{}
		var workers []int
		for w := range c.workers {
			workers = append(workers, w)
		}
		left := divide(workers, pieces, func(w, piece int) bool {
			mu.Lock()
			defer mu.Unlock()
			if most, fails := c.fails[w]; fails && by[w] == most {
				by[w] = -1
				return false
			} else if fails && by[w] < 0 {
				t.Errorf("%s: worker %d got a piece after it failed", c.name, w)
			}
			by[w]++
			done[piece]++
			return true
		})
		if len(left) != c.left || !slices.IsSorted(left) {
			t.Errorf("%s: left %v", c.name, left)
		}
		for piece, n := range done {
			if want := 1; n != want && !slices.Contains(left, piece) || n > want {
				t.Errorf("%s: piece %d was done %d times", c.name, piece, n)
			}
		}
	}
}

// All workers work at the same time.
func TestDivideSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which ends the test where they wait without end
		var together sync.WaitGroup
		together.Add(3)
		left := divide([]int{0, 1, 2}, 3, func(int, int) bool {
			together.Done()
			together.Wait() // until every worker has a piece
			return true
		})
		if len(left) > 0 {
			t.Errorf("left %v", left)
		}
	})
}
