package cache

import (
	"context"
	"errors"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// CheckKeeper is what a Store has that remembers which binaries gave the right
// answer. *binary.Store has it. Without it, binaries are checked once a
// process.
type CheckKeeper interface {
	Checked(blob *binary.Blob) bool
	PutChecked(blob *binary.Blob) error
}

// check runs the check of a source, if it has one, on a program that was loaded
// from blob, unless this binary is known to be right. wrong says how the answer
// is wrong; err that there is no answer.
func (c *Cache) check(ctx context.Context, src *Source, program shader.Program, blob *binary.Blob) (wrong, err error) {
	run := src.Check()
	if run == nil || c.isChecked(blob) {
		return nil, nil
	}
	err = run(ctx, program.ID)
	switch {
	case err == nil:
		c.setChecked(blob)
		return nil, nil
	case ctx.Err() != nil, errors.Is(err, shader.ErrContextLost), errors.Is(err, shader.ErrOutOfMemory):
		return nil, err
	}
	return err, nil
}

func (c *Cache) isChecked(blob *binary.Blob) bool {
	c.mu.Lock()
	known := c.mu.checked[blob.Key]
	c.mu.Unlock()
	if known {
		return true
	}
	keeper, ok := c.store.(CheckKeeper)
	return ok && keeper.Checked(blob)
}

// setChecked remembers by key in memory: the blob of a key changes only when it
// was set aside, which ends the memory.
func (c *Cache) setChecked(blob *binary.Blob) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.checked[blob.Key] = true
	if keeper, ok := c.store.(CheckKeeper); ok {
		c.mu.unstored++
		c.enqueue(task{what: "remembering a check", do: func() error { return keeper.PutChecked(blob) }})
	}
}
