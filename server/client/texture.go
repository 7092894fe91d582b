//go:build linux

package client

import (
	"context"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// texture is texels on the GPU: a job.Texture.
type texture struct {
	object
	shape texel.Shape
	reply wire.TextureReply
}

// oneTexel allows textures of one texel: the server knows the limits of the device.
var oneTexel = texel.Limits{Size: 1, Size3D: 1, SizeCube: 1, Layers: 6}

// NewTexture makes a texture, all zero. It ends with the session, or with Release.
func (c *Client) NewTexture(ctx context.Context, shape texel.Shape) (job.Texture, error) {
	words := texel.Shape{Dim: shape.Dim, Format: shape.Format} // of others the protocol has no number
	if _, err := words.Check(oneTexel); err != nil {
		return nil, &Error{Code: wire.CodeInvalid, Message: err.Error()} // as the server says it
	}
	t := &texture{object: c.newObject(wire.KindTexture), shape: shape.WithDefaults()}
	if err := t.make(ctx, wire.TypeTexture, &wire.Texture{ID: t.id, Shape: t.shape}, &t.reply); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *texture) Shape() texel.Shape          { return t.shape }
func (t *texture) Aliases(f texel.Format) bool { return t.shape.Format.Aliases(f, t.reply.ByClass) }

func (t *texture) Write(ctx context.Context, r texel.Region, texels []byte) error {
	if err := job.CheckTexels(t.shape, r, len(texels)); err != nil {
		return err
	}
	_, err := t.c.upload(ctx, texels, &wire.Copy{To: t.operand(), Region: r}, &t.released)
	return err
}

func (t *texture) Read(ctx context.Context, r texel.Region, dst []byte) error {
	if err := job.CheckTexels(t.shape, r, len(dst)); err != nil {
		return err
	}
	_, err := t.c.download(ctx, dst, &wire.Copy{From: t.operand(), Region: r}, &t.released)
	return err
}

func (t *texture) operand() wire.Operand { return wire.Operand{Place: wire.PlaceTexture, ID: t.id} }
