package cache

import "github.com/shadercache/shadercache/shader"

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
	c.mu.Unlock()
	c.dropAll(dropped)
	c.discardBlob(key, "the loaded program gave a wrong answer: "+reason)
	return e == nil || len(dropped) > 0
}
