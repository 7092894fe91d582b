//go:build linux && cgo

package glctx_test

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math/rand/v2"
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job/texel"
)

// pictures has one of every type that Go can draw into, with bounds that do not begin at
// zero.
func pictures(bounds image.Rectangle) []draw.Image {
	return []draw.Image{
		image.NewRGBA(bounds), image.NewNRGBA(bounds), image.NewRGBA64(bounds), image.NewNRGBA64(bounds), image.NewGray(bounds),
		image.NewGray16(bounds), image.NewAlpha(bounds), image.NewAlpha16(bounds), image.NewCMYK(bounds),
	}
}

var pictureFormats = []texel.Format{"r8", "r16", "r32f", "rgba8", "srgb8_alpha8", "rgba16", "rgba32f"}

// part returns a part of a picture, which shares its memory.
func part(p draw.Image, r image.Rectangle) draw.Image {
	return p.(interface {
		SubImage(image.Rectangle) image.Image
	}).SubImage(r).(draw.Image)
}

// TestPictures uploads a part of each type of picture, downloads it to a poisoned picture
// of the same type, and compares every pixel with what the format keeps of it.
func TestPictures(t *testing.T) {
	c := gltest.Open(t)
	bounds, middle := image.Rect(-3, 5, 20, 22), image.Rect(1, 7, 14, 18)
	random := rand.New(rand.NewPCG(1, 2))
	for _, f := range pictureFormats {
		for i, whole := range pictures(bounds) {
			t.Run(fmt.Sprintf("%v %T", f, whole), func(t *testing.T) {
				for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
					for x := bounds.Min.X; x < bounds.Max.X; x++ {
						whole.Set(x, y, color.NRGBA64{uint16(random.Uint32()), uint16(random.Uint32()), uint16(random.Uint32()), uint16(random.Uint32())})
					}
				}
				source, got := part(whole, middle), pictures(bounds)[i]
				draw.Draw(got, bounds, image.NewUniform(color.NRGBA{7, 8, 9, 10}), image.Point{}, draw.Src)
				poison := color.NRGBAModel.Convert(got.At(bounds.Min.X, bounds.Min.Y))
				err := c.Do(func(gl *glctx.GL) error {
					x, err := gl.NewTexture(texel.Shape{Format: f, Width: 20, Height: 15})
					if err != nil {
						return err
					}
					defer gl.DeleteTexture(x)
					r := texel.Region{X: 2, Y: 3, Width: middle.Dx(), Height: middle.Dy()}
					sent, texels := make([]byte, middle.Dx()*middle.Dy()*f.Bytes()), poisoned(middle.Dx()*middle.Dy()*f.Bytes())
					return errors.Join(texel.EncodePicture(sent, f, source), gl.UploadTexture(x, r, sent),
						gl.DownloadTexture(x, r, texels), texel.DecodePicture(part(got, middle), f, texels), gl.Err())
				})
				if err != nil {
					t.Fatal(err)
				}
				comparePictures(t, f, got, whole, middle, poison)
			})
		}
	}
}

// comparePictures compares the pixels inside of middle with those of whole and the others
// with poison.
func comparePictures(t *testing.T, f texel.Format, got, whole draw.Image, middle image.Rectangle, poison color.Color) {
	t.Helper()
	for y := got.Bounds().Min.Y; y < got.Bounds().Max.Y; y++ {
		for x := got.Bounds().Min.X; x < got.Bounds().Max.X; x++ {
			have := got.At(x, y)
			if !image.Pt(x, y).In(middle) {
				if color.NRGBAModel.Convert(have) != poison {
					t.Fatalf("pixel %d,%d beside the part was written", x, y)
				}
				continue
			}
			expected := whole.At(x, y)
			if have == expected {
				continue
			}
			if !keeps(f, whole) {
				expected = kept(f, expected)
			}
			want := whole.ColorModel().Convert(expected)
			a, b := color.NRGBA64Model.Convert(have).(color.NRGBA64), color.NRGBA64Model.Convert(want).(color.NRGBA64)
			if far(a.R, b.R) || far(a.G, b.G) || far(a.B, b.B) || far(a.A, b.A) {
				t.Fatalf("pixel %d,%d is %v, want %v", x, y, have, want)
			}
		}
	}
}

// keeps reports whether the format holds the picture's own numbers.
func keeps(f texel.Format, picture image.Image) bool {
	switch picture.(type) {
	case *image.Gray, *image.Alpha:
		return f == "r8"
	case *image.Gray16, *image.Alpha16:
		return f == "r16"
	case *image.RGBA, *image.NRGBA:
		return f == "rgba8" || f == "srgb8_alpha8"
	case *image.RGBA64, *image.NRGBA64:
		return f == "rgba16"
	}
	return false
}

// kept returns what a format keeps of a colour.
func kept(f texel.Format, c color.Color) color.Color {
	switch f {
	case "r8":
		return color.GrayModel.Convert(c)
	case "r16", "r32f":
		return color.Gray16Model.Convert(c)
	case "rgba8", "srgb8_alpha8":
		return color.NRGBAModel.Convert(c)
	}
	return color.NRGBA64Model.Convert(c)
}

// far allows for the rounding of one conversion to 32-bit floats and back.
func far(a, b uint16) bool { return max(a, b)-min(a, b) > 1 }

func TestPicturesFromJPEG(t *testing.T) {
	p := image.NewYCbCr(image.Rect(2, 2, 9, 8), image.YCbCrSubsampleRatio420)
	for i := range p.Y {
		p.Y[i] = uint8(i * 37)
	}
	for i := range p.Cb {
		p.Cb[i], p.Cr[i] = uint8(i*53), uint8(i*91)
	}
	texels := poisoned(7 * 6 * 4)
	if err := texel.EncodePicture(texels, "rgba8", p); err != nil {
		t.Fatal(err)
	}
	for i := range 7 * 6 {
		want := color.NRGBAModel.Convert(p.At(2+i%7, 2+i/7)).(color.NRGBA)
		if got := (color.NRGBA{texels[4*i], texels[4*i+1], texels[4*i+2], texels[4*i+3]}); got != want {
			t.Errorf("pixel %d is %v, want %v", i, got, want)
		}
	}
}

func TestPicturesThatDoNotFit(t *testing.T) {
	p := image.NewNRGBA(image.Rect(0, 0, 4, 4))
	for name, err := range map[string]error{
		"encoded as integers": texel.EncodePicture(make([]byte, 64), "rgba8ui", p), "encoded into too few bytes": texel.EncodePicture(make([]byte, 63), "rgba8", p),
		"decoded from integers": texel.DecodePicture(p, "rgba8ui", make([]byte, 64)), "decoded from too few bytes": texel.DecodePicture(p, "rgba8", make([]byte, 63)),
	} {
		if !errors.Is(err, texel.ErrRegion) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTexelsOf16BitsAreInHostOrder holds the bytes of a texel: Go's pictures have the high
// byte first.
func TestTexelsOf16BitsAreInHostOrder(t *testing.T) {
	p := image.NewGray16(image.Rect(0, 0, 1, 1))
	p.SetGray16(0, 0, color.Gray16{Y: 0x1234})
	bytes16 := make([]byte, 2)
	if err := texel.EncodePicture(bytes16, "r16", p); err != nil || bytes16[0] != 0x34 || bytes16[1] != 0x12 {
		t.Errorf("%x, %v", bytes16, err)
	}
}
