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

// rejecter is a Convolver whose programs come from binaries, which a driver may accept and
// then compute wrong results with.
type rejecter interface {
	RejectWrong(ctx context.Context, p conv2d.Problem, reason string) (bool, error)
}

// Result is a filtered picture.
type Result struct {
	Picture *image.NRGBA
	Report  conv2d.Report // the comparison with the CPU reference
}

// Apply filters a picture and compares every pixel with the CPU reference. Where they
// differ and the programs were loaded, the binaries are rejected and it computes once more,
// with programs that are compiled. It
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
	size := picture.Bounds().Size()
	if err := checkFilter(f, size); err != nil {
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
	p, input := s.convolution(f)
	want := conv2d.ReferenceConv2D(p, input, f.Weights, nil)
	values, report, err := compute(ctx, c, p, input, f.Weights, want)
	if wrong := report.Err(); err == nil && wrong != nil {
		again := false
		if programs, ok := c.(rejecter); ok {
			again, err = programs.RejectWrong(ctx, p, wrong.Error())
		}
		if err == nil && again {
			values, report, err = compute(ctx, c, p, input, f.Weights, want)
		}
	}
	if err != nil {
		return nil, err
	}
	r.Report.Append(report)
	return values, r.Report.Err()
}

// compute computes a convolution and compares it with the CPU reference.
func compute(ctx context.Context, c Convolver, p conv2d.Problem, input, weights []float32, want conv2d.Expected) ([]float32, conv2d.Report, error) {
	values, err := c.Conv2D(ctx, p, input, weights, nil)
	if err != nil {
		return nil, conv2d.Report{}, err
	}
	if len(values) != p.OutputLen() {
		return nil, conv2d.Report{}, errors.New("the convolution returned a result of the wrong size")
	}
	return values, conv2d.Compare(values, want, conv2d.Tolerance(p.ReductionLen())), nil
}
