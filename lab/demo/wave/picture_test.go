package wave

import (
	"image/color"
	"testing"
)

func TestPictureColours(t *testing.T) {
	t.Parallel()
	p := Picture([]float32{0, 1, -1, 5, -5, 0.001}, 3, 2)
	if p.Bounds().Dx() != 3 || p.Bounds().Dy() != 2 {
		t.Errorf("bounds %v", p.Bounds())
	}
	tests := []struct {
		x, y int
		want color.Color
	}{{0, 0, crests[0]}, {0, 1, crests[5]}, {1, 1, troughs[5]}}
	for _, test := range tests {
		if got := p.At(test.x, test.y); got != test.want {
			t.Errorf("pixel %d,%d is %v, not %v", test.x, test.y, got, test.want)
		}
	}
	if p.Pix[1] <= middle || p.Pix[2] >= middle || int(p.Pix[1])-middle != middle-int(p.Pix[2]) {
		t.Errorf("height and depth 1 have colours %d and %d", p.Pix[1], p.Pix[2])
	}
	if p.Pix[5] == middle {
		t.Error("a small wave has the colour of a surface at rest")
	}
}
