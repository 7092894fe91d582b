package main

import (
	"errors"
	"slices"
	"sync"
)

// divide has workers do n pieces of work side by side, each one piece at a time. A worker
// whose piece fails does no more, and another one does that piece. It returns what no worker
// did, in order, and the errors.
func divide[W any](workers []W, n int, do func(worker W, piece int) error) (left []int, _ error) {
	for piece := range n {
		left = append(left, piece)
	}
	var errs []error
	for len(left) > 0 && len(workers) > 0 {
		var round division
		round.left = left
		workers = divideOnce(workers, &round, do)
		left = round.left
		errs = append(errs, round.errs...)
	}
	slices.Sort(left)
	return left, errors.Join(errs...)
}

// division is the work that is left.
type division struct {
	mu   sync.Mutex
	left []int
	errs []error
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

// giveBack adds a piece that failed to the work that is left.
func (d *division) giveBack(piece int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left, d.errs = append(slices.Clone(d.left), piece), append(d.errs, err)
}

// divideOnce has workers take pieces until there is none, and returns those without an error.
func divideOnce[W any](workers []W, d *division, do func(worker W, piece int) error) (good []W) {
	failed := make([]bool, len(workers))
	var working sync.WaitGroup
	for i, w := range workers {
		working.Go(func() {
			for piece, ok := d.take(); ok; piece, ok = d.take() {
				if err := do(w, piece); err != nil {
					d.giveBack(piece, err)
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
