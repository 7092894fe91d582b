package executor

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
)

// Texture is texels in device memory that persist between jobs. The caller that made it
// releases it; jobs in flight retain it until the GPU has finished them. It must not be
// copied. Methods may be called from any goroutine.
//
// Write and Read are not for hot paths: they wait for the jobs submitted
// before that use the texture, and Read blocks the GL thread. Texels that change from
// job to job belong in the job's TextureInputs and TextureOutputs. Jobs that follow each
// other closely overlap best with a texture each: a ring of Options.Depth textures.
type Texture struct {
	object
	texture glctx.Texture
}

// NewTexture makes a texture, all zero. It returns texel.ErrShape, wrapped, for a shape that
// the device does not have, and shader.ErrOutOfMemory where there is no room.
func (e *Executor) NewTexture(shape texel.Shape) (*Texture, error) {
	t := &Texture{object: object{e: e}}
	err := e.context.Do(func(gl *glctx.GL) (err error) {
		defer e.ran()
		if t.texture, err = gl.NewTexture(shape); err != nil {
			return err
		}
		value := make([]byte, t.texture.Format.Bytes())
		if e.options.test.poison {
			err = t.clear(gl, bytes.Repeat([]byte{0xAB}, len(value)))
		}
		// A driver may return what was deleted before, also of another session of a server.
		if err = errors.Join(err, t.clear(gl, value), gl.Err()); err != nil {
			gl.DeleteTexture(t.texture)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("executor: %w", err)
	}
	t.free = func(gl *glctx.GL) { gl.DeleteTexture(t.texture) }
	t.owners.Store(1)
	return t, nil
}

// clear sets all texels of every level to value.
func (t *Texture) clear(gl *glctx.GL, value []byte) (err error) {
	for level := range t.texture.Levels {
		err = errors.Join(err, gl.ClearTexture(t.texture, texel.Region{Level: level}, value))
	}
	return err
}

// Shape returns what the texture was made as, without zeros.
func (t *Texture) Shape() texel.Shape { return t.texture.Shape }

// Aliases reports whether an image of a format may be bound to the texture: see texel.Format.
func (t *Texture) Aliases(f texel.Format) bool { return t.texture.Aliases(f) }

// Write copies texels without padding to a region, after the jobs submitted so far that
// use the texture.
func (t *Texture) Write(ctx context.Context, r texel.Region, texels []byte) error {
	return t.access(ctx, func(gl *glctx.GL) error { return gl.UploadTexture(t.texture, r, texels) })
}

// Read copies a region to dst without padding, after the jobs submitted so far that
// use the texture.
func (t *Texture) Read(ctx context.Context, r texel.Region, dst []byte) error {
	return t.access(ctx, func(gl *glctx.GL) error { return gl.DownloadTexture(t.texture, r, dst) })
}

// access runs fn on the GL thread after the jobs that use the texture.
func (t *Texture) access(ctx context.Context, fn func(gl *glctx.GL) error) error {
	if t.released.Load() {
		return errTextureReleased
	}
	if err := t.do(ctx, fn); err != nil {
		return fmt.Errorf("executor: %w", err)
	}
	return nil
}

var errTextureReleased = fmt.Errorf("executor: the texture was %w", job.ErrReleased)
