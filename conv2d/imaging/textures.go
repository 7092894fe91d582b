package imaging

import (
	"context"
	"embed"
	"fmt"
	"image"
	"image/color"
	"math"
	"strconv"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/executor/kernelset"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/shader"
)

//go:embed kernels
var kernels embed.FS

// textureFilter filters pictures of one size through textures: 4 bytes a pixel in for
// opaque pictures of 8 bits and 8 for others, 4 bytes out. It is used by one goroutine at
// a time.
type textureFilter struct {
	e       *executor.Executor
	program *cache.Handle
	filter  Filter
	size    image.Point
	opaque  bool
	rows    int // of a strip, without the rows above and below that it reads
	ring    []*texturePair
}

// texturePair is what one strip is filtered with. Several strips are in flight.
type texturePair struct {
	from, to *executor.Texture
	strip    strip
	pending  executor.Pending
}

// ringLength is the number of strips in flight.
const ringLength = 3

// newTextureFilter makes a filter for pictures like one. It fails where the device has no
// textures of that size.
func newTextureFilter(ctx context.Context, e *executor.Executor, programs executor.Programs, picture image.Image, f Filter) (*textureFilter, error) {
	t := &textureFilter{e: e, filter: f, size: picture.Bounds().Size(), opaque: isOpaque8(picture)}
	format := texel.Format("rgba16")
	if t.opaque {
		format = "rgba8"
	}
	margin := f.Side / 2
	t.rows = min(e.SlotBytes()/(t.size.X*format.Bytes())-2*margin, e.Context().Info().Textures.Size-2*margin, t.size.Y)
	if t.rows < 1 {
		return nil, fmt.Errorf("a slot of %d bytes has no room for %d rows of %d pixels: raise SlotBytes", e.SlotBytes(), 2*margin+1, t.size.X)
	}
	handles, err := kernelset.GetChecked(ctx, programs, kernels, t.check, kernelset.Kernel{
		Name: fmt.Sprintf("filter_%dx%d", f.Side, f.Side), File: "filter.comp", Defines: shader.Defines{"SIDE": strconv.Itoa(f.Side)}})
	if err != nil {
		return nil, err
	}
	t.program = handles[0]
	if err := t.makeRing(format); err != nil {
		t.release()
		return nil, err
	}
	return t, nil
}

