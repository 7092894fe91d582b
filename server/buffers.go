//go:build linux

package server

import (
	"errors"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/executor/local"
	"github.com/shadercache/shadercache/executor/named"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// openBuffer is a buffer that a session uses.
type openBuffer struct {
	*named.Buffer
	use job.Buffer // of the device
	own bool       // the session's, without a name
}

// newMemory makes memory of the device, all zero.
func (s *Server) newMemory(size int) (*executor.Memory, error) {
	s.watch.begin(onThread)
	defer s.watch.end(onThread, true)
	return s.executor.NewMemory(size)
}

// buffer makes or opens a buffer.
func (s *session) buffer(t *task, m *wire.Buffer) (wire.Message, error) {
	s.settleNamed(t, m.Name)
	b, err := s.openBuffer(m)
	if err != nil {
		return nil, err
	}
	s.objects.add(m.ID, b)
	if err := b.RLock(t.context()); err != nil {
		return nil, errors.Join(err, s.objects.drop(wire.KindBuffer, m.ID))
	}
	defer b.RUnlock()
	return &wire.BufferReply{Size: uint64(b.Size()), Version: b.Version, Created: b.use.Created()}, nil
}

func (s *session) openBuffer(m *wire.Buffer) (*openBuffer, error) {
	create, size := m.Flags&wire.Create != 0, int(m.Size)
	if len(m.Name) > 0 {
		return opened(s.server.device.OpenBuffer(string(m.Name), size, create, m.Flags&wire.Fresh != 0))
	}
	if !create {
		return nil, reject(wire.CodeInvalid, "a buffer without a name can only be created")
	}
	if err := job.CheckSize(int64(size), s.server.limits.MaxStorage); err != nil {
		return nil, err
	}
	if err := s.objects.device.take(m.Size); err != nil {
		return nil, err
	}
	b, err := opened(s.server.device.NewBuffer(s.ctx, size))
	if err != nil {
		s.objects.device.give(m.Size)
		return nil, err
	}
	b.own = true
	return b, nil
}

func opened(use job.Buffer, err error) (*openBuffer, error) {
	if err != nil {
		return nil, err
	}
	b, err := local.BufferOf(use)
	return &openBuffer{Buffer: b, use: use}, err
}

func (*openBuffer) kind() wire.Kind { return wire.KindBuffer }

func (b *openBuffer) close(o *objects) {
	if b.own {
		o.device.give(uint64(b.Size()))
	}
	b.use.Release()
}

// bufferRange returns the buffer of an operand and its range.
func (o *objects) bufferRange(op *wire.Operand) (b *openBuffer, offset, n int, err error) {
	if b, err = found[*openBuffer](o, op.ID); err != nil {
		return nil, 0, 0, err
	}
	size := uint64(b.Size())
	if op.Offset > size || op.Size > size-op.Offset || op.Offset == size {
		return nil, 0, 0, reject(wire.CodeInvalid, "%d bytes at %d of buffer %d of %d", op.Size, op.Offset, op.ID, size)
	}
	n = int(op.Size)
	if n == 0 {
		n = int(size - op.Offset)
	}
	return b, int(op.Offset), n, nil
}

// deleteName handles a delete request.
func (s *session) deleteName(_ *task, m *wire.Delete) (wire.Message, error) {
	switch m.Kind {
	case wire.KindBuffer:
		return &wire.Empty{}, s.server.buffers.Delete(string(m.Name))
	case wire.KindPlan:
		return &wire.Empty{}, s.server.plans.Delete(string(m.Name))
	}
	return nil, errors.New("only buffers and plans have names")
}
