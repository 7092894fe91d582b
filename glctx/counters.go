package glctx

// Counters counts GL calls and live objects since the context was opened. Tests
// assert them: a cache that never hits gives correct results, too.
type Counters struct {
	Compiles    uint64 `json:"compiles"`     // glCompileShader
	Links       uint64 `json:"links"`        // glLinkProgram
	BinaryLoads uint64 `json:"binary_loads"` // glProgramBinary
	Primes      uint64 `json:"primes"`       // zero-group dispatches
	Dispatches  uint64 `json:"dispatches"`   // of any kind, without primes
	Finishes    uint64 `json:"finishes"`     // glFinish
	Waits       uint64 `json:"waits"`        // glClientWaitSync with a timeout
	Readbacks   uint64 `json:"readbacks"`    // glGetNamedBufferSubData, and glGetTextureSubImage to the host
	Programs    int64  `json:"programs"`     // live
	Buffers     int64  `json:"buffers"`      // live
	Fences      int64  `json:"fences"`       // live
	Textures    int64  `json:"textures"`     // live
	Samplers    int64  `json:"samplers"`     // live
}

// count adds n to a counter of a context.
func count[N int64 | uint64](c *Context, counter *N, n N) {
	c.counted.Lock()
	defer c.counted.Unlock()
	*counter += n
}

// Counters returns the counts so far. It may be called at any time.
func (c *Context) Counters() Counters {
	c.counted.Lock()
	defer c.counted.Unlock()
	return c.counted.Counters
}
