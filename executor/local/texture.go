package local

import (
	"context"
	"sync/atomic"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
)

// ownTexture is a texture of the device.
type ownTexture struct {
	*executor.Texture
	device   *Device
	released atomic.Bool
}

func (d *Device) NewTexture(_ context.Context, shape texel.Shape) (job.Texture, error) {
	if err := d.err(); err != nil {
		return nil, err
	}
	t, err := d.Executor.NewTexture(shape)
	if err != nil {
		return nil, d.Error(err)
	}
	return &ownTexture{Texture: t, device: d}, nil
}

// err returns job.ErrReleased after Release.
func (t *ownTexture) err() error {
	if t.released.Load() {
		return job.ErrReleased
	}
	return nil
}

// check returns an error where n bytes are not the texels of a region.
func (t *ownTexture) check(r texel.Region, n int) error {
	if err := t.device.err(); err != nil {
		return err
	}
	if err := t.err(); err != nil {
		return err
	}
	return job.CheckTexels(t.Shape(), r, n)
}

func (t *ownTexture) Write(ctx context.Context, r texel.Region, texels []byte) error {
	if err := t.check(r, len(texels)); err != nil {
		return err
	}
	return t.device.Error(t.Texture.Write(ctx, r, texels))
}

func (t *ownTexture) Read(ctx context.Context, r texel.Region, dst []byte) error {
	if err := t.check(r, len(dst)); err != nil {
		return err
	}
	return t.device.Error(t.Texture.Read(ctx, r, dst))
}

func (t *ownTexture) Release() {
	t.released.Store(true)
	t.Texture.Release()
}
