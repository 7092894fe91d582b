//go:build linux

package conv2d

import (
	"context"
	"errors"
	"fmt"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/server/client"
)

// DevicePlan is a convolution, a matrix product or a chain of them on a
// [shadercache.Device], with weights that stay. [OpenPlan] makes one. Its methods may be
// called from any goroutine; errors are those of the device.
type DevicePlan interface {
	InputLen() int   // elements that the first layer takes
	OutputLen() int  // elements that the last layer makes
	WeightsLen() int // of all layers
	BiasLen() int    // of all layers

	// Version returns the version of the weights that the plan had when it was opened, 0
	// for none.
	Version() uint64

	// SetWeights puts the weights and the bias of all layers, one after the other, on the
	// GPU under a version, which is not 0. With the version that is there nothing is
	// uploaded, and it returns false.
	SetWeights(ctx context.Context, version uint64, weights, bias []float32) (uploaded bool, err error)

	// Run computes the plan once, and Submit does not wait for it.
	Run(ctx context.Context, input, output []float32) error
	Submit(ctx context.Context, input, output []float32) (shadercache.Pending, error)

	// SubmitBuffers is Submit from a buffer to another one: data stays on the GPU. A
	// matrix product with a beta adds to what output has; Run and Submit return
	// shadercache.ErrInvalid for it.
	SubmitBuffers(ctx context.Context, input, output shadercache.Buffer) (shadercache.Pending, error)

	// Layers returns what was chosen for each layer, and Programs the origin of each
	// program when the plan was opened.
	Layers() []LayerChoice
	Programs() []ProgramUse

	// Release ends the use of the plan. It may be called again.
	Release()
}

// LayerChoice is what was chosen for one layer.
type LayerChoice struct {
	Algorithm string
	Basis     string  // of the choice: tuned, table or ranking
	Tolerance float64 // the error that an output may have, as Compare measures it
}

// ProgramUse is a program of a plan.
type ProgramUse struct {
	Name   string
	Origin cache.Origin
}

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
}

// OpenPlan makes a plan of layers for a device, or opens the one of a name. It returns
// shadercache.ErrInvalid for layers that do not fit together or the device, for a matrix
// product with a beta before the last layer, and shadercache.ErrExists where the named
// plan has other layers.
//
// Over a devices.Group the images of a convolution, the matrices of a batch, or else the
// rows of a matrix product are split over its members, each with all the weights.
// SubmitBuffers takes buffers of Group.NewSplit then. What cannot be split so is
// shadercache.ErrInvalid: open a plan over one member.
func OpenPlan(ctx context.Context, d shadercache.Device, o DevicePlanOptions, layers ...Shape) (DevicePlan, error) {
	for _, s := range layers {
		if err := s.Validate(); err != nil {
			return nil, fmt.Errorf("%w: %w", shadercache.ErrInvalid, err)
		}
	}
	if group, ok := d.(several); ok {
		return openSplitPlan(ctx, group, o, layers)
	}
	list := make([]Layer, len(layers))
	for i, s := range layers {
		list[i] = Layer{Name: s.String(), Shape: s, Choice: o.Choice}
	}
	if server, ok := d.(served); ok {
		return openServedPlan(ctx, server, o, list)
	}
	gpu, err := d.Local()
	own, ok := d.(ownErrors)
	if err != nil || !ok {
		return nil, errors.Join(errors.New("conv2d: a Device that Connect did not return"), err)
	}
	n, err := NewNetwork(ctx, gpu.Executor, gpu.Cache, list, PlanOptions{Exact: o.Exact})
	if err != nil {
		return nil, own.Err(err)
	}
	return &ownPlan{n, gpu, own}, nil
}

// ownErrors is a shadercache.Device of this process.
type ownErrors interface {
	Err(err error) error // as an error of the device
}

// ownPlan is a plan of a GPU of this process.
type ownPlan struct {
	*Network
	gpu    *shadercache.GPU
	device ownErrors
}

// err returns an error of the plan as one of the device.
func (p *ownPlan) err(err error) error {
	if errors.Is(err, ErrReleased) {
		return fmt.Errorf("%w: %w", shadercache.ErrReleased, err)
	}
	return p.device.Err(err)
}

func (p *ownPlan) Version() uint64 { return 0 }

// SetWeights replaces the method of the network, for its errors.
func (p *ownPlan) SetWeights(ctx context.Context, version uint64, weights, bias []float32) (bool, error) {
	if version == 0 {
		return false, fmt.Errorf("%w: weights need a version that is not 0", shadercache.ErrInvalid)
	}
	uploaded, err := p.Network.SetWeights(ctx, version, weights, bias)
	return uploaded, p.err(err)
}

func (p *ownPlan) Submit(ctx context.Context, input, output []float32) (shadercache.Pending, error) {
	job, err := p.Job(input, output)
	if err != nil {
		return nil, p.err(err)
	}
	return p.gpu.SubmitJob(ctx, job)
}

// ownMemory is a shadercache.Buffer of this process.
type ownMemory interface {
	Use(writes bool) (*executor.Memory, error)
}

