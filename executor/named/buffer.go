// Package named keeps what is on a GPU by name, and counts the versions of buffers: for a
// device of this process, and for a server.
package named

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/internal/rwlock"
	"github.com/shadercache/shadercache/job"
)

// Buffer is memory with a version. Its lock is held from the check of the version until the
// executor has what changes it, and by readers with the bytes. The GL thread runs what it has to
// while one waits for it.
type Buffer struct {
	*executor.Memory
	*rwlock.RWMutex
	Version uint64 // guarded by the lock

	number uint64 // buffers are locked in this order
}

var buffers atomic.Uint64

// NewBuffer returns a buffer, which has the memory from then on.
func NewBuffer(m *executor.Memory, c *glctx.Context) *Buffer {
	return &Buffer{Memory: m, RWMutex: rwlock.New(c.PollWhile), number: buffers.Add(1)}
}

// Bytes and Free are for a Registry.
func (b *Buffer) Bytes() int64 { return int64(b.Size()) }
func (b *Buffer) Free()        { b.Memory.Release() }

// Expect returns ErrConflict where the buffer has another version. It is locked.
func (b *Buffer) Expect(version uint64) error {
	if b.Version != version {
		return fmt.Errorf("%w: the buffer has version %d, expected was %d", job.ErrConflict, b.Version, version)
	}
	return nil
}

// Writes are buffers that one job writes.
type Writes []*Buffer

// Lock locks them, each once and in the order of their numbers, unless ctx ends: then it locks none.
func (w *Writes) Lock(ctx context.Context) error {
	slices.SortFunc(*w, func(a, b *Buffer) int { return cmp.Compare(a.number, b.number) })
	*w = slices.Compact(*w)
	for i, b := range *w {
		if err := b.Lock(ctx); err != nil {
			(*w)[:i].Unlock()
			return err
		}
	}
	return nil
}

// Raise counts a write of each. They are locked, and the executor has the job.
func (w Writes) Raise() {
	for _, b := range w {
		b.Version++
	}
}

// Unlock unlocks them.
func (w Writes) Unlock() {
	for _, b := range w {
		b.Unlock()
	}
}

// OpenBuffer is Registry.Open of a buffer, and returns ErrExists for one of another size, but
// for a size of 0.
func OpenBuffer(r *Registry[*Buffer], name string, fresh bool, size int, create func() (*Buffer, error)) (n *Object[*Buffer], created bool, err error) {
	n, created, err = r.Open(name, fresh, int64(size), create)
	if err != nil {
		return nil, false, err
	}
	if have := n.Value.Size(); size != 0 && size != have {
		r.Leave(n)
		return nil, false, fmt.Errorf("%w: the named buffer %q has %d bytes, not %d", job.ErrExists, name, have, size)
	}
	return n, created, nil
}
