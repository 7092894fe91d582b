//go:build linux

package conv2d

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/shadercache/shadercache/internal/rwlock"
	"github.com/shadercache/shadercache/job"
)

// several is a job.Device of several devices, such as a devices.Group.
type several interface {
	Members(ctx context.Context) ([]job.Device, error)
	PollWhile(wait func()) // calls wait, and does what that needs of this thread
}

// split is a job.Buffer whose parts are on several devices.
type split interface {
	Len() int
	OnMember(i int) job.Buffer
	Bytes(i int) (first, end int, together bool) // of part i, in the whole
}

// splitPlan is a plan whose images, rows or matrices are split over devices: each has a
// plan for its share, with all the weights.
type splitPlan struct {
	group  several
	parts  []job.Plan
	shares []job.Share // of the rows
	rows   int

	input, output int // elements of a row

	mu    *rwlock.RWMutex // held while weights change, and by readers until all parts have a run
	mixed bool            // parts have different weights, since some of them could not be set
}

// batchOf returns what a problem is split by: the images of a convolution, and of a matrix
// product the matrices of a batch, else the rows of A and C.
func (s Shape) batchOf() int {
	switch {
	case s.Conv2D != nil:
		return s.Conv2D.N
	case orOne(s.GEMM.Batch) > 1:
		return s.GEMM.Batch
	}
	return s.GEMM.M
}

// withBatch returns the problem for n of them. It returns an error where their elements do
// not lie together.
func (s Shape) withBatch(n int) (Shape, error) {
	if s.Conv2D != nil {
		p := *s.Conv2D
		p.N = n
		return p.Shape(), nil
	}
	p := *s.GEMM
	if p.Batch > 1 {
		if p.StrideB != 0 || !p.a().whole() || !p.c().whole() {
			return s, fmt.Errorf("%w: %v cannot be split over devices: every matrix of the batch must have the same B, and A and C no gaps", job.ErrInvalid, s)
		}
		if p.Batch = n; n == 1 {
			p.StrideA, p.StrideC = 0, 0
		}
		return p.Shape(), nil
	}
	if p.TransA || p.LDA != 0 && p.LDA != p.K || p.LDC != 0 && p.LDC != p.N || p.Bias == RowBias {
		return s, fmt.Errorf("%w: %v cannot be split over devices: A must not be transposed, A and C need rows without gaps, and no bias of rows", job.ErrInvalid, s)
	}
	p.M = n
	return p.Shape(), nil
}

// whole reports whether a batch has no gaps, neither between rows nor between matrices: then
// each matrix has its share of the elements of all.
func (s stored) whole() bool { return s.ld == s.columns && s.stride == s.rows*s.columns }

// openSplitPlan opens a plan on each member, for its share of the batch.
func openSplitPlan(ctx context.Context, group several, o DevicePlanOptions, layers []Shape) (job.Plan, error) {
	members, err := group.Members(ctx)
	if err != nil {
		return nil, err
	}
	if len(layers) == 0 {
		return nil, fmt.Errorf("%w: a plan without layers", job.ErrInvalid)
	}
	p := &splitPlan{group: group, rows: layers[0].batchOf(), mu: rwlock.New(group.PollWhile)}
	p.shares = job.Shares(p.rows, len(members))
	p.parts = make([]job.Plan, len(p.shares))
	var opening errgroup.Group
	for i, rows := range p.shares {
		share := make([]Shape, len(layers))
		for k, layer := range layers {
			if layer.batchOf() != p.rows {
				return nil, fmt.Errorf("%w: layers for %d and for %d images or rows cannot be split over devices", job.ErrInvalid, p.rows, layer.batchOf())
			}
			if share[k], err = layer.withBatch(rows.Len); err != nil {
				return nil, err
			}
		}
		opening.Go(func() error {
			part, err := OpenPlan(ctx, members[i], o, share...)
			p.parts[i] = part
			return err
		})
	}
	if group.PollWhile(func() { err = opening.Wait() }); err != nil {
		p.Release()
		return nil, err
	}
	n := p.shares[0].Len
	first := p.parts[0].Info()
	p.input, p.output, p.mixed = first.Input/n, first.Output/n, p.isMixed()
	return p, nil
}

// each calls fn for all parts, side by side, with their input and output.
func (p *splitPlan) each(fn func(i int, part job.Plan) error) (err error) {
	var group errgroup.Group
	for i, part := range p.parts {
		group.Go(func() error { return fn(i, part) })
	}
	p.group.PollWhile(func() { err = group.Wait() })
	return err
}

