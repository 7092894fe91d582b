package imaging

import (
	"context"
	"errors"
	"fmt"
	"image"

	"github.com/shadercache/shadercache/conv2d"
)

// Convolver computes convolutions. *conv2d.Runner is the one to use.
type Convolver interface {
	Conv2D(ctx context.Context, p conv2d.Problem, input, weights, bias []float32) ([]float32, error)
}

// Result is a filtered picture.
type Result struct {
	Picture *image.NRGBA
	Report  conv2d.Report // the comparison with the CPU reference
}

// Apply filters a picture and compares every pixel with the CPU reference. It
// returns a [*conv2d.MismatchError], wrapped, where they differ, and otherwise
// fails as the Convolver does. The picture is not changed.
func Apply(ctx context.Context, c Convolver, picture image.Image, f Filter) (Result, error) {
	r, err := apply(ctx, c, picture, f)
	if err != nil {
		return Result{}, fmt.Errorf("imaging: filter %s: %w", f.Name, err)
	}
	return r, nil
}

func apply(ctx context.Context, c Convolver, picture image.Image, f Filter) (Result, error) {
	if f.Side < 1 || f.Side%2 == 0 || len(f.Weights) != f.Side*f.Side {
		return Result{}, fmt.Errorf("%d weights do not make a square with odd sides", len(f.Weights))
	}
	size := picture.Bounds().Size()
	if err := checkSize(size.X, size.Y); err != nil {
		return Result{}, err
	}
	r := Result{Picture: image.NewNRGBA(image.Rectangle{Max: size})}
	for _, s := range strips(picture) {
		values, err := r.convolve(ctx, c, s, f)
		if err != nil {
			return Result{}, err
		}
		s.draw(r.Picture, values)
	}
	return r, nil
}

// convolve filters one strip and adds its report to r.
func (r *Result) convolve(ctx context.Context, c Convolver, s strip, f Filter) ([]float32, error) {
	margin := f.Side / 2
	p := conv2d.Problem{
		N: 3, C: 1, K: 1, R: f.Side, S: f.Side,
		H: s.rows + 2*margin,
		W: s.picture.Bounds().Dx() + 2*margin,
	}
	input := s.planes(margin)
	values, err := c.Conv2D(ctx, p, input, f.Weights, nil)
	if err != nil {
		return nil, err
	}
	if len(values) != p.OutputLen() {
		return nil, errors.New("the convolution returned a result of the wrong size")
	}
	want := conv2d.ReferenceConv2D(p, input, f.Weights, nil)
	r.Report.Append(conv2d.Compare(values, want, conv2d.Tolerance(p.ReductionLen())))
	return values, r.Report.Err()
}
