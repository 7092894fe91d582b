package texel

import (
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"
	"slices"
)

// Pictures and texels. Texels hold the numbers of the picture as they are where its type
// has the format's layout:
//
//	*image.Gray, *image.Alpha      r8
//	*image.Gray16, *image.Alpha16  r16
//	*image.RGBA, *image.NRGBA      rgba8, srgb8_alpha8
//	*image.RGBA64, *image.NRGBA64  rgba16
//
// so that an RGBA is multiplied by its opacity and an NRGBA is not. Others are converted
// through color.NRGBA64, to r8, r16 and r32f as grey. r32f and rgba32f hold 0 to 1.

// CanHoldPicture reports whether EncodePicture and DecodePicture know the format.
func (f Format) CanHoldPicture() bool {
	return slices.Contains([]Format{"r8", "r16", "r32f", "rgba8", "srgb8_alpha8", "rgba16", "rgba32f"}, f)
}

// checkPicture returns an error where texels of a picture are not n bytes of format f.
func checkPicture(f Format, picture image.Image, n int) error {
	if !f.CanHoldPicture() {
		return fmt.Errorf("%w: %s does not hold pictures: use r8, r16, r32f, rgba8, srgb8_alpha8, rgba16 or rgba32f", ErrRegion, f)
	}
	size := picture.Bounds().Size()
	if want := size.X * size.Y * f.Bytes(); want != n {
		return fmt.Errorf("%w: a picture of %d by %d texels of %s takes %d bytes, there are %d", ErrRegion, size.X, size.Y, f, want, n)
	}
	return nil
}

// EncodePicture writes the pixels of a picture to dst as texels of format f, row by row
// without padding. dst has exactly their size.
func EncodePicture(dst []byte, f Format, picture image.Image) error {
	if err := checkPicture(f, picture, len(dst)); err != nil {
		return err
	}
	if copyRows(f, picture, dst, func(texels, pix []byte) { copyTexels(f, texels, pix) }) {
		return nil
	}
	if p, ok := picture.(*image.YCbCr); ok && f.Bytes() == 4 && f != "r32f" {
		opaque := image.RGBA{Pix: dst, Stride: p.Rect.Dx() * 4, Rect: p.Rect}
		draw.Draw(&opaque, p.Rect, p, p.Rect.Min, draw.Src)
		return nil
	}
	b := picture.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			dst = encodePixel(dst, f, picture.At(x, y))
		}
	}
	return nil
}

// DecodePicture sets the pixels of a picture to texels of format f, as EncodePicture has
// them. Pixels of another type than the format's are set through color.NRGBA64.
func DecodePicture(picture draw.Image, f Format, texels []byte) error {
	if err := checkPicture(f, picture, len(texels)); err != nil {
		return err
	}
	if copyRows(f, picture, texels, func(texels, pix []byte) { copyTexels(f, pix, texels) }) {
		return nil
	}
	b := picture.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			picture.Set(x, y, decodePixel(f, texels))
			texels = texels[f.Bytes():]
		}
	}
	return nil
}

// copyRows calls fn with each row of texels and of a picture whose type has the format's layout, and
// returns false for a picture of another one.
func copyRows(f Format, picture image.Image, texels []byte, fn func(texels, pix []byte)) bool {
	pix, stride, ok := pixOf(f, picture)
	row := picture.Bounds().Dx() * f.Bytes()
	for at := 0; ok && at < len(texels); at += row {
		fn(texels[at:at+row], pix[:row])
		pix = pix[min(stride, len(pix)):]
	}
	return ok
}

// pixOf returns the memory of a picture whose type has the format's layout.
func pixOf(f Format, picture image.Image) (pix []byte, stride int, ok bool) {
	switch p := picture.(type) {
	case *image.Gray:
		return p.Pix, p.Stride, f == "r8"
	case *image.Alpha:
		return p.Pix, p.Stride, f == "r8"
	case *image.Gray16:
		return p.Pix, p.Stride, f == "r16"
	case *image.Alpha16:
		return p.Pix, p.Stride, f == "r16"
	case *image.RGBA:
		return p.Pix, p.Stride, f == "rgba8" || f == "srgb8_alpha8"
	case *image.NRGBA:
		return p.Pix, p.Stride, f == "rgba8" || f == "srgb8_alpha8"
	case *image.RGBA64:
		return p.Pix, p.Stride, f == "rgba16"
	case *image.NRGBA64:
		return p.Pix, p.Stride, f == "rgba16"
	}
	return nil, 0, false
}

// copyTexels copies a row between a picture and texels: Go's numbers of 16 bits have the
// high byte first.
func copyTexels(f Format, dst, src []byte) {
	if f.Datum() == 1 {
		copy(dst, src)
		return
	}
	for i := 0; i+1 < len(src); i += 2 {
		dst[i], dst[i+1] = src[i+1], src[i]
	}
}

// encodePixel writes one texel and returns the rest of dst.
func encodePixel(dst []byte, f Format, c color.Color) []byte {
	le := binary.LittleEndian
	n := f.Bytes()
	switch f {
	case "r8":
		dst[0] = color.GrayModel.Convert(c).(color.Gray).Y
	case "r16":
		le.PutUint16(dst, color.Gray16Model.Convert(c).(color.Gray16).Y)
	case "r32f":
		putFloat(dst, color.Gray16Model.Convert(c).(color.Gray16).Y)
	case "rgba8", "srgb8_alpha8":
		p := color.NRGBAModel.Convert(c).(color.NRGBA)
		dst[0], dst[1], dst[2], dst[3] = p.R, p.G, p.B, p.A
	default:
		p := color.NRGBA64Model.Convert(c).(color.NRGBA64)
		for i, v := range [...]uint16{p.R, p.G, p.B, p.A} {
			if f == "rgba16" {
				le.PutUint16(dst[2*i:], v)
			} else {
				putFloat(dst[4*i:], v)
			}
		}
	}
	return dst[n:]
}

// decodePixel returns the colour of the first texel.
func decodePixel(f Format, texel []byte) color.Color {
	le := binary.LittleEndian
	switch f {
	case "r8":
		return color.Gray{Y: texel[0]}
	case "r16":
		return color.Gray16{Y: le.Uint16(texel)}
	case "r32f":
		return color.Gray16{Y: getFloat(texel)}
	case "rgba8", "srgb8_alpha8":
		return color.NRGBA{texel[0], texel[1], texel[2], texel[3]}
	case "rgba16":
		return color.NRGBA64{le.Uint16(texel), le.Uint16(texel[2:]), le.Uint16(texel[4:]), le.Uint16(texel[6:])}
	}
	return color.NRGBA64{getFloat(texel), getFloat(texel[4:]), getFloat(texel[8:]), getFloat(texel[12:])}
}

func putFloat(dst []byte, v uint16) {
	binary.LittleEndian.PutUint32(dst, math.Float32bits(float32(v)/math.MaxUint16))
}

// getFloat returns the level of a float, clamped; NaN is 0.
func getFloat(src []byte) uint16 {
	v := math.Float32frombits(binary.LittleEndian.Uint32(src))
	switch {
	case v >= 1:
		return math.MaxUint16
	case v > 0:
		return uint16(v*math.MaxUint16 + 0.5)
	}
	return 0
}
