package cache

import (
	"context"
	"errors"

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
	if e != nil && e.origin == Compiled {
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

func (c *Cache) setWrong(key shader.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.wrong[key] = true
}

// recheck checks a program that was compiled because its blob gave a wrong answer. A driver
// that computes it wrong nevertheless would cost a compile at every start: see
// setAlwaysWrong.
func (c *Cache) recheck(ctx context.Context, r result) {
	if r.err != nil || r.load.src.Check() == nil {
		return
	}
	c.mu.Lock()
	wrong := c.mu.wrong[r.entry.key]
	c.mu.Unlock()
	if !wrong {
		return
	}
	err := r.load.src.Check()(ctx, r.entry.program.ID)
	switch {
	case errors.Is(err, shader.ErrCheckLater):
		c.mu.Lock()
		r.entry.recheck = true
		c.mu.Unlock()
	case err != nil && !isNoAnswer(ctx, err):
		c.setAlwaysWrong(r.entry, err)
	}
}

// setAlwaysWrong records that a program is computed wrong right after it was compiled too.
// Later starts use it without a check, and warn.
func (c *Cache) setAlwaysWrong(e *entry, err error) {
	c.warnAlwaysWrong(e.name, e.key, err.Error())
	key, name, reason := e.key, e.name, err.Error()
	c.mu.Lock()
	defer c.mu.Unlock()
	e.recheck = false
	c.mu.checked[key] = true
	c.addTask(task{what: "writing a check", do: func() error { return c.store.PutWrong(key, name, reason) }})
}

func (c *Cache) warnAlwaysWrong(name string, key shader.Key, reason string) {
	c.log.Warn("the driver computes a program wrong, also right after a compile", "name", name, "key", key.Short(), "reason", reason)
}

// isAlwaysWrong reports whether a program has the record of setAlwaysWrong, and warns once.
func (c *Cache) isAlwaysWrong(src *shader.Source) bool {
	reason, wrong := c.store.Wrong(src.Key())
	if !wrong {
		return false
	}
	c.mu.Lock()
	c.mu.checked[src.Key()] = true
	c.mu.Unlock()
	c.warnAlwaysWrong(src.Name(), src.Key(), reason)
	return true
}
