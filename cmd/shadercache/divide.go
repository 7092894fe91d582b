package main

import (
	"slices"
	"sync"
)

// divide has workers do n pieces of work side by side, each one piece at a time. do reports
// whether the worker can do more: one that cannot does none, and another one does that piece.
// It returns the pieces that no worker did, in order.
func divide[W any](workers []W, n int, do func(worker W, piece int) bool) (left []int) {
	for piece := range n {
		left = append(left, piece)
	}
	for len(left) > 0 && len(workers) > 0 {
		round := division{left: left}
		workers = divideOnce(workers, &round, do)
		left = round.left
	}
	slices.Sort(left)
	return left
}

// division is the work that is left.
type division struct {
	mu   sync.Mutex
	left []int
}

// take returns the next piece, and false where there is none.
func (d *division) take() (piece int, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.left) == 0 {
		return 0, false
	}
	piece, d.left = d.left[0], d.left[1:]
	return piece, true
}

// giveBack adds a piece that was not done to the work that is left.
func (d *division) giveBack(piece int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = append(slices.Clone(d.left), piece)
}

// divideOnce has workers take pieces until there is none, and returns those that can do more.
func divideOnce[W any](workers []W, d *division, do func(worker W, piece int) bool) (good []W) {
	failed := make([]bool, len(workers))
	var working sync.WaitGroup
	for i, w := range workers {
		working.Go(func() {
			for piece, ok := d.take(); ok; piece, ok = d.take() {
				if !do(w, piece) {
					d.giveBack(piece)
					failed[i] = true
					return
				}
			}
		})
	}
	working.Wait()
	for i, w := range workers {
		if !failed[i] {
			good = append(good, w)
		}
	}
	return good
}
