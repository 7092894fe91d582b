//go:build linux

package client

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/shadercache/shadercache/server/wire"
)

// Plan is a convolution, a matrix product or a network of them, with programs and weights
// that stay on the GPU. All elements are float32, little endian.
type Plan struct {
	c        *Client
	id       uint32
	reply    wire.PlanReply
	released atomic.Bool
}

// NewPlan makes a plan of layers, each a shape as docs/protocol.md describes: such as
// "conv2d:1x3x224x224-64,7x7,s2,p3" or "gemm:512x512x512". It ends with the session, or
// with Release.
func (c *Client) NewPlan(ctx context.Context, layers ...string) (*Plan, error) {
	return c.plan(ctx, &wire.Plan{Flags: wire.Create, Spec: []byte(strings.Join(layers, "\n"))})
}

// NewExactPlan is NewPlan without algorithms that err by more than a sum of products does.
func (c *Client) NewExactPlan(ctx context.Context, layers ...string) (*Plan, error) {
	return c.plan(ctx, &wire.Plan{Flags: wire.Create | wire.Exact, Spec: []byte(strings.Join(layers, "\n"))})
}

// NamedPlan opens the named plan, and makes it of layers where there is none. It outlives
// the client, with its weights. ErrExists is returned where it has other layers.
func (c *Client) NamedPlan(ctx context.Context, name string, layers ...string) (*Plan, error) {
	return c.plan(ctx, &wire.Plan{Flags: wire.Create, Name: []byte(name), Spec: []byte(strings.Join(layers, "\n"))})
}

// OpenPlan opens a named plan that exists. It returns ErrNotFound, wrapped, where there is
// none.
func (c *Client) OpenPlan(ctx context.Context, name string) (*Plan, error) {
	return c.plan(ctx, &wire.Plan{Name: []byte(name)})
}

func (c *Client) plan(ctx context.Context, m *wire.Plan) (*Plan, error) {
	p := &Plan{c: c, id: c.newID(wire.KindPlan)}
	m.ID = p.id
	if err := c.do(ctx, wire.TypePlan, m, &p.reply); err != nil {
		if ctx.Err() != nil {
			c.drop(wire.KindPlan, p.id) // it may have been made meanwhile
		}
		return nil, err
	}
	return p, nil
}

// DeletePlan removes the name of a plan. Sessions that use the plan keep it.
func (c *Client) DeletePlan(ctx context.Context, name string) error {
	return c.do(ctx, wire.TypeDelete, &wire.Delete{Kind: wire.KindPlan, Name: []byte(name)}, &wire.Empty{})
}

// InputLen returns the number of elements of an input.
func (p *Plan) InputLen() int { return int(p.reply.Input) }

// OutputLen returns the number of elements of an output.
func (p *Plan) OutputLen() int { return int(p.reply.Output) }

// WeightsLen returns the number of weights of all layers.
func (p *Plan) WeightsLen() int { return int(p.reply.Weights) }

// BiasLen returns the number of elements of the bias of all layers, 0 where there is none.
func (p *Plan) BiasLen() int { return int(p.reply.Bias) }

// Version returns the version of the weights that the plan had when it was opened, 0 for
// none.
func (p *Plan) Version() uint64 { return p.reply.Version }

// Layer is what the server chose for one layer of a plan.
type Layer struct {
	Algorithm string
	Basis     string  // of the choice: tuned, table or ranking
	Tolerance float64 // the error that an output may have, as a part of the sum of the magnitudes of its products
}

// Layers returns what the server chose for each layer.
func (p *Plan) Layers() ([]Layer, error) {
	var layers []Layer
	for line := range strings.Lines(string(p.reply.Layers)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(parts) != 3 {
			return nil, fmt.Errorf("%w: a layer %q", ErrMalformed, line)
		}
		tolerance, err := strconv.ParseFloat(parts[2], 64)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		layers = append(layers, Layer{parts[0], parts[1], tolerance})
	}
	return layers, nil
}

// Programs returns the name and the origin of each program, as Program.Origin has it,
// when the plan was opened.
func (p *Plan) Programs() (names, origins []string) {
	for line := range strings.Lines(string(p.reply.Programs)) {
		name, origin, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		names, origins = append(names, name), append(origins, origin)
	}
	return names, origins
}

// Created reports whether the call that returned the plan made it.
func (p *Plan) Created() bool { return p.reply.Created }

// Release ends the use of the plan. It may be called again.
func (p *Plan) Release() {
	if !p.released.Swap(true) {
		p.c.drop(wire.KindPlan, p.id)
	}
}

// SetWeights puts the weights and the bias of all layers, one after the other, on the GPU
// under a version, which is not 0. With the version that is there nothing is sent, and
// uploaded is false.
func (p *Plan) SetWeights(ctx context.Context, version uint64, weights, bias []byte) (uploaded bool, err error) {
	if p.released.Load() {
		return false, ErrReleased
	}
	if version == p.reply.Version && version != 0 {
		return false, nil
	}
	if len(weights) != 4*p.WeightsLen() || len(bias) != 4*p.BiasLen() {
		return false, fmt.Errorf("%w: %d bytes of weights and %d of bias, the plan takes %d and %d",
			ErrInvalid, len(weights), len(bias), 4*p.WeightsLen(), 4*p.BiasLen())
	}
	staging := &Pending{c: p.c}
	m := wire.Weights{Plan: p.id, Version: version, Deadline: deadlineOf(ctx)}
	if m.Weights, err = staging.input(ctx, weights, nil, 0, 0); err == nil && len(bias) > 0 {
		m.Bias, err = staging.input(ctx, bias, nil, 0, 0)
	}
	if err == nil {
		err = p.c.take(ctx)
	}
	if err != nil {
		staging.unstage(true)
		return false, err
	}
	defer p.c.put()
	var reply wire.WeightsReply
	err = p.c.do(ctx, wire.TypeWeights, &m, &reply)
	staging.unstage(err == nil)
	if err == nil {
		p.reply.Version = version
	}
	return reply.Uploaded, err
}

// Run computes the plan once, from input to output, and waits for it.
func (p *Plan) Run(ctx context.Context, input, output []byte) error {
	pending, err := p.Submit(ctx, Input{Data: input}, Output{To: output})
	if err != nil {
		return err
	}
	defer pending.Release()
	return pending.Wait(ctx)
}

// Submit is Run that does not wait. Bindings of in and out are ignored.
func (p *Plan) Submit(ctx context.Context, in Input, out Output) (*Pending, error) {
	if p.released.Load() {
		return nil, ErrReleased
	}
	pending := &Pending{c: p.c, sent: wire.TypeRun}
	m := wire.Run{Plan: p.id, Deadline: deadlineOf(ctx)}
	var err error
	if m.Input, err = pending.input(ctx, in.Data, in.Memory, in.Offset, in.Size); err == nil {
		m.Output, err = pending.output(ctx, out.To, out.Memory, out.Offset, out.Size)
	}
	if err != nil {
		pending.unstage(true)
		return nil, err
	}
	if err := pending.submit(ctx, &m); err != nil {
		return nil, err
	}
	return pending, nil
}