func (p *ownPlan) SubmitBuffers(ctx context.Context, input, output shadercache.Buffer) (shadercache.Pending, error) {
	from, isFrom := input.(ownMemory)
	to, isTo := output.(ownMemory)
	if !isFrom || !isTo {
		return nil, errOtherDevice
	}
	in, err := from.Use(false)
	if err != nil {
		return nil, err
	}
	out, err := to.Use(true)
	if err != nil {
		return nil, err
	}
	dispatches, err := p.Dispatches(in, out)
	if err != nil {
		return nil, p.err(err)
	}
	return p.gpu.SubmitJob(ctx, JobOf(dispatches...))
}

// errOtherDevice is returned for a buffer of another kind of device. One of another device
// of the same kind is refused by the executor or the client.
var errOtherDevice = fmt.Errorf("%w: a buffer of another device", shadercache.ErrInvalid)

// Run replaces the method of the network: it computes one job.
func (p *ownPlan) Run(ctx context.Context, input, output []float32) error {
	return waitFor(ctx)(p.Submit(ctx, input, output))
}

// waitFor returns a function that waits for what Submit returned.
func waitFor(ctx context.Context) func(shadercache.Pending, error) error {
	return func(pending shadercache.Pending, err error) error {
		if err != nil {
			return err
		}
		defer pending.Release()
		return pending.Wait(ctx)
	}
}

func (p *ownPlan) Layers() []LayerChoice {
	var list []LayerChoice
	for _, each := range p.Plans() {
		list = append(list, LayerChoice{each.Choice().String(), string(each.Basis()), each.Tolerance()})
	}
	return list
}

func (p *ownPlan) Programs() []ProgramUse {
	var list []ProgramUse
	for _, each := range p.Plans() {
		for _, used := range each.Programs() {
			list = append(list, ProgramUse{used.Name, used.Origin})
		}
	}
	return list
}

// served is a shadercache.Device of a server.
type served interface {
	Server() *client.Client
	Err(err error) error // as an error of the device
}

// servedPlan is a plan of a server.
type servedPlan struct {
	*client.Plan
	device served
	layers []client.Layer
}

func openServedPlan(ctx context.Context, d served, o DevicePlanOptions, layers []Layer) (DevicePlan, error) {
	lines := make([]string, len(layers))
	for i, l := range layers {
		lines[i] = l.Spec()
	}
	c := d.Server()
	var p *client.Plan
	var err error
	switch {
	case o.Name != "" && o.Exact:
		p, err = c.NamedExactPlan(ctx, o.Name, lines...)
	case o.Name != "":
		p, err = c.NamedPlan(ctx, o.Name, lines...)
	case o.Exact:
		p, err = c.NewExactPlan(ctx, lines...)
	default:
		p, err = c.NewPlan(ctx, lines...)
	}
	if err != nil {
		return nil, d.Err(err)
	}
	list, err := p.Layers()
	if err != nil {
		p.Release()
		return nil, d.Err(err)
	}
	return &servedPlan{p, d, list}, nil
}

func (p *servedPlan) SetWeights(ctx context.Context, version uint64, weights, bias []float32) (bool, error) {
	uploaded, err := p.Plan.SetWeights(ctx, version, glctx.Bytes(weights), glctx.Bytes(bias))
	return uploaded, p.device.Err(err)
}

func (p *servedPlan) Submit(ctx context.Context, input, output []float32) (shadercache.Pending, error) {
	pending, err := p.Plan.Submit(ctx, client.Input{Data: glctx.Bytes(input)}, client.Output{To: glctx.Bytes(output)})
	if err != nil {
		return nil, p.device.Err(err)
	}
	return &servedRun{pending, p.device}, nil
}

// servedMemory is a shadercache.Buffer of a server.
type servedMemory interface{ Served() *client.Buffer }

func (p *servedPlan) SubmitBuffers(ctx context.Context, input, output shadercache.Buffer) (shadercache.Pending, error) {
	from, isFrom := input.(servedMemory)
	to, isTo := output.(servedMemory)
	if !isFrom || !isTo {
		return nil, errOtherDevice
	}
	pending, err := p.Plan.SubmitBuffers(ctx, from.Served(), to.Served())
	if err != nil {
		return nil, p.device.Err(err)
	}
	return &servedRun{pending, p.device}, nil
}

func (p *servedPlan) Run(ctx context.Context, input, output []float32) error {
	return waitFor(ctx)(p.Submit(ctx, input, output))
}

func (p *servedPlan) Layers() []LayerChoice {
	var list []LayerChoice
	for _, each := range p.layers {
		list = append(list, LayerChoice(each))
	}
	return list
}

func (p *servedPlan) Programs() []ProgramUse {
	names, origins := p.Plan.Programs()
	var list []ProgramUse
	for i, name := range names {
		list = append(list, ProgramUse{name, cache.ParseOrigin(origins[i])})
	}
	return list
}

// servedRun is a run of a plan of a server.
type servedRun struct {
	*client.Pending
	device served
}

// Wait replaces the method of the client's pending, for its errors.
func (r *servedRun) Wait(ctx context.Context) error { return r.device.Err(r.Pending.Wait(ctx)) }
