package cache

import (
	"context"
	"errors"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// checkLoaded runs the check of a source, if it has one, on a program that was
// loaded from blob, unless this blob has passed it before. wrong is why the
// program failed the check; err is why the check gave no answer.
func (c *Cache) checkLoaded(ctx context.Context, src *shader.Source, program shader.Program, blob *binary.Blob) (wrong, err error) {
	run := src.Check()
	if run == nil || c.isChecked(blob) {
		return nil, nil
	}
	err = c.runCheck(ctx, run, program.ID)
	switch {
	case err == nil:
		c.setChecked(blob)
		return nil, nil
	case ctx.Err() != nil, errors.Is(err, shader.ErrContextLost), errors.Is(err, shader.ErrOutOfMemory):
		return nil, err
	}
	return err, nil
}

// runCheck runs a check, and deletes the program when the check panics.
func (c *Cache) runCheck(ctx context.Context, run shader.Check, id uint32) error {
	returned := false
	defer func() {
		if !returned {
			c.dev.Delete(id)
		}
	}()
	err := run(ctx, id)
	returned = true
	return err
}

func (c *Cache) isChecked(blob *binary.Blob) bool {
	c.mu.Lock()
	known := c.mu.checked[blob.Key]
	c.mu.Unlock()
	if known {
		return true
	}
	return c.store.Checked(blob)
}

// setChecked records that a blob passed the check. In memory the key is enough:
// the blob of a key changes only after discardBlob, which deletes the record.
func (c *Cache) setChecked(blob *binary.Blob) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.checked[blob.Key] = true
	c.addTask(task{what: "writing a check", do: func() error { return c.store.PutChecked(blob) }})
}
