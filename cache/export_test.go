package cache

import (
	"runtime"

	"github.com/shadercache/shadercache/shader"
)

// Nothing has every power and keeps nothing: tests embed it.
type Nothing = nothing

// Claim claims a program as another cache of the driver of c does, until end is called.
func Claim(s *SingleFlight, c *Cache, key shader.Key) (end func(), ok bool) {
	k := &claim{key: sharedKey{c.driver, key}, made: make(chan struct{})}
	return k.end, s.add(k) == k
}

// AwaitWatcher waits until a preload waits for the program that another request makes.
func AwaitWatcher(c *Cache, key shader.Key) {
	for waits := false; !waits; runtime.Gosched() {
		c.mu.Lock()
		waits = c.mu.flights[key].watchers > 0
		c.mu.Unlock()
	}
}
