//go:build linux

package conv2d

import (
	"context"
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/executor/local"
	"github.com/shadercache/shadercache/job"
)

// DevicePlanOptions configure [OpenPlan].
type DevicePlanOptions struct {
	// Name is the name of a plan that a server keeps, with its weights, when this process
	// has ended: the next one opens it. Plans of this process end with it, and their names
	// mean nothing. Default: a plan of this process alone.
	Name string

	// Exact is PlanOptions.Exact.
	Exact bool

	// Choice is the algorithm of every layer. Default: the plan chooses.
	Choice *Choice

	// Tune is PlanOptions.Tune. A server has no use for it: its plans take what was tuned in
	// its cache directory.
	Tune Tuner
}

// OpenPlan makes a plan of layers for a device, or opens the one of a name. It returns
// job.ErrInvalid for layers that do not fit together or the device, for a matrix
// product with a beta before the last layer, and job.ErrExists where the named
// plan has other layers.
//
// Over a devices.Group the images of a convolution, the matrices of a batch, or else the
// rows of a matrix product are split over its members, each with all the weights.
// SubmitBuffers takes buffers of Group.NewSplit then. What cannot be split so is
// job.ErrInvalid: open a plan over one member.
func OpenPlan(ctx context.Context, d job.Device, o DevicePlanOptions, layers ...Shape) (job.Plan, error) {
	for _, s := range layers {
		if err := s.Validate(); err != nil {
			return nil, fmt.Errorf("%w: %w", job.ErrInvalid, err)
		}
	}
	if group, ok := d.(several); ok {
		return openSplitPlan(ctx, group, o, layers)
	}
	list := make([]Layer, len(layers))
	for i, s := range layers {
		list[i] = Layer{Shape: s, Choice: o.Choice}
	}
	switch d := d.(type) {
	case job.Planner:
		specs := make([]string, len(list))
		for i := range list {
			specs[i] = list[i].Spec()
		}
		return d.OpenPlan(ctx, o.Name, o.Exact, specs...)
	case interface{ Own() *local.Device }:
		own := d.Own()
		n, err := NewPlan(ctx, own.Executor, own.Programs, list, PlanOptions{Exact: o.Exact, Tune: o.Tune})
		if err != nil {
			return nil, own.JobError(err)
		}
		return &ownPlan{n, own}, nil
	}
	return nil, errors.New("conv2d: a Device that Connect did not return")
}

// ownPlan is a plan of a GPU of this process.
type ownPlan struct {
	*Plan
	device *local.Device
}

// SetWeights replaces the method of the plan, for its errors.
func (p *ownPlan) SetWeights(ctx context.Context, version uint64, weights, bias []float32) (bool, error) {
	uploaded, err := p.Plan.SetWeights(ctx, version, weights, bias)
	return uploaded, p.device.JobError(err)
}

func (p *ownPlan) Submit(ctx context.Context, input, output []float32) (job.Pending, error) {
	p.using.RLock()
	defer p.using.RUnlock()
	j, err := p.Job(input, output)
	if err != nil {
		return nil, p.device.JobError(err)
	}
	return p.device.SubmitJob(ctx, j)
}

func (p *ownPlan) SubmitBuffers(ctx context.Context, input, output job.Buffer) (job.Pending, error) {
	in, err := local.BufferOf(input)
	if err != nil {
		return nil, err
	}
	out, err := local.BufferOf(output)
	if err != nil {
		return nil, err
	}
	p.using.RLock()
	defer p.using.RUnlock()
	dispatches, err := p.Dispatches(Operands{Input: in.Memory, Output: out.Memory})
	if err != nil {
		return nil, p.device.JobError(err)
	}
	return p.device.SubmitJob(ctx, JobOf(dispatches...), out)
}

// Run replaces the method of the plan: it computes one job.
func (p *ownPlan) Run(ctx context.Context, input, output []float32) error {
	pending, err := p.Submit(ctx, input, output)
	return job.Wait(ctx, pending, err)
}
