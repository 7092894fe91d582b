//go:build linux

package server

import (
	"context"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// copy copies bytes between the client and buffers, after the session's jobs before. It
// returns when that is done.
func (s *session) copy(t *task) error {
	var m wire.Copy
	if err := wire.Decode(t.body, &m); err != nil {
		return err
	}
	unread := m.To.Inline()
	if err := t.checkReply(8 + 4 + unread); err != nil {
		return err
	}
	// Before locks and turns: other sessions do not wait for a client that does not read, nor for
	// what cannot begin.
	if !t.out.expect(unread, t.context) {
		return nil
	}
	defer t.out.unexpect(unread)
	if err := s.server.awaitThread(t.context(), false); err != nil {
		return err
	}
	switch {
	case m.From.Place == wire.PlaceNone || m.To.Place == wire.PlaceNone:
		return reject(wire.CodeInvalid, "the copy has nothing to copy from, or to")
	case m.Texture() != nil:
		return s.copyTexels(t, &m)
	case m.To.Place == wire.PlaceBuffer:
		return s.copyToBuffer(t, &m)
	case m.From.Place == wire.PlaceBuffer:
		return s.copyFromBuffer(t, &m)
	}
	return reject(wire.CodeInvalid, "neither side of the copy is a buffer or a texture")
}

// inTurn waits for a turn to copy n bytes, then for lock and for the jobs before that use the objects,
// calls fn, and answers with what it returns. A request that is answered before fn changes nothing,
// and no deadline answers after it: memory is not written after the reply.
func (s *session) inTurn(t *task, n int, lock func(context.Context) error, unlock func(), fn func() (wire.CopyReply, error), used ...interface{ Wait(context.Context) error }) error {
	if err := lock(t.context()); err != nil { // others' turns do not wait for it
		return err
	}
	unlock()
	weight, err := s.server.turns.acquire(t.context(), n, n)
	if err != nil {
		return err
	}
	defer s.server.turns.release(weight)
	if err := lock(t.context()); err != nil {
		return err
	}
	defer unlock()
	done := false
	s.server.watch.begin(onThread)
	defer func() { s.server.watch.end(onThread, done) }()
	for _, each := range used {
		if err := each.Wait(t.context()); err != nil {
			return err
		}
	}
	if err := s.server.awaitThread(t.context(), false); err != nil {
		return err
	}
	if !t.claim() {
		return nil
	}
	reply, err := fn()
	if done = err == nil; !done {
		t.fail(err, wire.CodeInternal)
	} else {
		t.reply(&reply)
	}
	t.out.flush()
	return nil
}

// awaitThread waits until ctx ends while the GPU's thread compiles, or runs a kernel as some drivers
// do: a request that is claimed before would be answered at no deadline meanwhile. Unless always is
// set it takes the thread for free where neither is known.
func (s *Server) awaitThread(ctx context.Context, always bool) error {
	if !always && !s.context.Compiling() && s.executor.Queued() == 0 {
		return nil
	}
	for range 3 { // a compile is several calls, and more than one client may have one
		compiles := make(chan bool, 1)
		s.context.Post(func(*glctx.GL) { compiles <- s.context.Compiling() })
		select {
		case again := <-compiles:
			if !again {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// copySource is what a copy to a buffer reads: bytes of the client, or a range of a buffer.
type copySource struct {
	data   []byte
	buffer *openBuffer // nil: data
	offset int         // in the buffer
	size   int
}

// source returns what an operand of a copy has.
func (s *session) source(op *wire.Operand) (from copySource, err error) {
	if op.Place == wire.PlaceBuffer {
		from.buffer, from.offset, from.size, err = s.objects.bufferRange(op)
		return from, err
	}
	from.data, err = s.bytesOf(op, op.Data)
	from.size = len(from.data)
	return from, err
}

// copyToBuffer is a copy that writes a buffer. An operand of a buffer without a size goes to
// its end, or as far as the other operand.
func (s *session) copyToBuffer(t *task, m *wire.Copy) error {
	to, offset, n, err := s.objects.bufferRange(&m.To)
	if err != nil {
		return err
	}
	from, err := s.source(&m.From)
	if err != nil {
		return err
	}
	if m.To.Size == 0 {
		n = min(n, from.size)
	}
	if toItsEnd := from.buffer != nil && m.From.Size == 0; from.size < n || from.size > n && !toItsEnd {
		return sizesDiffer(from.size, n)
	}
	used := to.Buffer
	if from.buffer != nil {
		if used = from.buffer.Buffer; used == to.Buffer {
			return reject(wire.CodeInvalid, "a buffer cannot be copied to itself")
		}
	}
	return s.inTurn(t, n, to.Lock, to.Unlock, func() (reply wire.CopyReply, err error) {
		if m.Check {
			if err := to.Expect(m.Expect); err != nil {
				return reply, err
			}
		}
		to.Version++ // also where the driver fails: which bytes it has written is unknown
		if from.buffer != nil {
			err = to.Memory.CopyFrom(s.ctx, offset, from.buffer.Memory, from.offset, n)
		} else {
			err = s.upload(to, offset, from.data, &m.From)
			s.server.counts.bytesIn.Add(uint64(n))
		}
		if err == nil && m.Version != 0 {
			to.Version = m.Version
		}
		reply.Version = to.Version
		return reply, err
	}, to.Buffer, used)
}

// copyFromBuffer is a copy from a buffer to the client.
func (s *session) copyFromBuffer(t *task, m *wire.Copy) error {
	from, offset, n, err := s.objects.bufferRange(&m.From)
	if err != nil {
		return err
	}
	if m.From.Size == 0 {
		n = min(n, int(min(m.To.Size, 1<<62)))
	}
	if uint64(n) != m.To.Size {
		return sizesDiffer(n, int(m.To.Size))
	}
	dst, err := s.bytesOf(&m.To, make([]byte, m.To.Inline()))
	if err != nil {
		return err
	}
	return s.inTurn(t, n, from.RLock, from.RUnlock, func() (reply wire.CopyReply, err error) {
		if m.To.Place == wire.PlaceInline {
			reply.Data = dst
		}
		reply.Version = from.Version
		s.server.counts.bytesOut.Add(uint64(n))
		return reply, s.download(from, offset, dst, &m.To)
	}, from.Buffer)
}

// upload copies the bytes of an operand of the client to a buffer: in pieces where no other
// session can find a part of them.
func (s *session) upload(to *openBuffer, offset int, data []byte, from *wire.Operand) error {
	if pinned := s.pinned(from); pinned != nil {
		return to.Memory.CopyFrom(s.ctx, offset, pinned, int(from.Offset), len(data))
	}
	s.server.counts.bytesCopied.Add(uint64(len(data)))
	if !to.own {
		return to.Memory.Upload(s.ctx, offset, data)
	}
	return to.Memory.UploadInPieces(s.ctx, offset, data)
}

// download copies a buffer to an operand of the client: likewise.
func (s *session) download(from *openBuffer, offset int, dst []byte, to *wire.Operand) error {
	if pinned := s.pinned(to); pinned != nil {
		return pinned.CopyFrom(s.ctx, int(to.Offset), from.Memory, offset, len(dst))
	}
	s.server.counts.bytesCopied.Add(uint64(len(dst)))
	if !from.own {
		return from.Memory.Download(s.ctx, offset, dst)
	}
	return from.Memory.DownloadInPieces(s.ctx, offset, dst)
}

// pinned returns the pinned memory of an operand, or nil.
func (s *session) pinned(o *wire.Operand) *executor.Memory {
	if m := s.objects.memories[o.ID]; o.Place == wire.PlaceMemory && m != nil {
		return m.pinned
	}
	return nil
}

func sizesDiffer(from, to int) error {
	return reject(wire.CodeInvalid, "%d bytes cannot be copied to %d", from, to)
}

// memoryRange returns the range of an operand in shared memory.
func (s *session) memoryRange(op *wire.Operand) ([]byte, error) {
	m, err := found(s.objects.memories, wire.KindMemory, op.ID)
	if err != nil {
		return nil, err
	}
	return within(m.bytes, op)
}
