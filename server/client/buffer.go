//go:build linux

package client

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// Buffer is memory on the GPU.
type Buffer struct {
	object
	reply wire.BufferReply
}

// NewBuffer makes a buffer of size bytes, a multiple of 4, all zero. It ends with the
// session, or with Release.
func (c *Client) NewBuffer(ctx context.Context, size int) (job.Buffer, error) {
	return made(c.buffer(ctx, &wire.Buffer{Flags: wire.Create, Size: uint64(size)}))
}

// NamedBuffer opens the named buffer, and makes it, all zero, where there is none. It
// outlives the client. job.ErrExists is returned where it has another size.
func (c *Client) NamedBuffer(ctx context.Context, name string, size int) (job.Buffer, error) {
	if name == "" {
		return nil, fmt.Errorf("%w: a named buffer without a name", job.ErrInvalid)
	}
	return made(c.buffer(ctx, &wire.Buffer{Flags: wire.Create, Size: uint64(size), Name: []byte(name)}))
}

// made returns no buffer in place of a nil one.
func made(b *Buffer, err error) (job.Buffer, error) {
	if err != nil {
		return nil, err
	}
	return b, nil
}

// OpenBuffer opens a named buffer that exists, of any size. It returns job.ErrNotFound,
// wrapped, where there is none.
func (c *Client) OpenBuffer(ctx context.Context, name string) (*Buffer, error) {
	return c.buffer(ctx, &wire.Buffer{Name: []byte(name)})
}

func (c *Client) buffer(ctx context.Context, m *wire.Buffer) (*Buffer, error) {
	if err := checkName(string(m.Name)); err != nil {
		return nil, err
	}
	b := &Buffer{object: c.newObject(wire.KindBuffer)}
	m.ID = b.id
	if err := b.make(ctx, wire.TypeBuffer, m, &b.reply); err != nil {
		return nil, err
	}
	if n := b.reply.Size; m.Size != 0 && n != m.Size {
		return nil, fmt.Errorf("%w: a buffer of %d bytes, not %d", ErrMalformed, n, m.Size)
	}
	return b, nil
}

// DeleteBuffer removes the name of a buffer. Sessions that use the buffer keep it.
func (c *Client) DeleteBuffer(ctx context.Context, name string) error {
	return c.deleteName(ctx, &wire.Delete{Kind: wire.KindBuffer, Name: []byte(name)})
}

func (c *Client) deleteName(ctx context.Context, m *wire.Delete) error {
	if err := checkName(string(m.Name)); err != nil {
		return err
	}
	return c.do(ctx, wire.TypeDelete, m, &wire.Empty{})
}

// Size returns the number of bytes.
func (b *Buffer) Size() int { return int(b.reply.Size) }

// Version returns the version that the buffer had when it was opened: 0 where it was never
// written.
func (b *Buffer) Version() uint64 { return b.reply.Version }

// Created reports whether the call that returned the buffer made it.
func (b *Buffer) Created() bool { return b.reply.Created }

// Write copies data to offset, after the jobs submitted before, and returns the buffer's
// version afterwards.
func (b *Buffer) Write(ctx context.Context, offset int, data []byte) (version uint64, err error) {
	return b.upload(ctx, offset, data, wire.Copy{})
}

// Replace is Write that sets the version to next, if the buffer still has the version
// expected. Otherwise it returns job.ErrConflict, wrapped, and copies nothing.
func (b *Buffer) Replace(ctx context.Context, offset int, data []byte, expected, next uint64) (version uint64, err error) {
	return b.upload(ctx, offset, data, wire.Copy{Check: true, Expect: expected, Version: next})
}

func (b *Buffer) upload(ctx context.Context, offset int, data []byte, m wire.Copy) (uint64, error) {
	if err := job.CheckRange(b.Size(), offset, len(data)); err != nil {
		return 0, err // the protocol has 0 bytes for the rest of the buffer
	}
	m.To = b.operand(offset, len(data))
	return b.c.upload(ctx, data, &m, &b.released)
}

// Read copies from offset to dst, after the jobs submitted before, and returns the
// version of what it copied.
func (b *Buffer) Read(ctx context.Context, offset int, dst []byte) (version uint64, err error) {
	if err := job.CheckRange(b.Size(), offset, len(dst)); err != nil {
		return 0, err
	}
	return b.c.download(ctx, dst, &wire.Copy{From: b.operand(offset, len(dst))}, &b.released)
}

// upload sends a copy of data, to an object that may be released.
func (c *Client) upload(ctx context.Context, data []byte, m *wire.Copy, released *atomic.Bool) (version uint64, err error) {
	staging := &Pending{c: c}
	m.From, err = staging.input(ctx, data)
	return c.copy(ctx, m, staging, released, err)
}

// download sends a copy to dst, from an object that may be released.
func (c *Client) download(ctx context.Context, dst []byte, m *wire.Copy, released *atomic.Bool) (version uint64, err error) {
	staging := &Pending{c: c}
	m.To, err = staging.output(ctx, dst, nil)
	return c.copy(ctx, m, staging, released, err)
}

// CopyFrom copies n bytes on the GPU from other, of the same client, at from to offset.
func (b *Buffer) CopyFrom(ctx context.Context, offset int, other *Buffer, from, n int) (version uint64, err error) {
	if other.c != b.c {
		return 0, fmt.Errorf("%w: a copy from a buffer of another client", job.ErrInvalid)
	}
	if err := errors.Join(job.CheckRange(b.Size(), offset, n), job.CheckRange(other.Size(), from, n)); err != nil {
		return 0, err
	}
	if other.released.Load() {
		return 0, b.c.orEnded(job.ErrReleased)
	}
	return b.c.copy(ctx, &wire.Copy{From: other.operand(from, n), To: b.operand(offset, n)}, &Pending{}, &b.released, nil)
}

func (b *Buffer) operand(offset, n int) wire.Operand {
	return wire.Operand{Place: wire.PlaceBuffer, ID: b.id, Offset: uint64(offset), Size: uint64(n)}
}

// copy sends a copy, unless staging failed with err, and delivers its output.
func (c *Client) copy(ctx context.Context, m *wire.Copy, staging *Pending, released *atomic.Bool, err error) (uint64, error) {
	if released.Load() {
		err = c.orEnded(job.ErrReleased)
	}
	m.Deadline = deadlineOf(ctx)
	var reply wire.CopyReply
	if err == nil {
		err = c.do(ctx, wire.TypeCopy, m, &reply)
	}
	if err == nil {
		err = staging.take(reply.Data)
	}
	if err == nil {
		staging.deliverStaged()
	}
	staging.unstage(err == nil) // else the server may still use it
	return reply.Version, err
}
