package imaging

import (
	"image"
	"image/color"
	"testing"
)

// Squares come in the order of reading, and from the beginning again; what is left of
// the picture at its borders is not used.
func TestPieces(t *testing.T) {
	picture := image.NewGray(image.Rect(10, 20, 15, 25)) // two by two squares of 2, and a border
	for y := 20; y < 25; y++ {
		for x := 10; x < 15; x++ {
			picture.SetGray(x, y, color.Gray{Y: uint8((x-10)/2*51 + (y-20)/2*102)})
		}
	}
	values := Pieces(picture, 2, 5)
	if len(values) != 5*4 {
		t.Fatalf("%d values", len(values))
	}
	for i, want := range []float32{0, 0.2, 0.4, 0.6, 0} {
		for _, got := range values[4*i : 4*i+4] {
			if d := got - want; d > 1e-6 || d < -1e-6 {
				t.Errorf("square %d: %v, want %v", i, got, want)
			}
		}
	}
}