// makeRing makes the textures. After an error release releases those that were made.
func (t *textureFilter) makeRing(format texel.Format) (err error) {
	strips := (t.size.Y + t.rows - 1) / t.rows
	for range min(strips, ringLength) {
		pair := &texturePair{}
		t.ring = append(t.ring, pair)
		if pair.from, err = t.e.NewTexture(texel.Shape{Format: format, Width: t.size.X, Height: t.rows + t.filter.Side/2*2}); err == nil {
			pair.to, err = t.e.NewTexture(texel.Shape{Format: "rgba8", Width: t.size.X, Height: t.rows})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isOpaque8 reports whether the colours of a picture are bytes.
func isOpaque8(picture image.Image) bool {
	switch picture.(type) {
	case *image.RGBA, *image.NRGBA, *image.Gray, *image.YCbCr, *image.Paletted:
		return picture.(interface{ Opaque() bool }).Opaque()
	}
	return false
}

func (t *textureFilter) release() {
	for _, pair := range t.ring {
		pair.pending.Release()
		for _, texture := range []*executor.Texture{pair.from, pair.to} {
			if texture != nil {
				texture.Release()
			}
		}
	}
	if t.program != nil {
		t.program.Release()
	}
}

// fill filters a picture, whose size and kind are those that t was made for.
func (t *textureFilter) fill(ctx context.Context, out *image.NRGBA, picture image.Image) error {
	source := quickly(picture)
	for i, first := 0, 0; first < t.size.Y; i, first = i+1, first+t.rows {
		pair := t.ring[i%len(t.ring)]
		if err := pair.wait(ctx); err != nil {
			return err
		}
		pair.strip = strip{source, first, min(t.rows, t.size.Y-first)}
		if err := t.submit(ctx, pair, picture, out); err != nil {
			return err
		}
	}
	for _, pair := range t.ring {
		if err := pair.wait(ctx); err != nil {
			return err
		}
	}
	if !t.opaque {
		keepOpacity(out, source)
	}
	return nil
}

// wait waits for the strip that the pair works on, if there is one.
func (p *texturePair) wait(ctx context.Context) error {
	if err := p.pending.Wait(ctx); err != nil && err != executor.ErrNotSubmitted {
		return err
	}
	p.pending = executor.Pending{}
	return nil
}

// submit starts a strip, which is written to its rows of out.
func (t *textureFilter) submit(ctx context.Context, p *texturePair, picture image.Image, out *image.NRGBA) error {
	margin, s := t.filter.Side/2, p.strip
	above, below := max(0, s.first-margin), min(t.size.Y, s.first+s.rows+margin)
	target := out.SubImage(image.Rect(0, s.first, t.size.X, s.first+s.rows)).(*image.NRGBA)
	return t.e.SubmitInto(ctx, &job.Job{
		Dispatch: job.Dispatch{
			Program:  t.program,
			Groups:   [3]uint32{uint32(t.size.X+15) / 16, uint32(s.rows+7) / 8, 1},
			Textures: []job.Sampled{{Binding: 0, Texture: p.from}},
			Images:   []job.Image{{Binding: 0, Texture: p.to, Access: "writeonly"}},
			Uniforms: []job.Uniform{
				job.Ints("valid", int32(t.size.X), int32(below-above)), job.Int("top", int32(s.first-above)),
				job.Int("rows", int32(s.rows)), job.Floats("weights", t.filter.Weights...),
			},
		},
		TextureInputs: []job.TextureInput{{
			Texture: p.from, Region: texel.Region{Width: t.size.X, Height: below - above},
			Fill: func(dst []byte) { t.encode(dst, picture, s.picture, above, below) },
		}},
		TextureOutputs: []job.TextureOutput{{Texture: p.to, Picture: target}},
	}, &p.pending)
}

// encode writes rows of a picture as texels: its bytes where it is opaque, else colours
// that are not multiplied by their opacity, of 16 bits.
func (t *textureFilter) encode(dst []byte, picture image.Image, source image.RGBA64Image, above, below int) {
	b := picture.Bounds()
	if sub, ok := picture.(interface {
		SubImage(image.Rectangle) image.Image
	}); ok && t.opaque {
		part := sub.SubImage(image.Rect(b.Min.X, b.Min.Y+above, b.Max.X, b.Min.Y+below))
		if err := texel.EncodePicture(dst, "rgba8", part); err != nil {
			panic(err) // the size is that of the region
		}
		return
	}
	part := image.NewNRGBA64(image.Rect(0, 0, b.Dx(), below-above))
	for y := above; y < below; y++ {
		for x := range b.Dx() {
			c := source.RGBA64At(b.Min.X+x, b.Min.Y+y)
			red, green, blue := straight(c)
			part.SetNRGBA64(x, y-above, color.NRGBA64{R: level16(red), G: level16(green), B: level16(blue), A: c.A})
		}
	}
	if err := texel.EncodePicture(dst, "rgba16", part); err != nil {
		panic(err) // the size is that of the region
	}
}

func level16(v float32) uint16 { return uint16(v*math.MaxUint16 + 0.5) }

// keepOpacity gives pixels the opacity of the original, as strip.draw does.
func keepOpacity(out *image.NRGBA, source image.RGBA64Image) {
	b := source.Bounds()
	for y := range b.Dy() {
		for x := range b.Dx() {
			out.Pix[out.PixOffset(x, y)+3] = uint8(source.RGBA64At(b.Min.X+x, b.Min.Y+y).A >> 8)
		}
	}
}

// verify compares every pixel of a filtered picture with the CPU reference. A byte stands
// for all values that round to it: the one nearest to the reference is compared.
func (t *textureFilter) verify(out *image.NRGBA, picture image.Image) conv2d.Report {
	var r conv2d.Report
	for _, s := range strips(picture) {
		p, input := s.convolution(t.filter)
		want := conv2d.ReferenceConv2D(p, input, t.filter.Weights, nil)
		values := make([]float32, len(want.Values))
		plane := t.size.X * s.rows
		for i := range plane {
			at := out.PixOffset(i%t.size.X, s.first+i/t.size.X)
			for colour := range 3 {
				values[colour*plane+i] = nearest(out.Pix[at+colour], want.Values[colour*plane+i])
			}
		}
		tolerance := conv2d.Tolerance(p.ReductionLen())
		if !t.opaque {
			tolerance += 1.0 / math.MaxUint16 // its texels are rounded
		}
		r.Append(conv2d.Compare(values, want, tolerance))
	}
	return r
}

// nearest returns the value nearest to want of those that round to a byte.
func nearest(b uint8, want float64) float32 {
	low, high := (float64(b)-0.5)/255, (float64(b)+0.5)/255
	if b == 0 {
		low = math.Inf(-1)
	}
	if b == 255 {
		high = math.Inf(1)
	}
	return float32(min(max(want, low), high))
}
