package wire

import (
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/shader"
)

// Texture makes a texture on the device, all zero. Its reply is a [TextureReply].
type Texture struct {
	ID    uint32
	Shape texel.Shape // without zeros
}

// Append appends the body to b.
func (m *Texture) Append(b []byte) []byte {
	b = append(appendU32(b, m.ID), byte(m.Shape.Dim), byte(m.Shape.Format))
	for _, n := range [...]int{m.Shape.Width, m.Shape.Height, m.Shape.Depth, m.Shape.Levels} {
		b = appendU64(b, uint64(n))
	}
	return b
}

// Decode fills m in from a body.
func (m *Texture) Decode(body []byte) error {
	f := fields{rest: body}
	m.ID, m.Shape.Dim, m.Shape.Format = f.u32(), shader.Dim(f.u8()), texel.Format(f.u8())
	for _, n := range [...]*int{&m.Shape.Width, &m.Shape.Height, &m.Shape.Depth, &m.Shape.Levels} {
		*n = int(f.u64())
	}
	return f.end()
}

// TextureReply describes a texture.
type TextureReply struct {
	ByClass bool // images may have formats of its class, not of its size: see texel.Format
}

// Append appends the body to b.
func (m *TextureReply) Append(b []byte) []byte { return appendBool(b, m.ByClass) }

// Decode fills m in from a body.
func (m *TextureReply) Decode(body []byte) error {
	f := fields{rest: body}
	m.ByClass = f.flag()
	return f.end()
}
