package imaging

import (
	"bytes"
	"context"
	"errors"
	"image"
	"math/rand/v2"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d"
)

// The picture of the check: no multiple of a work group's 16 by 8 pixels, and of two strips.
const checkWidth, checkHeight, checkRows = 21, 15, 11

// check checks the program for filters of a size, where it was loaded: a picture of random
// bytes, filtered by random weights of -1, 0 and 1, so that each byte of the answer is a
// whole number and is compared as it is.
func (t *textureFilter) check(ctx context.Context, handles []*cache.Handle) error {
	random := rand.New(rand.NewPCG(1, uint64(t.filter.Side)))
	picture := image.NewNRGBA(image.Rect(0, 0, checkWidth, checkHeight))
	for i := range picture.Pix {
		if picture.Pix[i] = byte(random.Uint32()); i%4 == 3 {
			picture.Pix[i] = 255
		}
	}
	filter := Filter{Name: "check", Side: t.filter.Side, Weights: make([]float32, len(t.filter.Weights))}
	for i := range filter.Weights {
		filter.Weights[i] = float32(random.IntN(3) - 1)
	}
	known := &textureFilter{e: t.e, program: handles[0].Retain(), filter: filter, size: picture.Rect.Max, opaque: true, rows: checkRows}
	defer known.release()
	if err := known.makeRing("rgba8"); err != nil {
		return err
	}
	got := image.NewNRGBA(picture.Rect)
	if err := known.fill(ctx, got, picture); err != nil {
		return err
	}
	want, err := apply(ctx, reference{}, picture, filter)
	if err == nil && !bytes.Equal(got.Pix, want.Picture.Pix) {
		err = errors.New("imaging: the picture of the check was filtered to another one than by the CPU")
	}
	return err
}

// reference is the Convolver of the CPU, without a GPU.
type reference struct{}

func (reference) Conv2D(_ context.Context, p conv2d.Problem, input, weights, bias []float32) ([]float32, error) {
	want := conv2d.ReferenceConv2D(p, input, weights, bias)
	values := make([]float32, len(want.Values))
	for i, v := range want.Values {
		values[i] = float32(v)
	}
	return values, nil
}
