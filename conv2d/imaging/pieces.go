package imaging

import (
	"image"
	"image/color"
	"math"
)

// Pieces cuts n squares out of a picture, side by side and line by line, and starts
// again at the first where the picture ends. It returns the pixels of one square after
// the other as grey values from 0 to 1.
func Pieces(picture image.Image, side, n int) []float32 {
	bounds := picture.Bounds()
	across, down := max(1, bounds.Dx()/side), max(1, bounds.Dy()/side)
	values := make([]float32, 0, n*side*side)
	for i := range n {
		left, top := bounds.Min.X+i%across*side, bounds.Min.Y+i/across%down*side
		for y := range side {
			for x := range side {
				grey := color.Gray16Model.Convert(picture.At(left+x, top+y)).(color.Gray16)
				values = append(values, float32(grey.Y)/math.MaxUint16)
			}
		}
	}
	return values
}
