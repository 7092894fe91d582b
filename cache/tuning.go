package cache

import (
	"fmt"

	"github.com/shadercache/shadercache/binary"
)

// TuningKeeper is what a Store has that remembers what was fastest for a problem.
// *binary.Store has it; Cache.Tuning and PutTuning make use of it.
type TuningKeeper interface {
	// Tuning is what PutTuning kept for a problem. It returns binary.ErrNotFound,
	// or an error that matches binary.ErrDamaged.
	Tuning(problem string) (binary.Tuning, error)

	// PutTuning keeps what was found for t.Problem.
	PutTuning(t binary.Tuning) error
}

// Tuning is what was found to be fastest for a problem with the device's driver,
// read from disk. Errors: binary.ErrNotFound, also where nothing is kept on disk;
// and binary.ErrDamaged, wrapped, which means the same to most callers.
func (c *Cache) Tuning(problem string) (binary.Tuning, error) {
	if keeper, ok := c.store.(TuningKeeper); ok {
		return keeper.Tuning(problem)
	}
	return binary.Tuning{}, fmt.Errorf("cache: tuning of %s: %w", problem, binary.ErrNotFound)
}

// PutTuning keeps on disk what was found for t.Problem. Without a store it keeps
// nothing, which is no error.
func (c *Cache) PutTuning(t binary.Tuning) error {
	if keeper, ok := c.store.(TuningKeeper); ok {
		return keeper.PutTuning(t)
	}
	return nil
}
