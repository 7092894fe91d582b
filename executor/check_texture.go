package executor

import (
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
)

// placeTextures gives the texels of a job their places.
func (e *Executor) placeTextures(j *job.Job, l *layout) error {
	for i := range j.TextureInputs {
		in := &j.TextureInputs[i]
		x, err := e.transferOf(l, in.Texture, in.Buffer, in.Place)
		if err != nil {
			return fmt.Errorf("executor: %w: texture input %d: %w", job.ErrInvalid, i, err)
		}
		if x.offset = in.Offset; x.memory == nil {
			x.span = l.addUp(x.size, e.align)
		}
		l.textureInputs = append(l.textureInputs, x)
	}
	for i := range j.TextureOutputs {
		out := &j.TextureOutputs[i]
		x, err := e.transferOf(l, out.Texture, out.Buffer, out.Place)
		if err != nil {
			return fmt.Errorf("executor: %w: texture output %d: %w", job.ErrInvalid, i, err)
		}
		x.out = true
		if x.offset = out.Offset; x.memory == nil {
			x.span = l.addDown(x.size, e.align)
		}
		l.textureOutputs = append(l.textureOutputs, x)
	}
	return nil
}

// transferOf returns the copy of texels to or from a texture, and from or to a buffer, which may
// be nil: then it has no place yet.
func (e *Executor) transferOf(l *layout, of job.Texture, b job.Bindable, place func() (texel.Region, int, error)) (x transfer, err error) {
	x.texture = textureOf(of)
	err = e.checkTexture(x.texture, l)
	if err == nil && b != nil {
		x.memory = memoryOf(b)
		err = e.checkMemory(x.memory, l)
	}
	if err == nil {
		x.region, x.size, err = place()
	}
	return x, err
}

func (e *Executor) checkTexture(t *Texture, l *layout) error {
	switch {
	case t == nil:
		return errors.New("there is no texture")
	case t.e != e:
		return errors.New("the texture belongs to another executor")
	case t.released.Load():
		return errTextureReleased
	}
	l.objects = append(l.objects, &t.object)
	return nil
}