// Info returns the version where all parts have the same, else 0. The choices are those of the
// first part, with the largest tolerance of all: shares of other sizes may have others.
func (p *splitPlan) Info() job.PlanInfo {
	info := p.parts[0].Info()
	info.Input, info.Output = p.rows*p.input, p.rows*p.output
	info.Layers, info.Programs = slices.Clone(info.Layers), slices.Clone(info.Programs) // the part's own
	for _, part := range p.parts[1:] {
		other := part.Info()
		if other.Version != info.Version {
			info.Version = 0
		}
		for i, layer := range other.Layers {
			info.Layers[i].Tolerance = max(info.Layers[i].Tolerance, layer.Tolerance)
		}
		info.Programs = append(info.Programs, other.Programs...)
	}
	return info
}

// isMixed reports whether a part has other weights than the first one, if that has any.
func (p *splitPlan) isMixed() bool { return p.Info().Version != p.parts[0].Info().Version }

// SetWeights sets the weights of all parts. After an error some may have those of before: no
// run starts then until they are set again.
func (p *splitPlan) SetWeights(ctx context.Context, version uint64, weights, bias []float32) (bool, error) {
	if err := p.mu.Lock(ctx); err != nil {
		return false, err
	}
	defer p.mu.Unlock()
	uploaded := make([]bool, len(p.parts))
	err := p.each(func(i int, part job.Plan) (err error) {
		uploaded[i], err = part.SetWeights(ctx, version, weights, bias)
		return err
	})
	p.mixed = p.isMixed() || err != nil && (p.mixed || !errors.Is(err, job.ErrInvalid)) // a part may have them nevertheless
	return slices.Contains(uploaded, true), err
}

func (p *splitPlan) Submit(ctx context.Context, input, output []float32) (job.Pending, error) {
	if err := checkAll(length{"input", len(input), p.rows * p.input}, length{"output", len(output), p.rows * p.output}); err != nil {
		return nil, fmt.Errorf("%w: %w", job.ErrInvalid, err)
	}
	return p.submit(ctx, func(i int, part job.Plan) (job.Pending, error) {
		first, end := p.shares[i].First, p.shares[i].End()
		return part.Submit(ctx, input[first*p.input:end*p.input], output[first*p.output:end*p.output])
	})
}

func (p *splitPlan) SubmitBuffers(ctx context.Context, input, output job.Buffer) (job.Pending, error) {
	from, isFrom := input.(split)
	to, isTo := output.(split)
	if !isFrom || !isTo || !p.splits(from, p.input) || !p.splits(to, p.output) {
		return nil, fmt.Errorf("%w: a plan over several devices needs buffers that are split as its images, rows or matrices are: along the first dimension", job.ErrInvalid)
	}
	return p.submit(ctx, func(i int, part job.Plan) (job.Pending, error) {
		return part.SubmitBuffers(ctx, from.OnMember(i), to.OnMember(i))
	})
}

// splits reports whether each part of a buffer has its share of the rows, of so many elements.
func (p *splitPlan) splits(b split, elements int) bool {
	fits := b.Len() == len(p.shares)
	for i := 0; fits && i < len(p.shares); i++ {
		first, end, together := b.Bytes(i)
		fits = together && first == p.shares[i].First*elements*4 && end >= p.shares[i].End()*elements*4
	}
	return fits
}

// submit starts all parts side by side: inputs are copied meanwhile.
func (p *splitPlan) submit(ctx context.Context, start func(i int, part job.Plan) (job.Pending, error)) (job.Pending, error) {
	if err := p.mu.RLock(ctx); err != nil {
		return nil, err
	}
	defer p.mu.RUnlock()
	if p.mixed {
		return nil, fmt.Errorf("conv2d: the devices have different weights: %w", ErrNoWeights)
	}
	all := &splitPending{group: p.group, parts: make([]job.Pending, len(p.parts))}
	err := p.each(func(i int, part job.Plan) error {
		pending, err := start(i, part)
		if err == nil {
			all.parts[i] = pending
		}
		return err
	})
	if err != nil {
		all.Release()
		return nil, err
	}
	return all, nil
}

func (p *splitPlan) Run(ctx context.Context, input, output []float32) error {
	pending, err := p.Submit(ctx, input, output)
	return job.Wait(ctx, pending, err)
}

func (p *splitPlan) Release() { release(p.parts...) }

// splitPending is a run of all parts.
type splitPending struct {
	group several
	parts []job.Pending
}

// Wait waits for all parts, side by side: their outputs are copied meanwhile.
func (p *splitPending) Wait(ctx context.Context) error {
	errs := make([]error, len(p.parts))
	var all sync.WaitGroup
	for i, part := range p.parts {
		all.Go(func() { errs[i] = part.Wait(ctx) })
	}
	p.group.PollWhile(all.Wait)
	return errors.Join(errs...)
}

func (p *splitPending) Release() { release(p.parts...) }
