//go:build linux

package server

import (
	"sync"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// buffer is memory on the device, of one session or named.
type buffer struct {
	memory *executor.Memory
	number uint64 // buffers are locked in this order

	mu struct {
		sync.RWMutex // held from the check of the version until the executor has what changes it, and by readers with the bytes
		version      uint64
	}
}

func (b *buffer) size() int64 { return int64(b.memory.Size()) }
func (b *buffer) free()       { b.memory.Release() }

// openBuffer is a buffer that a session uses.
type openBuffer struct {
	*buffer
	named *named[*buffer] // nil: the session's own
}

// newMemory makes memory of the device, all zero.
func (s *Server) newMemory(size int) (*executor.Memory, error) {
	s.watch.begin(false)
	defer s.watch.end(false)
	return s.executor.NewMemory(size)
}

// newBuffer makes a buffer of zeros.
func (s *Server) newBuffer(size uint64) (*buffer, error) {
	memory, err := s.newMemory(int(size))
	if err != nil {
		return nil, err
	}
	return &buffer{memory: memory, number: s.counts.buffers.Add(1)}, nil
}

// buffer makes or opens a buffer.
func (s *session) buffer(body []byte) (wire.Message, error) {
	var m wire.Buffer
	if err := m.Decode(body); err != nil {
		return nil, err
	}
	o := s.objects
	_, taken := o.buffers[m.ID]
	if err := o.admit("buffer", m.ID, taken, len(o.buffers)); err != nil {
		return nil, err
	}
	if err := s.server.checkBuffer(&m); err != nil {
		return nil, err
	}
	b, created, err := s.openBuffer(&m)
	if err != nil {
		return nil, err
	}
	o.buffers[m.ID] = b
	o.total.Add(1)
	b.mu.RLock()
	defer b.mu.RUnlock()
	return &wire.BufferReply{Size: uint64(b.size()), Version: b.mu.version, Created: created}, nil
}

func (s *Server) checkBuffer(m *wire.Buffer) error {
	create := m.Flags&wire.Create != 0
	switch {
	case len(m.Name) == 0 && !create:
		return reject(wire.CodeInvalid, "a buffer without a name can only be created")
	case create || m.Size != 0:
		return job.CheckSize(int64(m.Size), s.context.Info().MaxStorage)
	}
	return nil
}

func (s *session) openBuffer(m *wire.Buffer) (b *openBuffer, created bool, err error) {
	o := s.objects
	if len(m.Name) == 0 {
		if err := o.charge(&o.bufferBytes, m.Size, s.server.options.Limits.Buffers, "buffers"); err != nil {
			return nil, false, err
		}
		made, err := s.server.newBuffer(m.Size)
		if err != nil {
			o.discharge(&o.bufferBytes, m.Size)
			return nil, false, err
		}
		return &openBuffer{buffer: made}, true, nil
	}
	var create func() (*buffer, error)
	if m.Flags&wire.Create != 0 {
		create = func() (*buffer, error) { return s.server.newBuffer(m.Size) }
	}
	n, created, err := s.server.buffers.open(string(m.Name), m.Flags&wire.Fresh != 0, int64(m.Size), create)
	if err != nil {
		return nil, false, err
	}
	if size := uint64(n.object.size()); m.Size != 0 && m.Size != size {
		s.server.buffers.leave(n)
		return nil, false, reject(wire.CodeExists, "the named buffer %q has %d bytes, not %d", m.Name, size, m.Size)
	}
	return &openBuffer{n.object, n}, created, nil
}

func (o *objects) closeBuffer(b *openBuffer) {
	if b.named != nil {
		o.server.buffers.leave(b.named)
		return
	}
	o.discharge(&o.bufferBytes, uint64(b.size()))
	b.free()
}

// bufferRange returns the buffer of an operand and its range.
func (o *objects) bufferRange(op *wire.Operand) (b *openBuffer, offset, n int, err error) {
	b, ok := o.buffers[op.ID]
	if !ok {
		return nil, 0, 0, notFound("buffer", op.ID)
	}
	size := uint64(b.size())
	if op.Offset > size || op.Size > size-op.Offset || op.Offset == size {
		return nil, 0, 0, reject(wire.CodeInvalid, "bytes %d to %d of buffer %d of %d", op.Offset, op.Offset+op.Size, op.ID, size)
	}
	n = int(op.Size)
	if n == 0 {
		n = int(size - op.Offset)
	}
	return b, int(op.Offset), n, nil
}
