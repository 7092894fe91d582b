package imaging

import (
	"context"
	"errors"
	"image"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/conv2d"
)

// onCPU convolves without a GPU. spoil, where there is one, changes the result.
type onCPU struct {
	problems []conv2d.Problem
	spoil    func(values []float32) ([]float32, error)
}

func (c *onCPU) Conv2D(_ context.Context, p conv2d.Problem, input, weights, bias []float32) ([]float32, error) {
	c.problems = append(c.problems, p)
	var values []float32
	for _, v := range conv2d.ReferenceConv2D(p, input, weights, bias).Values {
		values = append(values, float32(v))
	}
	var err error
	if c.spoil != nil {
		values, err = c.spoil(values)
	}
	return values, err
}

func filterNamed(t *testing.T, name string) Filter {
	t.Helper()
	filters, err := Select(name)
	if err != nil || len(filters) != 1 {
		t.Fatalf("%d filters called %s: %v", len(filters), name, err)
	}
	return filters[0]
}

func apply1(t *testing.T, picture image.Image, name string) *image.NRGBA {
	t.Helper()
	r, err := Apply(t.Context(), &onCPU{}, picture, filterNamed(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return r.Picture
}

// uniform is a picture of one colour.
func uniform(width, height int, c color.NRGBA) *image.NRGBA {
	p := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			p.SetNRGBA(x, y, c)
		}
	}
	return p
}

func TestFiltersLeaveNoFrame(t *testing.T) {
	colour := color.NRGBA{100, 50, 200, 255}
	for _, f := range Filters() {
		want := colour
		if f.Name == "edge" {
			want = color.NRGBA{0, 0, 0, 255}
		}
		got := apply1(t, uniform(9, 7, colour), f.Name)
		if !slices.Equal(got.Pix, uniform(9, 7, want).Pix) {
			t.Errorf("%s changes a plain picture: %v", f.Name, got.Pix)
		}
	}
}

func TestFiltersAreNotFlipped(t *testing.T) {
	picture := uniform(7, 7, color.NRGBA{100, 0, 0, 255})
	picture.SetNRGBA(3, 3, color.NRGBA{110, 0, 0, 255})
	// The pixel up and to the left sees the bright one through the last weight.
	got := apply1(t, picture, "emboss")
	for corner, want := range map[image.Point]uint8{{X: 2, Y: 2}: 120, {X: 4, Y: 4}: 80, {X: 3, Y: 3}: 110, {X: 4, Y: 2}: 100} {
		if red := got.NRGBAAt(corner.X, corner.Y).R; red != want {
			t.Errorf("pixel %v is %d, want %d", corner, red, want)
		}
	}
	blurred := apply1(t, picture, "blur")
	if red := blurred.NRGBAAt(3, 3).R; red != 101 { // 100 + 10*36/256
		t.Errorf("the middle is blurred to %d, want 101", red)
	}
}

func TestTransparencyIsKept(t *testing.T) {
	picture := uniform(5, 5, color.NRGBA{200, 100, 50, 255})
	picture.SetNRGBA(2, 2, color.NRGBA{200, 100, 50, 128})
	got := apply1(t, picture, "blur")
	if c := got.NRGBAAt(2, 2); c != (color.NRGBA{200, 100, 50, 128}) {
		t.Errorf("the half transparent pixel is %v", c)
	}
	if c := got.NRGBAAt(1, 2); c != (color.NRGBA{200, 100, 50, 255}) {
		t.Errorf("its neighbour is %v", c)
	}
}

// A picture of two strips looks as if it had been filtered at once, and a
// picture may start anywhere.
func TestStripsMeetWithoutASeam(t *testing.T) {
	const side = 1030 // two strips
	picture := image.NewGray(image.Rect(0, 0, side, side))
	for i := range picture.Pix {
		picture.Pix[i] = uint8(i * 7919 >> 3)
	}
	c := &onCPU{}
	whole, err := Apply(t.Context(), c, picture, filterNamed(t, "emboss"))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.problems) != 2 || whole.Report.Elements != 3*side*side {
		t.Fatalf("%d strips, %d elements", len(c.problems), whole.Report.Elements)
	}
	seam := stripPixels / side
	part := picture.SubImage(image.Rect(100, seam-9, 140, seam+9))
	filtered := apply1(t, part, "emboss")
	for y := 1; y < 17; y++ {
		for x := 1; x < 39; x++ {
			got, want := whole.Picture.NRGBAAt(100+x, seam-9+y), filtered.NRGBAAt(x, y)
			if got != want {
				t.Fatalf("pixel %d,%d is %v in the whole picture, %v in the part", x, y, got, want)
			}
		}
	}
}

