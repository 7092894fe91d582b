package imaging

import (
	"context"
	"fmt"
	"image"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/executor"
)

// Path is how pixels reach the GPU.
type Path uint8

// The paths. Faster is the faster of the two, which NewPlan measures.
const (
	Faster   Path = iota
	Buffers       // floats in storage buffers, for conv2d
	Textures      // texels, of half the size or less
)

// Paths are the names of all paths.
var Paths = []string{"faster", "buffers", "textures"}

func (p Path) String() string { return Paths[p] }

// ParsePath returns the path of a name.
func ParsePath(name string) (Path, error) {
	if i := slices.Index(Paths, name); i >= 0 {
		return Path(i), nil
	}
	return 0, fmt.Errorf("there is no path %q: %s", name, strings.Join(Paths, ", "))
}

// Plan filters pictures of one size and kind with one filter, such as the frames of a
// video. It is used by one goroutine at a time, and released by its owner.
type Plan struct {
	convolver Convolver
	filter    Filter
	size      image.Point
	opaque    bool
	textures  *textureFilter // nil: through buffers

	// Times are those of one picture by each path, from pixels to pixels without the
	// comparison, where NewPlan measured them: the median of some.
	Times map[Path]time.Duration

	// Last is the time of the last picture through textures, without the comparison.
	Last time.Duration
}

// planRuns is the number of times that NewPlan runs each path, after one that is not
// counted.
const planRuns = 5

// NewPlan makes a plan for pictures of the size of picture that are opaque with 8 bits, or
// not, as it is. With Faster it runs both paths on it, and compares every pixel of both
// with the CPU reference; a path that is wrong or not possible is not chosen. c is for the
// path through buffers. The executor's slots have to hold some rows of a picture.
func NewPlan(ctx context.Context, e *executor.Executor, programs executor.Programs, c Convolver, picture image.Image, f Filter, path Path) (*Plan, error) {
	size := picture.Bounds().Size()
	if err := checkFilter(f, size); err != nil {
		return nil, fmt.Errorf("imaging: plan %s: %w", f.Name, err)
	}
	p := &Plan{convolver: c, filter: f, size: size, opaque: isOpaque8(picture), Times: map[Path]time.Duration{}}
	var err error
	if path != Buffers {
		p.textures, err = newTextureFilter(ctx, e, programs, picture, f)
		if err != nil && (path == Textures || ctx.Err() != nil) {
			return nil, fmt.Errorf("imaging: plan %s: %w", f.Name, err)
		}
	}
	if path == Faster && p.textures != nil {
		p.measure(ctx, picture)
	}
	if err := ctx.Err(); err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

// measure runs both paths and keeps the textures where they are right and faster.
func (p *Plan) measure(ctx context.Context, picture image.Image) {
	if r, err := p.throughTextures(ctx, picture); err == nil && r.Report.OK() {
		p.Times[Textures] = medianTime(func() error { return p.textures.fill(ctx, image.NewNRGBA(image.Rectangle{Max: p.size}), picture) })
	}
	if _, err := apply(ctx, p.convolver, picture, p.filter); err == nil {
		p.Times[Buffers] = medianTime(func() error { return p.throughBuffers(ctx, picture) })
	}
	textures, buffers := p.Times[Textures], p.Times[Buffers]
	if textures == 0 || buffers != 0 && buffers < textures {
		p.Release()
	}
}

// medianTime returns the median time of planRuns runs, 0 where one fails.
func medianTime(run func() error) time.Duration {
	var times []time.Duration
	for range planRuns {
		began := time.Now()
		if run() != nil {
			return 0
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// throughBuffers filters a picture without a comparison.
func (p *Plan) throughBuffers(ctx context.Context, picture image.Image) error {
	out := image.NewNRGBA(image.Rectangle{Max: p.size})
	for _, s := range strips(picture) {
		problem, input := s.convolution(p.filter)
		values, err := p.convolver.Conv2D(ctx, problem, input, p.filter.Weights, nil)
		if err != nil {
			return err
		}
		s.draw(out, values)
	}
	return nil
}

// Path returns the path that the plan uses.
func (p *Plan) Path() Path {
	if p.textures != nil {
		return Textures
	}
	return Buffers
}

// Release frees what the plan has on the device.
func (p *Plan) Release() {
	if p.textures != nil {
		p.textures.release()
		p.textures = nil
	}
}

// Apply filters a picture and compares every pixel with the CPU reference, as the function
// Apply does. Where textures give a wrong result the plan uses buffers from then on. It
// fails for a picture of another size or kind than the plan's.
func (p *Plan) Apply(ctx context.Context, picture image.Image) (Result, error) {
	if size := picture.Bounds().Size(); size != p.size || isOpaque8(picture) != p.opaque {
		return Result{}, fmt.Errorf("imaging: filter %s: the plan is for pictures of %v, opaque with 8 bits: %v", p.filter.Name, p.size, p.opaque)
	}
	if p.textures == nil {
		return Apply(ctx, p.convolver, picture, p.filter)
	}
	r, err := p.throughTextures(ctx, picture)
	if err != nil {
		return Result{}, fmt.Errorf("imaging: filter %s: %w", p.filter.Name, err)
	}
	if !r.Report.OK() {
		p.Release()
		return Apply(ctx, p.convolver, picture, p.filter)
	}
	return r, nil
}

func (p *Plan) throughTextures(ctx context.Context, picture image.Image) (Result, error) {
	out := image.NewNRGBA(image.Rectangle{Max: p.size})
	began := time.Now()
	if err := p.textures.fill(ctx, out, picture); err != nil {
		return Result{}, err
	}
	p.Last = time.Since(began)
	return Result{Picture: out, Report: p.textures.verify(out, picture)}, nil
}

// checkFilter returns an error for a filter or a size that cannot be.
func checkFilter(f Filter, size image.Point) error {
	if f.Side < 1 || f.Side%2 == 0 || len(f.Weights) != f.Side*f.Side {
		return fmt.Errorf("%d weights do not make a square with odd sides", len(f.Weights))
	}
	return checkSize(size.X, size.Y)
}

// convolution returns the convolution of a strip, and its input: with half a filter more pixels
// on all sides.
func (s strip) convolution(f Filter) (conv2d.Problem, []float32) {
	margin := f.Side / 2
	return conv2d.Problem{
		N: 3, C: 1, K: 1, R: f.Side, S: f.Side,
		H: s.rows + 2*margin,
		W: s.picture.Bounds().Dx() + 2*margin,
	}, s.planes(margin)
}
