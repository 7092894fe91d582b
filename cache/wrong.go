package cache

import (
	"context"
	"errors"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

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
	if e != nil && e.seal() {
		e.blob = nil
		c.mu.resident.remove(e)
		dropped = append(dropped, e)
		c.retire(dropped)
	}
	c.mu.counters.pending.WrongAnswers++
	c.mu.wrong[key] = true
	c.mu.Unlock()
	c.dropAll(dropped)
	c.discardBlob(key, "the loaded program gave a wrong answer: "+reason)
	return e == nil || len(dropped) > 0
}

// needsRecheck reports whether a program was compiled because its binary gave a wrong answer,
// here or in an earlier start.
func (r result) needsRecheck() bool { return r.err == nil && r.entry != nil && r.flight.answer.recheck }

// recheck checks a program that needsRecheck. Where the driver computes it wrong
// nevertheless, the result is an error.
func (c *Cache) recheck(ctx context.Context, r result) result {
	err := c.runCheck(ctx, r.flight.src.Check(), r.entry.program.ID)
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
	key, name, reason := e.key, e.name, err.Error()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addTask(task{what: "writing a check", do: func() error { return c.store.PutWrong(key, name, reason) }})
}