func TestApplyReturnsNoWrongPicture(t *testing.T) {
	failure := errors.New("the GPU is on fire")
	tests := map[string]func([]float32) ([]float32, error){
		"an error":  func(v []float32) ([]float32, error) { return nil, failure },
		"NaN":       func(v []float32) ([]float32, error) { v[7] = float32(math.NaN()); return v, nil },
		"an offset": func(v []float32) ([]float32, error) { v[len(v)-1] += 0.01; return v, nil },
		"one less":  func(v []float32) ([]float32, error) { return v[1:], nil },
	}
	for name, spoil := range tests {
		r, err := Apply(t.Context(), &onCPU{spoil: spoil}, uniform(8, 8, color.NRGBA{9, 9, 9, 255}), filterNamed(t, "blur"))
		if err == nil || r.Picture != nil {
			t.Errorf("%s: picture %v, error %v", name, r.Picture, err)
		}
		var mismatch *conv2d.MismatchError
		if wrong := name == "NaN" || name == "an offset"; errors.As(err, &mismatch) != wrong {
			t.Errorf("%s: error %v", name, err)
		}
		if name == "an error" && !errors.Is(err, failure) {
			t.Errorf("error %v does not wrap the cause", err)
		}
	}
}

func TestApplyRefuses(t *testing.T) {
	pixel := uniform(1, 1, color.NRGBA{})
	blur := filterNamed(t, "blur")
	for name, try := range map[string]func() (Result, error){
		"no pixels": func() (Result, error) {
			return Apply(t.Context(), &onCPU{}, image.NewGray(image.Rectangle{}), blur)
		},
		"even side":    func() (Result, error) { return Apply(t.Context(), &onCPU{}, pixel, Filter{"f", 2, make([]float32, 4)}) },
		"few weights":  func() (Result, error) { return Apply(t.Context(), &onCPU{}, pixel, Filter{"f", 3, make([]float32, 8)}) },
		"empty filter": func() (Result, error) { return Apply(t.Context(), &onCPU{}, pixel, Filter{}) },
	} {
		if _, err := try(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if got := apply1(t, uniform(1, 1, color.NRGBA{7, 8, 9, 255}), "blur").NRGBAAt(0, 0); got != (color.NRGBA{7, 8, 9, 255}) {
		t.Errorf("a single pixel is blurred to %v", got)
	}
}

func TestSelect(t *testing.T) {
	if want := []string{"edge", "blur", "sharpen", "emboss", "all"}; !slices.Equal(FilterNames(), want) {
		t.Errorf("names are %v, want %v", FilterNames(), want)
	}
	all, err := Select(All)
	if err != nil || len(all) != 4 {
		t.Errorf("%d filters, %v", len(all), err)
	}
	if _, err := Select("sepia"); err == nil || !strings.Contains(err.Error(), "emboss") {
		t.Errorf("error %v does not say which filters there are", err)
	}
}

func TestSheet(t *testing.T) {
	var pictures []*image.NRGBA
	for i := range uint8(4) {
		pictures = append(pictures, uniform(3, 2, color.NRGBA{i, i, i, 255}))
	}
	sheet := Sheet(pictures)
	if sheet.Rect != image.Rect(0, 0, 6, 4) {
		t.Fatalf("the sheet is %v", sheet.Rect)
	}
	for y := range 4 {
		for x := range 6 {
			if got, want := sheet.NRGBAAt(x, y).R, uint8(x/3+y/2*2); got != want {
				t.Errorf("pixel %d,%d is of picture %d, want %d", x, y, got, want)
			}
		}
	}
	if one := Sheet(pictures[:1]); one.Rect != pictures[0].Rect {
		t.Errorf("a sheet of one picture is %v", one.Rect)
	}
	if three := Sheet(pictures[:3]); three.NRGBAAt(5, 3).A != 0 {
		t.Error("the empty place is not transparent")
	}
}
