package cache

import "github.com/shadercache/shadercache/shader"

// Nothing has every power and keeps nothing: tests embed it.
type Nothing = nothing

// Claim claims a program as another cache of the driver of c does, until end is called.
func Claim(s *SingleFlight, c *Cache, key shader.Key) (end func(), ok bool) {
	k := &claim{key: sharedKey{c.driver, key}, made: make(chan struct{})}
	return k.end, s.add(k) == k
}
