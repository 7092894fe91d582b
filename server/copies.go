//go:build linux

package server

import (
	"cmp"
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
	// Before locks and turns: other sessions do not wait for a client that does not read.
	if !t.out.expect(unread, t.context) {
		return nil
	}
	defer t.out.unexpect(unread)
	switch {
	case m.From.Place == wire.PlaceNone || m.To.Place == wire.PlaceNone:
		return reject(wire.CodeInvalid, "the copy has nothing to copy from, or to")
	case m.Texture() != nil:
		return s.copyTexels(t, &m)
	case m.From.Place == wire.PlaceBuffer || m.To.Place == wire.PlaceBuffer:
		return s.copyBuffers(t, &m)
	}
	return reject(wire.CodeInvalid, "neither side of the copy is a buffer or a texture")
}

// waiter waits for the jobs before that use an object.
type waiter interface{ Wait(context.Context) error }

// inTurn waits for a turn to copy n bytes, then for lock and for the jobs before that use the objects,
// calls fn, and answers with what it returns. A request that is answered before fn changes nothing,
// and no deadline answers after it: memory is not written after the reply.
func (s *session) inTurn(t *task, n int, lock func(context.Context) error, unlock func(), fn func() (wire.CopyReply, error), used ...waiter) error {
	if err := lock(t.context()); err != nil { // others' turns do not wait for it
		return err
	}
	unlock()
	if err := s.server.awaitThread(t.context(), severalLooks); err != nil { // nor for this
		return err
	}
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
	if err := s.server.awaitThread(t.context(), 1); err != nil {
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
// do: a request that is claimed before would be answered at no deadline meanwhile. It takes the thread
// for free where neither is known.
func (s *Server) awaitThread(ctx context.Context, most int) error {
	if !s.context.Compiling() && s.executor.Queued() == 0 {
		return nil
	}
	return s.look(ctx, most)
}

// severalLooks is how often the thread is looked at: a compile is several calls, and more than one client
// may have one.
const severalLooks = 4

// look looks at the GPU's thread, behind what came before, until it compiles nothing: so often at most, or
// until ctx ends.
func (s *Server) look(ctx context.Context, most int) error {
	s.looks.Lock()
	before := s.looks.made
	s.looks.Unlock()
	for range most {
		look := s.nextLook()
		select {
		case <-look.done:
			if look.number > before && !look.compiles { // else others may be behind it and before the caller
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// look is a callback of the GPU's thread, which sees whether a program compiles.
type look struct {
	number   uint64
	done     chan struct{}
	compiles bool
}

// nextLook returns the look that has not begun: all who wait share it, as they may go before it begins.
func (s *Server) nextLook() *look {
	s.looks.Lock()
	defer s.looks.Unlock()
	if s.looks.next == nil {
		s.looks.made++
		l := &look{number: s.looks.made, done: make(chan struct{})}
		s.looks.next = l
		s.context.Post(func(*glctx.GL) {
			s.looks.Lock()
			s.looks.next = nil
			s.looks.Unlock()
			l.compiles = s.context.Compiling()
			close(l.done)
		})
	}
	return s.looks.next
}

// side is what a copy or a run reads or writes: a range of memory of the device, or bytes of the client.
type side struct {
	data   []byte
	buffer *openBuffer      // nil: the client's
	memory *executor.Memory // of the buffer, or pinned; nil: data alone
	offset int              // in it
	size   int
}

// holds reports whether a run can use the side for a tensor of n bytes: those of the client are that,
// and a buffer begins with it.
func (c *side) holds(n int) bool { return c.size == n || c.buffer != nil && c.size > n }

// sideOf returns what an operand has; inline is its bytes where it is that.
func (s *session) sideOf(op *wire.Operand, inline []byte) (c side, err error) {
	if op.Place == wire.PlaceBuffer {
		if c.buffer, c.offset, c.size, err = s.objects.bufferRange(op); err == nil {
			c.memory = c.buffer.Memory
		}
		return c, err
	}
	c.data, err = s.bytesOf(op, inline)
	c.memory, c.offset, c.size = s.pinned(op), int(op.Offset), len(c.data)
	return c, err
}

// copyBuffers is a copy of which one side is a buffer, or both. An operand of a buffer without a
// size goes to its end, or as far as the other operand.
func (s *session) copyBuffers(t *task, m *wire.Copy) error {
	from, err := s.sideOf(&m.From, m.From.Data)
	if err != nil {
		return err
	}
	to, err := s.sideOf(&m.To, make([]byte, m.To.Inline()))
	if err != nil {
		return err
	}
	if to.buffer != nil && m.To.Size == 0 {
		to.size = min(to.size, from.size)
	}
	if from.buffer != nil && m.From.Size == 0 {
		from.size = min(from.size, to.size)
	}
	if from.size != to.size {
		return reject(wire.CodeInvalid, "%d bytes cannot be copied to %d", from.size, to.size)
	}
	if to.buffer == nil {
		if m.Check || m.Version != 0 {
			return reject(wire.CodeInvalid, "what is copied to the client has no version to check, or to set")
		}
		return s.inTurn(t, to.size, from.buffer.RLock, from.buffer.RUnlock, func() (reply wire.CopyReply, err error) {
			if m.To.Place == wire.PlaceInline {
				reply.Data = to.data
			}
			reply.Version = from.buffer.Version
			s.server.counts.bytesOut.Add(uint64(to.size))
			return reply, s.move(&to, &from)
		}, from.buffer)
	}
	if from.buffer != nil && from.buffer.Buffer == to.buffer.Buffer {
		return reject(wire.CodeInvalid, "a buffer cannot be copied to itself")
	}
	return s.inTurn(t, to.size, to.buffer.Lock, to.buffer.Unlock, func() (reply wire.CopyReply, err error) {
		if m.Check {
			if err := to.buffer.Expect(m.Expect); err != nil {
				return reply, err
			}
		}
		if from.buffer == nil {
			s.server.counts.bytesIn.Add(uint64(to.size))
		}
		to.buffer.Version++ // also where the driver fails: which bytes it has written is unknown
		if err = s.move(&to, &from); err == nil && m.Version != 0 {
			to.buffer.Version = m.Version
		}
		reply.Version = to.buffer.Version
		return reply, err
	}, to.buffer, cmp.Or(from.buffer, to.buffer))
}

// move copies bytes: those of the client in pieces where no other session can find a part of them.
func (s *session) move(to, from *side) error {
	if to.memory != nil && from.memory != nil {
		return to.memory.CopyFrom(s.ctx, to.offset, from.memory, from.offset, to.size)
	}
	s.server.counts.bytesCopied.Add(uint64(to.size))
	switch {
	case to.memory != nil && to.buffer.own:
		return to.memory.UploadInPieces(s.ctx, to.offset, from.data)
	case to.memory != nil:
		return to.memory.Upload(s.ctx, to.offset, from.data)
	case from.buffer.own:
		return from.memory.DownloadInPieces(s.ctx, from.offset, to.data)
	}
	return from.memory.Download(s.ctx, from.offset, to.data)
}

// pinned returns the pinned memory of an operand, or nil.
func (s *session) pinned(o *wire.Operand) *executor.Memory {
	if m := s.objects.memoryOf(o); m != nil {
		return m.pinned
	}
	return nil
}

// memoryRange returns the range of an operand in shared memory.
func (s *session) memoryRange(op *wire.Operand) ([]byte, error) {
	m, err := found[*sharedMemory](s.objects, op.ID)
	if err != nil {
		return nil, err
	}
	return within(m.bytes, op)
}
