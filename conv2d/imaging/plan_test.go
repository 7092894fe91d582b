//go:build linux

package imaging

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// planRig has what plans need.
type planRig struct {
	e        *executor.Executor
	programs *cache.Cache
	runner   *conv2d.Runner
}

func newPlanRig(t testing.TB, slotBytes int) planRig {
	t.Helper()
	context := gltest.Open(t)
	programs, err := cache.New(context, cache.Options{MemoryOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { programs.Close() })
	e, err := executor.New(context, programs, executor.Options{SlotBytes: slotBytes, SlotJobs: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	runner := &conv2d.Runner{Executor: e, Programs: programs}
	runner.Options.Choice = &conv2d.Choice{Algorithm: "direct", Params: conv2d.DirectParams{Local: 64}}
	return planRig{e, programs, runner}
}

// kinds returns a picture as the types that the texture path treats differently, with
// bounds that do not begin at zero.
func kinds(from image.Image, bounds image.Rectangle) map[string]image.Image {
	list := map[string]image.Image{}
	for name, p := range map[string]draw.Image{
		"RGBA": image.NewRGBA(bounds), "NRGBA": image.NewNRGBA(bounds), "gray": image.NewGray(bounds),
		"NRGBA64": image.NewNRGBA64(bounds), "translucent": image.NewNRGBA(bounds),
	} {
		draw.Draw(p, bounds, from, from.Bounds().Min, draw.Src)
		list[name] = p
	}
	translucent := list["translucent"].(*image.NRGBA)
	for i := 3; i < len(translucent.Pix); i += 4 {
		translucent.Pix[i] = byte(i * 13)
	}
	return list
}

// TestPlansAgree filters pictures of every kind by both paths, in one strip and in many:
// every pixel is compared with the CPU reference, and the two pictures with each other.
func TestPlansAgree(t *testing.T) {
	software := gltest.Open(t).Info().Software() // the textures of others may round otherwise
	for _, slotBytes := range []int{1 << 20, 1 << 13} {
		rig := newPlanRig(t, slotBytes)
		for name, picture := range kinds(Sample(), image.Rect(-7, 11, 90, 84)) {
			for _, f := range Filters() {
				t.Run(fmt.Sprint(slotBytes, " ", name, " ", f.Name), func(t *testing.T) {
					var results [2]Result
					for i, path := range []Path{Buffers, Textures} {
						p, err := NewPlan(t.Context(), rig.e, rig.programs, rig.runner, picture, f, path)
						if err != nil {
							t.Fatal(err)
						}
						defer p.Release()
						for range 2 { // the second uses textures that hold another strip
							if results[i], err = p.Apply(t.Context(), picture); err != nil {
								t.Fatal(err)
							}
						}
						if p.Path() != path && software || !results[i].Report.OK() || results[i].Report.Elements != 3*97*73 {
							t.Errorf("%v: %v", p.Path(), results[i].Report)
						}
					}
					for i, v := range results[0].Picture.Pix {
						if d := int(v) - int(results[1].Picture.Pix[i]); d < -1 || d > 1 || i%4 == 3 && d != 0 {
							t.Fatalf("byte %d is %d through buffers and %d through textures", i, v, results[1].Picture.Pix[i])
						}
					}
				})
			}
		}
	}
}

// TestPlanMeasures lets a plan choose, and checks what it refuses.
func TestPlanMeasures(t *testing.T) {
	rig := newPlanRig(t, 1<<20)
	picture, f := kinds(Sample(), image.Rect(0, 0, 64, 48))["RGBA"], Filters()[1]
	p, err := NewPlan(t.Context(), rig.e, rig.programs, rig.runner, picture, f, Faster)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	software := gltest.Open(t).Info().Software()
	if p.Times[Buffers] <= 0 || software && p.Times[Textures] <= 0 || p.Times[Textures] > 0 && (p.Path() == Textures) != (p.Times[Textures] <= p.Times[Buffers]) {
		t.Errorf("%v of %v", p.Path(), p.Times)
	}
	if _, err := p.Apply(t.Context(), picture); err != nil {
		t.Error(err)
	}
	if _, err := p.Apply(t.Context(), image.NewRGBA(image.Rect(0, 0, 64, 49))); err == nil || !strings.Contains(err.Error(), "(64,48)") {
		t.Errorf("another size: %v", err)
	}
	if _, err := NewPlan(t.Context(), rig.e, rig.programs, rig.runner, image.NewGray(image.Rect(0, 0, 60000, 1)), f, Textures); err == nil {
		t.Error("a texture of 60000 texels was made")
	}
}

// TestVerifyFindsOneWrongPixel changes one pixel of a right result by more than rounding.
func TestVerifyFindsOneWrongPixel(t *testing.T) {
	rig := newPlanRig(t, 1<<20)
	picture, f := kinds(Sample(), image.Rect(0, 0, 64, 48))["RGBA"], Filters()[1]
	p, err := NewPlan(t.Context(), rig.e, rig.programs, rig.runner, picture, f, Textures)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	r, err := p.Apply(t.Context(), picture)
	if err != nil {
		t.Fatal(err)
	}
	if p.textures == nil {
		if gltest.Open(t).Info().Software() {
			t.Fatal("buffers were used: ", r.Report)
		}
		t.Skip("the textures of this driver round otherwise, so that the plan uses buffers: ", r.Report)
	}
	right := bytes.Clone(r.Picture.Pix)
	for _, at := range []int{0, 4*(64*20+31) + 1, len(right) - 2} {
		for _, by := range []int{-2, 2} {
			copy(r.Picture.Pix, right)
			r.Picture.Pix[at] = byte(min(max(int(right[at])+by, 0), 255))
			if report := p.textures.verify(r.Picture, picture); report.Wrong != 1 && r.Picture.Pix[at] != right[at] {
				t.Errorf("byte %d off by %d: %v", at, by, report)
			}
		}
	}
}

// BenchmarkPaths measures a picture by each path, from pixels to pixels, without the
// comparison with the CPU reference.
func BenchmarkPaths(b *testing.B) {
	rig := newPlanRig(b, 64<<20)
	sample := Sample()
	for _, size := range []image.Point{{X: 640, Y: 480}, {X: 1920, Y: 1080}, {X: 3840, Y: 2160}} {
		picture := image.NewRGBA(image.Rectangle{Max: size})
		for y := 0; y < size.Y; y += 480 {
			for x := 0; x < size.X; x += 640 {
				draw.Draw(picture, image.Rect(x, y, x+640, y+480), sample, sample.Bounds().Min, draw.Src)
			}
		}
		for _, f := range []Filter{Filters()[0], Filters()[1]} {
			for _, path := range []Path{Buffers, Textures} {
				b.Run(fmt.Sprintf("%s/%dx%d/%v", f.Name, size.X, size.Y, path), func(b *testing.B) {
					p, err := NewPlan(b.Context(), rig.e, rig.programs, rig.runner, picture, f, path)
					if err != nil {
						b.Fatal(err)
					}
					defer p.Release()
					if _, err := p.Apply(b.Context(), picture); err != nil {
						b.Fatal(err)
					}
					if path == Textures && p.textures == nil {
						b.Skip("the textures of this driver round otherwise")
					}
					out := image.NewNRGBA(image.Rectangle{Max: size})
					b.SetBytes(int64(4 * size.X * size.Y))
					for b.Loop() {
						if path == Textures {
							err = p.textures.fill(b.Context(), out, picture)
						} else {
							err = p.throughBuffers(b.Context(), picture)
						}
						if err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// ending is a Convolver in whose first call the context of the plan ends.
type ending struct {
	*conv2d.Runner
	end func()
}

func (c ending) Conv2D(ctx context.Context, _ conv2d.Problem, _, _, _ []float32) ([]float32, error) {
	c.end()
	return nil, ctx.Err()
}

// A plan whose context ends while it measures keeps nothing on the device.
func TestPlanOfAContextThatEnds(t *testing.T) {
	rig := newPlanRig(t, 1<<20)
	ctx, end := context.WithCancel(t.Context())
	p, err := NewPlan(ctx, rig.e, rig.programs, ending{rig.runner, end}, Sample(), Filters()[0], Faster)
	if p != nil || !errors.Is(err, context.Canceled) || rig.programs.Stats().InUse != 0 {
		t.Errorf("%v, %v, %d programs in use", p != nil, err, rig.programs.Stats().InUse)
	}
}
