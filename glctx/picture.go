package glctx

import (
	"fmt"
	"image"
	"image/draw"

	"github.com/shadercache/shadercache/job/texel"
)

// UploadPicture copies a picture to level 0 of a texture from x, y and layer z on: see
// UploadTexture and texel.EncodePicture.
func (gl *GL) UploadPicture(t Texture, x, y, z int, picture image.Image) error {
	r, err := t.pictureRegion(x, y, z, picture)
	if err != nil {
		return err
	}
	texels := make([]byte, r.Width*r.Height*t.Format.Bytes())
	if err := texel.EncodePicture(texels, t.Format, picture); err != nil {
		return err
	}
	return gl.UploadTexture(t, r, texels, Stride{})
}

// DownloadPicture copies texels of level 0 from x, y and layer z on to all of a picture:
// see DownloadTexture and texel.DecodePicture.
func (gl *GL) DownloadPicture(t Texture, x, y, z int, picture draw.Image) error {
	r, err := t.pictureRegion(x, y, z, picture)
	if err != nil {
		return err
	}
	texels := make([]byte, r.Width*r.Height*t.Format.Bytes())
	if err := gl.DownloadTexture(t, r, texels, Stride{}); err != nil {
		return err
	}
	return texel.DecodePicture(picture, t.Format, texels)
}

// pictureRegion returns the region of a picture in a texture.
func (t Texture) pictureRegion(x, y, z int, picture image.Image) (texel.Region, error) {
	size := picture.Bounds().Size()
	if size.X < 1 || size.Y < 1 {
		return texel.Region{}, fmt.Errorf("glctx: %w: a picture of %d by %d pixels", texel.ErrRegion, size.X, size.Y)
	}
	r, err := t.Within(texel.Region{X: x, Y: y, Z: z, Width: size.X, Height: size.Y, Depth: 1})
	if err != nil {
		return r, fmt.Errorf("glctx: %w", err)
	}
	return r, nil
}
