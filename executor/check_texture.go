package executor

import (
	"errors"
	"fmt"
	"image"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
)

// placeTextures gives the texels of a job their places.
func (e *Executor) placeTextures(j *job.Job, l *layout) error {
	for i := range j.TextureInputs {
		in := &j.TextureInputs[i]
		x, err := e.textureTransfer(in.Texture, in.Region, in.Picture, in.Picture != nil, len(in.Texels), in.Texels != nil, in.Fill != nil)
		if err != nil {
			return fmt.Errorf("executor: texture input %d: %w", i, err)
		}
		x.span = l.addUp(x.size, e.align)
		l.textureInputs = append(l.textureInputs, x)
	}
	for i := range j.TextureOutputs {
		out := &j.TextureOutputs[i]
		x, err := e.textureTransfer(out.Texture, out.Region, out.Picture, out.Picture != nil, len(out.To), out.To != nil, out.Read != nil)
		if err != nil {
			return fmt.Errorf("executor: texture output %d: %w", i, err)
		}
		x.out = true
		x.span = l.addDown(x.size, e.align)
		l.textureOutputs = append(l.textureOutputs, x)
	}
	return nil
}

// textureTransfer checks the texels that are copied to or from a region. n is the length
// of a slice; the flags tell which of a picture, a slice and a function were given.
func (e *Executor) textureTransfer(of job.Texture, r texel.Region, picture image.Image, isPicture bool, n int, isSlice, isFunction bool) (transfer, error) {
	t := textureOf(of)
	if err := e.checkTexture(t); err != nil {
		return transfer{}, err
	}
	given := 0
	for _, is := range [...]bool{isPicture, isSlice, isFunction} {
		if is {
			given++
		}
	}
	if given != 1 {
		return transfer{}, fmt.Errorf("has %d of a slice, a picture and a function, and needs one", given)
	}
	if isPicture {
		size := picture.Bounds().Size()
		if r.Width != 0 && r.Width != size.X || r.Height != 0 && r.Height != size.Y || r.Depth > 1 {
			return transfer{}, fmt.Errorf("a picture of %d by %d pixels for a region of %d by %d by %d", size.X, size.Y, r.Width, r.Height, r.Depth)
		}
		if size.X < 1 || size.Y < 1 {
			return transfer{}, fmt.Errorf("a picture of %d by %d pixels", size.X, size.Y)
		}
		if !t.texture.Format.CanHoldPicture() {
			return transfer{}, fmt.Errorf("%s does not hold pictures: use R8, R16, R32F, RGBA8, SRGB8A8, RGBA16 or RGBA32F", t.texture.Format)
		}
		r.Width, r.Height, r.Depth = size.X, size.Y, 1
	}
	size, err := t.texture.RegionBytes(r)
	if err != nil {
		return transfer{}, err
	}
	if isSlice && n != size {
		return transfer{}, fmt.Errorf("%d bytes, the texels of the region have %d", n, size)
	}
	return transfer{span: span{size: size}, texture: t, region: r}, nil
}

func (e *Executor) checkTexture(t *Texture) error {
	switch {
	case t == nil:
		return errors.New("there is no texture")
	case t.e != e:
		return errors.New("the texture belongs to another executor")
	case t.released.Load():
		return errTextureReleased
	}
	return nil
}
