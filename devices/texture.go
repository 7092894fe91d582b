package devices

import (
	"context"
	"sync/atomic"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
)

// placedTexture is a texture on one member.
type placedTexture struct {
	job.Texture
	m        *member
	released atomic.Bool
}

// NewTexture makes a texture on the member that NewBuffer would choose. Jobs that use it run
// there.
func (g *Group) NewTexture(ctx context.Context, shape texel.Shape) (made job.Texture, err error) {
	err = g.place(func(m *member) error {
		made, err = g.newTextureOn(ctx, m, shape)
		return err
	})
	return made, err
}

// NewTextureOn makes a texture on a member, once that is open. Jobs that use it run there.
func (g *Group) NewTextureOn(ctx context.Context, rank int, shape texel.Shape) (job.Texture, error) {
	if _, err := g.members[rank].await(ctx); err != nil {
		return nil, err
	}
	return g.newTextureOn(ctx, g.members[rank], shape)
}

func (g *Group) newTextureOn(ctx context.Context, m *member, shape texel.Shape) (job.Texture, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	t, err := m.device.NewTexture(ctx, shape)
	if err != nil {
		return nil, m.error(err)
	}
	m.bytes.Add(int64(t.Shape().Bytes()))
	return &placedTexture{Texture: t, m: m}, nil
}

func (t *placedTexture) Write(ctx context.Context, r texel.Region, texels []byte) error {
	return t.m.error(t.Texture.Write(ctx, r, texels))
}

func (t *placedTexture) Read(ctx context.Context, r texel.Region, dst []byte) error {
	return t.m.error(t.Texture.Read(ctx, r, dst))
}

func (t *placedTexture) Release() {
	if !t.released.Swap(true) {
		t.m.bytes.Add(-int64(t.Shape().Bytes()))
		t.Texture.Release()
	}
}
