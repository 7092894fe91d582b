//go:build linux

package client

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/shadercache/shadercache/internal/raw"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// Memory is memory that the client shares with the server: Data of an input and To of an
// output that are parts of its Bytes do not pass through the socket. While a job is pending,
// nothing else may write its inputs, or read or write its outputs: neither the client nor a job
// that is submitted later. Where Welcome.ZeroCopy is set, kernels use it in place:
// a job that failed by its deadline, or was cancelled, may read its inputs and write its outputs until it ends,
// and a kernel that writes the block of an input changes the input.
type Memory struct {
	object
	bytes []byte
}

// NewMemory makes size bytes of shared memory, all zero. Release releases it.
func (c *Client) NewMemory(ctx context.Context, size int) (*Memory, error) {
	m, err := c.newMemory(ctx, size)
	if err == nil {
		c.memories.Lock()
		c.memories.list = append(c.memories.list, m)
		c.memories.Unlock()
	}
	return m, err
}

// memories are those that NewMemory made.
type memories struct {
	sync.RWMutex
	list []*Memory
}

// shared returns the operand of bytes that lie in memory of NewMemory.
func (c *Client) shared(data []byte) (wire.Operand, bool) {
	c.memories.RLock()
	defer c.memories.RUnlock()
	for _, m := range c.memories.list {
		if at, ok := raw.Within(data, m.bytes); ok {
			return m.operand(at, len(data)), true
		}
	}
	return wire.Operand{}, false
}

func (m *Memory) operand(offset, size int) wire.Operand {
	return wire.Operand{Place: wire.PlaceMemory, ID: m.id, Offset: uint64(offset), Size: uint64(size)}
}

// newMemory makes memory, where the quota wants it instead of what is kept for reuse.
func (c *Client) newMemory(ctx context.Context, size int) (*Memory, error) {
	for {
		before := c.staging.releases.Load()
		m, err := c.askForMemory(ctx, size)
		if !errors.Is(err, job.ErrQuota) {
			return m, err
		}
		if c.staging.release(); c.staging.releases.Load() == before { // by no other goroutine either
			return nil, err
		}
	}
}

func (c *Client) askForMemory(ctx context.Context, size int) (*Memory, error) {
	if size <= 0 {
		return nil, fmt.Errorf("%w: memory of %d bytes", job.ErrInvalid, size)
	}
	f, bytes, err := socket.NewMemory("shadercache", size)
	if err != nil {
		return nil, fmt.Errorf("client: make shared memory of %d bytes: %w", size, err)
	}
	m := &Memory{c.newObject(wire.KindMemory), bytes}
	if err := m.make(ctx, wire.TypeMemory, &wire.Memory{ID: m.id, Size: uint64(size)}, &wire.Empty{}, f); err != nil {
		_ = socket.Unmap(bytes)
		return nil, err
	}
	return m, nil
}

// Bytes returns the memory. It must not be used after Release.
func (m *Memory) Bytes() []byte { return m.bytes }

// Floats returns Bytes as numbers, for plans.
func (m *Memory) Floats() []float32 { return raw.Floats(m.bytes) }

// Release ends the use of the memory. No job that uses it may be pending.
func (m *Memory) Release() {
	if m.released.Swap(true) {
		return
	}
	m.c.memories.Lock()
	m.c.memories.list = slices.DeleteFunc(m.c.memories.list, func(other *Memory) bool { return other == m })
	m.c.memories.Unlock()
	m.c.release(wire.KindMemory, m.id, true)
	_ = socket.Unmap(m.bytes)
}

// inlineBytes is the size of an operand from which data goes through shared memory:
// copying less through the socket is as fast.
const inlineBytes = 64 << 10

// staging is shared memory for data that the caller has in memory of its own, kept for
// reuse. Sizes are powers of 2.
type staging struct {
	mu   sync.Mutex
	free map[int][]*Memory
	kept int

	releases atomic.Uint64 // of something that was kept
}

// maxStaged is the bytes of shared memory that are kept for reuse.
const maxStaged = 256 << 20

// stage returns shared memory of at least size bytes.
func (c *Client) stage(ctx context.Context, size int) (*Memory, error) {
	size = 1 << bits.Len(uint(size-1))
	s := &c.staging
	s.mu.Lock()
	if list := s.free[size]; len(list) > 0 {
		m := list[len(list)-1]
		s.free[size] = list[:len(list)-1]
		s.kept -= size
		s.mu.Unlock()
		return m, nil
	}
	s.mu.Unlock()
	return c.newMemory(ctx, size)
}

// unstage keeps memory for reuse. The server does not use it any more.
func (c *Client) unstage(m *Memory) {
	s := &c.staging
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept+len(m.bytes) > maxStaged || c.Err() != nil {
		m.Release()
		return
	}
	if s.free == nil {
		s.free = map[int][]*Memory{}
	}
	s.free[len(m.bytes)] = append(s.free[len(m.bytes)], m)
	s.kept += len(m.bytes)
}

// release releases what is kept.
func (s *staging) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept > 0 {
		s.releases.Add(1)
	}
	for _, list := range s.free {
		for _, m := range list {
			m.Release()
		}
	}
	s.free, s.kept = nil, 0
}
