//go:build linux

package client

import (
	"context"
	"sync/atomic"

	"github.com/shadercache/shadercache/server/wire"
)

// Buffer is memory on the GPU.
type Buffer struct {
	c        *Client
	id       uint32
	reply    wire.BufferReply
	released atomic.Bool
}

// NewBuffer makes a buffer of size bytes, a multiple of 4, all zero. It ends with the
// session, or with Release.
func (c *Client) NewBuffer(ctx context.Context, size int) (*Buffer, error) {
	return c.buffer(ctx, &wire.Buffer{Flags: wire.Create, Size: uint64(max(0, size))})
}

// NamedBuffer opens the named buffer, and makes it, all zero, where there is none. It
// outlives the client. ErrExists is returned where it has another size.
func (c *Client) NamedBuffer(ctx context.Context, name string, size int) (*Buffer, error) {
	return c.buffer(ctx, &wire.Buffer{Flags: wire.Create, Size: uint64(max(0, size)), Name: []byte(name)})
}

// OpenBuffer opens a named buffer that exists, of any size. It returns ErrNotFound,
// wrapped, where there is none.
func (c *Client) OpenBuffer(ctx context.Context, name string) (*Buffer, error) {
	return c.buffer(ctx, &wire.Buffer{Name: []byte(name)})
}

func (c *Client) buffer(ctx context.Context, m *wire.Buffer) (*Buffer, error) {
	b := &Buffer{c: c, id: c.newID(wire.KindBuffer)}
	m.ID = b.id
	if err := c.do(ctx, wire.TypeBuffer, m, &b.reply); err != nil {
		if ctx.Err() != nil {
			c.drop(wire.KindBuffer, b.id) // it may have been made meanwhile
		}
		return nil, err
	}
	return b, nil
}

// DeleteBuffer removes the name of a buffer. Sessions that use the buffer keep it.
func (c *Client) DeleteBuffer(ctx context.Context, name string) error {
	return c.do(ctx, wire.TypeDelete, &wire.Delete{Kind: wire.KindBuffer, Name: []byte(name)}, &wire.Empty{})
}

// Size returns the number of bytes.
func (b *Buffer) Size() int { return int(b.reply.Size) }

// Version returns the version that the buffer had when it was opened: 0 where it was never
// written.
func (b *Buffer) Version() uint64 { return b.reply.Version }

// Created reports whether the call that returned the buffer made it.
func (b *Buffer) Created() bool { return b.reply.Created }

// Release ends the use of the buffer. It may be called again.
func (b *Buffer) Release() {
	if !b.released.Swap(true) {
		b.c.drop(wire.KindBuffer, b.id)
	}
}

// Upload copies data to offset, after the jobs submitted before, and returns the buffer's
// version afterwards.
func (b *Buffer) Upload(ctx context.Context, offset int, data []byte) (version uint64, err error) {
	return b.upload(ctx, offset, data, wire.Copy{})
}

// Replace is Upload that sets the version to next, if the buffer still has the version
// expected. Otherwise it returns ErrConflict, wrapped, and copies nothing.
func (b *Buffer) Replace(ctx context.Context, offset int, data []byte, expected, next uint64) (version uint64, err error) {
	return b.upload(ctx, offset, data, wire.Copy{Check: true, Expect: expected, Version: next})
}

func (b *Buffer) upload(ctx context.Context, offset int, data []byte, m wire.Copy) (uint64, error) {
	from := wire.Operand{Place: wire.PlaceInline, Data: data}
	if len(data) > inlineBytes {
		staged, err := b.c.stage(ctx, len(data))
		if err != nil {
			return 0, err
		}
		defer b.c.unstage(staged)
		copy(staged.bytes, data)
		from = wire.Operand{Place: wire.PlaceMemory, ID: staged.id, Size: uint64(len(data))}
	}
	m.From, m.To = from, b.operand(offset, len(data))
	return b.copy(ctx, &m, &wire.CopyReply{})
}

// UploadFrom copies n bytes of shared memory at from to offset.
func (b *Buffer) UploadFrom(ctx context.Context, offset int, memory *Memory, from, n int) (version uint64, err error) {
	m := wire.Copy{From: wire.Operand{Place: wire.PlaceMemory, ID: memory.id, Offset: uint64(from), Size: uint64(n)}, To: b.operand(offset, n)}
	return b.copy(ctx, &m, &wire.CopyReply{})
}

// Download copies from offset to dst, after the jobs submitted before, and returns the
// version of what it copied.
func (b *Buffer) Download(ctx context.Context, offset int, dst []byte) (version uint64, err error) {
	if len(dst) <= inlineBytes {
		reply := &wire.CopyReply{}
		m := wire.Copy{From: b.operand(offset, len(dst)), To: wire.Operand{Place: wire.PlaceInline, Size: uint64(len(dst))}}
		version, err = b.copy(ctx, &m, reply)
		copy(dst, reply.Data)
		return version, err
	}
	staged, err := b.c.stage(ctx, len(dst))
	if err != nil {
		return 0, err
	}
	if version, err = b.DownloadTo(ctx, offset, staged, 0, len(dst)); err != nil {
		staged.Release() // the server may still write it
		return 0, err
	}
	copy(dst, staged.bytes)
	b.c.unstage(staged)
	return version, nil
}

// DownloadTo copies n bytes from offset to shared memory at to.
func (b *Buffer) DownloadTo(ctx context.Context, offset int, memory *Memory, to, n int) (version uint64, err error) {
	m := wire.Copy{From: b.operand(offset, n), To: wire.Operand{Place: wire.PlaceMemory, ID: memory.id, Offset: uint64(to), Size: uint64(n)}}
	return b.copy(ctx, &m, &wire.CopyReply{})
}

// CopyFrom copies n bytes on the GPU from other at from to offset.
func (b *Buffer) CopyFrom(ctx context.Context, offset int, other *Buffer, from, n int) (version uint64, err error) {
	return b.copy(ctx, &wire.Copy{From: other.operand(from, n), To: b.operand(offset, n)}, &wire.CopyReply{})
}

func (b *Buffer) operand(offset, n int) wire.Operand {
	return wire.Operand{Place: wire.PlaceBuffer, ID: b.id, Offset: uint64(offset), Size: uint64(n)}
}

func (b *Buffer) copy(ctx context.Context, m *wire.Copy, reply *wire.CopyReply) (uint64, error) {
	if b.released.Load() {
		return 0, ErrReleased
	}
	m.Deadline = deadlineOf(ctx)
	if err := b.c.take(ctx); err != nil {
		return 0, err
	}
	defer b.c.put()
	if err := b.c.do(ctx, wire.TypeCopy, m, reply); err != nil {
		return 0, err
	}
	return reply.Version, nil
}

// take waits until the server accepts one more unanswered job.
func (c *Client) take(ctx context.Context) error {
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return contextError(ctx)
	case <-c.done:
		return c.Err()
	}
}

func (c *Client) put() { <-c.slots }
