//go:build linux

package server

import (
	"errors"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/executor/named"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// openBuffer is a buffer that a session uses.
type openBuffer struct {
	*named.Buffer
	named *named.Object[*named.Buffer] // nil: the session's own
}

// newMemory makes memory of the device, all zero.
func (s *Server) newMemory(size int) (*executor.Memory, error) {
	s.watch.begin(onThread)
	defer s.watch.end(onThread, true)
	return s.executor.NewMemory(size)
}

// newBuffer makes a buffer of zeros.
func (s *Server) newBuffer(size uint64) (*named.Buffer, error) {
	memory, err := s.newMemory(int(size))
	if err != nil {
		return nil, err
	}
	return named.NewBuffer(memory, s.context), nil
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
	b.RLock()
	defer b.RUnlock()
	return &wire.BufferReply{Size: uint64(b.Size()), Version: b.Version, Created: created}, nil
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
		if err := o.device.take(m.Size); err != nil {
			return nil, false, err
		}
		made, err := s.server.newBuffer(m.Size)
		if err != nil {
			o.device.give(m.Size)
			return nil, false, err
		}
		return &openBuffer{Buffer: made}, true, nil
	}
	var create func() (*named.Buffer, error)
	if m.Flags&wire.Create != 0 {
		create = func() (*named.Buffer, error) { return s.server.newBuffer(m.Size) }
	}
	n, created, err := named.OpenBuffer(s.server.buffers, string(m.Name), m.Flags&wire.Fresh != 0, int(m.Size), create)
	if err != nil {
		return nil, false, err
	}
	return &openBuffer{n.Value, n}, created, nil
}

func (o *objects) closeBuffer(b *openBuffer) {
	if b.named != nil {
		o.server.buffers.Leave(b.named)
		return
	}
	o.device.give(uint64(b.Size()))
	b.Free()
}

// bufferRange returns the buffer of an operand and its range.
func (o *objects) bufferRange(op *wire.Operand) (b *openBuffer, offset, n int, err error) {
	b, ok := o.buffers[op.ID]
	if !ok {
		return nil, 0, 0, notFound("buffer", op.ID)
	}
	size := uint64(b.Size())
	if op.Offset > size || op.Size > size-op.Offset || op.Offset == size {
		return nil, 0, 0, reject(wire.CodeInvalid, "bytes %d to %d of buffer %d of %d", op.Offset, op.Offset+op.Size, op.ID, size)
	}
	n = int(op.Size)
	if n == 0 {
		n = int(size - op.Offset)
	}
	return b, int(op.Offset), n, nil
}

// deleteName handles a delete request.
func (s *session) deleteName(b []byte) (wire.Message, error) {
	var m wire.Delete
	if err := m.Decode(b); err != nil {
		return nil, err
	}
	switch m.Kind {
	case wire.KindBuffer:
		return &wire.Empty{}, s.server.buffers.Delete(string(m.Name))
	case wire.KindPlan:
		return &wire.Empty{}, s.server.plans.Delete(string(m.Name))
	}
	return nil, errors.New("only buffers and plans have names")
}
