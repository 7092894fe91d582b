package glctx

import "sync"

// Mutex is a sync.Mutex that may be held during calls which wait for callbacks of
// Context. On the thread of an adopted context, Lock polls the context while it
// waits: the holder may be waiting for a callback on that thread. Context is set
// before the first Lock.
type Mutex struct {
	sync.Mutex
	Context *Context
}

// Lock locks m. Where it has to wait inside a callback, it panics.
func (m *Mutex) Lock() {
	if !m.TryLock() {
		m.Context.PollWhile(m.Mutex.Lock)
	}
}
