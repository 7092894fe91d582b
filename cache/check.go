package cache

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// CheckTogether checks programs that only work together: those of handles that were
// loaded from binaries whose own check returned shader.ErrCheckLater. Without such
// programs it returns nil and does not call check. When check returns nil, or
// shader.ErrCheckLater because there is no check for them, these programs are not checked
// again by this cache; after nil, their binaries are not by any other either. Otherwise
// CheckTogether returns a *WrongAnswerError: release the handles and call RejectWrong for
// its keys. The errors that are no results, see shader.Source.WithCheck, are returned as
// they are. check must not call the cache.
//
// Programs that were compiled because RejectWrong rejected their binaries are checked once
// more. Where they compute wrong as well, the error has Compiled set: another compile would
// not change it, and later starts do not compile them again.
func (c *Cache) CheckTogether(ctx context.Context, handles []*Handle, check func(context.Context) error) error {
	c.mu.Lock()
	unchecked := map[*entry]*binary.Blob{}
	var again []*entry
	for _, h := range handles {
		e := h.entry()
		if e.unchecked != nil {
			unchecked[e] = e.unchecked
		} else if e.recheck {
			again = append(again, e)
		}
	}
	c.mu.Unlock()
	if len(unchecked) == 0 && len(again) == 0 {
		return nil
	}
	err := check(ctx)
	if err != nil && !errors.Is(err, shader.ErrCheckLater) {
		if isNoAnswer(ctx, err) {
			return err
		}
		return c.wrongTogether(unchecked, again, err)
	}
	c.mu.Lock()
	for _, e := range again {
		e.recheck = false
	}
	c.mu.Unlock()
	for e, blob := range unchecked {
		if err == nil {
			c.setChecked(blob)
		}
		c.mu.Lock()
		e.unchecked = nil
		c.mu.Unlock()
	}
	return nil
}

// wrongTogether returns the error for programs that gave a wrong answer together: those
// that were loaded, and those that were compiled because of an earlier one.
func (c *Cache) wrongTogether(unchecked map[*entry]*binary.Blob, again []*entry, err error) error {
	wrong := &WrongAnswerError{Err: err, Compiled: true}
	for e := range unchecked {
		wrong.Keys = append(wrong.Keys, e.key)
		wrong.Compiled = wrong.Compiled && c.isAlwaysWrong(e.key)
	}
	if !wrong.Compiled {
		return wrong
	}
	for _, e := range again {
		wrong.Keys = append(wrong.Keys, e.key)
		c.putWrong(e, err)
	}
	return wrong
}

// checkLoaded runs the check of a source on a program that was loaded from blob, unless this
// blob has passed it before; it may be left to CheckTogether. wrong is why the program failed
// the check; err is why the check gave no answer.
func (c *Cache) checkLoaded(ctx context.Context, src *shader.Source, e *entry, blob *binary.Blob) (wrong, err error) {
	if c.isChecked(blob) {
		return nil, nil
	}
	err = c.runCheck(ctx, src.Check(), e)
	switch {
	case err == nil:
		c.setChecked(blob)
		return nil, nil
	case errors.Is(err, shader.ErrCheckLater):
		e.unchecked = blob
		return nil, nil
	case isNoAnswer(ctx, err):
		return nil, err
	}
	return err, nil
}

// isNoAnswer reports whether a check ended before it had a result.
func isNoAnswer(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, shader.ErrContextLost) || errors.Is(err, shader.ErrOutOfMemory)
}

// runCheck runs a check, in which the driver runs the program for the first time, and deletes the
// program when the check panics.
func (c *Cache) runCheck(ctx context.Context, run shader.Check, e *entry) (err error) {
	returned := false
	done := c.markDispatch(e)
	defer func() {
		done(returned && !errors.Is(err, shader.ErrCheckLater) && !isNoAnswer(ctx, err))
		if !returned {
			c.dev.Delete(e.program.ID)
		}
	}()
	err = run(ctx, e.program.ID)
	returned = true
	return err
}

func (c *Cache) isChecked(blob *binary.Blob) bool {
	sum := sha256.Sum256(blob.Payload)
	c.mu.Lock()
	known := c.mu.checked[blob.Key] == sum
	c.mu.Unlock()
	return known || c.store.Checked(blob)
}

// setChecked records that a blob passed the check, by its payload: another process may
// replace the blob of a key, or a pull after a prune.
func (c *Cache) setChecked(blob *binary.Blob) {
	sum := sha256.Sum256(blob.Payload)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.checked[blob.Key] = sum
	c.addTask(task{what: "writing a check", do: func() error { return c.store.PutChecked(blob) }})
}

// RejectWrong rejects the binary of a program that gave a wrong answer, as its user found,
// and counts it. When no handle is left the program is evicted, so that the next Get
// compiles it. It returns false for a program that was compiled, which another compile
// would not change, and while there are handles. See shader.Source.WithCheck for answers
// that the cache checks itself.
func (c *Cache) RejectWrong(key shader.Key, reason string) bool {
	var dropped []*entry
	c.mu.Lock()
	e := c.mu.resident.find(key)
	if e != nil && e.origin == job.Compiled {
		c.mu.Unlock()
		return false
	}
	if e != nil {
		if from := cmp.Or(e.blob, e.unchecked); from != nil && from.Upstream {
			c.mu.counters.total.UpstreamRejected++
		}
		e.blob = nil // also while it is in use: it is not loaded again after its eviction
	}
	if e != nil && e.seal() {
		c.mu.resident.remove(e)
		dropped = append(dropped, e)
		c.retire(dropped)
	}
	c.mu.counters.total.WrongAnswers++
	c.mu.wrong[key] = false
	c.mu.Unlock()
	c.dropAll(dropped)
	c.discardBlob(key, "the loaded program gave a wrong answer: "+reason)
	return e == nil || len(dropped) > 0
}

// recheck checks a program that was compiled because its binary gave a wrong answer, here or
// in an earlier start. Where the driver computes it wrong nevertheless, the result is an error.
func (c *Cache) recheck(ctx context.Context, r result) result {
	err := c.runCheck(ctx, r.flight.src.Check(), r.entry)
	switch {
	case errors.Is(err, shader.ErrCheckLater):
		r.entry.recheck = true
		return r
	case err == nil:
		return r
	}
	c.dev.Delete(r.entry.program.ID)
	r.flight.tally.Compiles++
	if !isNoAnswer(ctx, err) {
		c.putWrong(r.entry, err)
		err = &WrongAnswerError{Keys: []shader.Key{r.entry.key}, Err: err, Compiled: true}
	}
	return result{flight: r.flight, err: err}
}

// putWrong records that a program is computed wrong right after it was compiled too, for
// the doctor, and for starts that compile it: they check it as well.
func (c *Cache) putWrong(e *entry, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addTask(task{what: "writing a check", do: func() error { return c.store.PutWrong(e.key, e.name, err.Error()) }})
}
