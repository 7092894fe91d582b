//go:build linux

package server

import (
	"context"
	"fmt"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// openTexture is a texture of a session.
type openTexture struct {
	job.Texture
	waiter
}

func (openTexture) kind() wire.Kind { return wire.KindTexture }

func (t openTexture) Bytes() int64 { return int64(roomOf(t.Shape())) }

func (t openTexture) close(o *objects) {
	o.device.give(uint64(t.Bytes()))
	t.Release()
}

// texture makes a texture. What of the request reaches the driver is a shape that it has.
func (s *session) texture(_ *task, m *wire.Texture) (wire.Message, error) {
	o := s.objects
	shape, err := m.Shape.Check(s.server.context.Info().Textures)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", job.ErrInvalid, err)
	}
	size := roomOf(shape)
	if limit := s.server.limits.MaxStorage; size > uint64(limit) { // others wait until it is zero
		return nil, reject(wire.CodeInvalid, "a texture that takes %d bytes, this device allows %d", size, limit)
	}
	if err := o.device.take(size); err != nil {
		return nil, err
	}
	s.server.watch.begin(onThread)
	t, err := s.server.device.NewTexture(s.ctx, shape)
	s.server.watch.end(onThread, true)
	if err != nil {
		o.device.give(size)
		return nil, err
	}
	o.add(m.ID, openTexture{t, t.(waiter)})
	return &wire.TextureReply{ByClass: isByClass(t)}, nil
}

// roomOf returns the bytes that count of a texture: llvmpipe has cache lines for rows, and at
// least four rows in a layer.
func roomOf(s texel.Shape) (bytes uint64) {
	for level := range s.Levels {
		w, h, d := s.LevelSize(level)
		bytes += uint64((w*s.Format.Bytes() + 63) &^ 63 * ((h + 3) &^ 3) * d)
	}
	return bytes
}

// isByClass reports whether there are formats of the size of a texture's that its images cannot
// have.
func isByClass(t job.Texture) bool {
	of := t.Shape().Format
	for _, f := range texel.Formats() {
		if of.Aliases(f, false) && !t.Aliases(f) {
			return true
		}
	}
	return false
}

// copyTexels is a copy between the client and a region of a texture, which has no version.
func (s *session) copyTexels(t *task, m *wire.Copy) error {
	of, host, writes := m.Texture(), &m.From, true
	if of == host {
		host, writes = &m.To, false
	}
	texture, err := found[openTexture](s.objects, of.ID)
	if err != nil {
		return err
	}
	if m.Check || m.Version != 0 {
		return reject(wire.CodeInvalid, "a texture has no version")
	}
	inline := host.Data
	if !writes {
		inline = make([]byte, host.Inline())
	}
	data, err := s.bytesOf(host, inline)
	if err != nil {
		return err
	}
	n := len(data) // which the device compares with the region
	return s.inTurn(t, n, func(context.Context) error { return nil }, func() {}, func() (reply wire.CopyReply, err error) {
		s.server.counts.bytesCopied.Add(uint64(n))
		if writes {
			s.server.counts.bytesIn.Add(uint64(n))
			return reply, texture.Write(s.ctx, m.Region, data)
		}
		s.server.counts.bytesOut.Add(uint64(n))
		if host.Place == wire.PlaceInline {
			reply.Data = data
		}
		return reply, texture.Read(s.ctx, m.Region, data)
	}, texture)
}
