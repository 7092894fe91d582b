package imaging

import (
	"image"
	"image/color"
	"image/draw"
)

// strip is some full rows of a picture, the input of one convolution, so that
// memory and grid stay small for large pictures.
type strip struct {
	picture image.RGBA64Image
	first   int // row, counted from the picture's top
	rows    int
}

// stripPixels is the approximate number of pixels of a strip.
const stripPixels = 1 << 20

// strips cuts a picture that is not empty.
func strips(picture image.Image) []strip {
	source := quickly(picture)
	size := picture.Bounds().Size()
	rows := max(1, stripPixels/size.X)
	var all []strip
	for first := 0; first < size.Y; first += rows {
		all = append(all, strip{source, first, min(rows, size.Y-first)})
	}
	return all
}

// quickly gives access to a picture's pixels without an allocation for each.
func quickly(picture image.Image) image.RGBA64Image {
	if p, ok := picture.(image.RGBA64Image); ok {
		return p
	}
	p := image.NewNRGBA64(picture.Bounds())
	draw.Draw(p, p.Rect, picture, p.Rect.Min, draw.Src)
	return p
}

// planes are the strip's red, green and blue, from 0 to 1, one plane after the
// other, each with margin more pixels on all four sides. Beyond the picture the
// outermost pixels repeat.
func (s strip) planes(margin int) []float32 {
	b := s.picture.Bounds()
	width, height := b.Dx()+2*margin, s.rows+2*margin
	plane := width * height
	values := make([]float32, 3*plane)
	at := 0
	for y := s.first - margin; y < s.first+s.rows+margin; y++ {
		row := b.Min.Y + min(max(y, 0), b.Dy()-1)
		for x := -margin; x < b.Dx()+margin; x++ {
			column := b.Min.X + min(max(x, 0), b.Dx()-1)
			red, green, blue := straight(s.picture.RGBA64At(column, row))
			values[at], values[plane+at], values[2*plane+at] = red, green, blue
			at++
		}
	}
	return values
}

// straight is a colour from 0 to 1, not multiplied by its opacity.
func straight(c color.RGBA64) (red, green, blue float32) {
	if c.A == 0 {
		return 0, 0, 0
	}
	whole := float32(c.A)
	return float32(c.R) / whole, float32(c.G) / whole, float32(c.B) / whole
}

// draw puts filtered planes without margin into the strip's rows of out, with
// the opacity of the original.
func (s strip) draw(out *image.NRGBA, values []float32) {
	b := s.picture.Bounds()
	plane := b.Dx() * s.rows
	at := 0
	for y := s.first; y < s.first+s.rows; y++ {
		for x := range b.Dx() {
			opacity := s.picture.RGBA64At(b.Min.X+x, b.Min.Y+y).A
			out.SetNRGBA(x, y, color.NRGBA{
				level(values[at]), level(values[plane+at]), level(values[2*plane+at]), uint8(opacity >> 8),
			})
			at++
		}
	}
}

// level is v from 0 to 1 as a byte. What lies outside is clamped; NaN is black.
func level(v float32) uint8 {
	if v >= 1 {
		return 255
	}
	if v > 0 {
		return uint8(v*255 + 0.5)
	}
	return 0
}
