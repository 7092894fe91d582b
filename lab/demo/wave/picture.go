package wave

import (
	"image"
	"image/color"
	"math"
)

// Picture returns the image of a field of the given width. A surface at rest is dark;
// crests change to orange and cream with their height, troughs to blue and white with
// their depth. Heights and depths of scale and more have the last colours.
func Picture(field []float32, width int, scale float64) *image.Paletted {
	height := len(field) / width
	picture := image.NewPaletted(image.Rect(0, 0, width, height), palette)
	for i, v := range field {
		picture.Pix[i] = shade(float64(v) / scale)
	}
	return picture
}

// middle is the colour of a surface at rest.
const middle = 127

// shade returns the colour of a height from -1 to 1. Colours follow a root of the height,
// so that small waves are visible.
func shade(v float64) uint8 {
	t := math.Pow(min(math.Abs(v), 1), 0.55) * middle
	return uint8(middle + math.Copysign(math.Round(t), v))
}

// The colours at even distances, from a surface at rest to the largest height or depth.
var (
	crests  = []color.RGBA{{11, 14, 26, 255}, {74, 26, 40, 255}, {168, 52, 40, 255}, {232, 122, 52, 255}, {250, 199, 111, 255}, {255, 247, 222, 255}}
	troughs = []color.RGBA{{11, 14, 26, 255}, {18, 42, 84, 255}, {26, 87, 152, 255}, {52, 150, 204, 255}, {134, 206, 230, 255}, {232, 249, 252, 255}}
)

// palette has the colours of shade.
var palette = func() color.Palette {
	p := make(color.Palette, 2*middle+1)
	for i := range middle + 1 {
		t := float64(i) / middle
		p[middle+i], p[middle-i] = between(crests, t), between(troughs, t)
	}
	return p
}()

// between returns the colour at t, 0 to 1, of colours at even distances.
func between(colours []color.RGBA, t float64) color.RGBA {
	at := t * float64(len(colours)-1)
	i := min(int(at), len(colours)-2)
	mix := func(a, b uint8) uint8 {
		return uint8(math.Round(float64(a) + (float64(b)-float64(a))*(at-float64(i))))
	}
	a, b := colours[i], colours[i+1]
	return color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
}
