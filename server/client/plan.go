//go:build linux

package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/shadercache/shadercache/internal/raw"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// Plan is a plan of a server: a job.Plan.
type Plan struct {
	object
	created bool
	info    job.PlanInfo
	version atomic.Uint64 // that was seen last: another client may have set another one since
}

// OpenPlan makes or opens a plan: see job.Planner. One without a name ends with the session.
func (c *Client) OpenPlan(ctx context.Context, name string, exact bool, layers ...string) (job.Plan, error) {
	m := wire.Plan{Name: []byte(name), Spec: []byte(strings.Join(layers, "\n"))}
	if len(layers) > 0 || name == "" {
		m.Flags = wire.Create
	}
	if exact {
		m.Flags |= wire.Exact
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	p := &Plan{object: c.newObject(wire.KindPlan)}
	m.ID = p.id
	var reply wire.PlanReply
	err := p.make(ctx, wire.TypePlan, &m, &reply)
	if err != nil {
		return nil, err
	}
	p.created = reply.Created
	if p.info, err = infoOf(&reply); err != nil {
		p.Release()
		return nil, err
	}
	p.version.Store(p.info.Version)
	return p, nil
}

// DeletePlan removes the name of a plan. Sessions that use the plan keep it.
func (c *Client) DeletePlan(ctx context.Context, name string) error {
	return c.deleteName(ctx, &wire.Delete{Kind: wire.KindPlan, Name: []byte(name)})
}

// Info returns what the plan is. Version is the one that it had when it was opened, or that this
// client has set since.
func (p *Plan) Info() job.PlanInfo {
	info := p.info
	info.Version = p.version.Load()
	return info
}

// infoOf returns what a reply says of a plan.
func infoOf(r *wire.PlanReply) (job.PlanInfo, error) {
	info := job.PlanInfo{Input: int(r.Input), Output: int(r.Output), Weights: int(r.Weights), Bias: int(r.Bias), Version: r.Version}
	for line := range strings.Lines(string(r.Layers)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(parts) != 3 {
			return info, fmt.Errorf("%w: a layer %q", ErrMalformed, line)
		}
		tolerance, err := strconv.ParseFloat(parts[2], 64)
		if err != nil {
			return info, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		info.Layers = append(info.Layers, job.LayerChoice{Algorithm: parts[0], Basis: parts[1], Tolerance: tolerance})
	}
	for line := range strings.Lines(string(r.Programs)) {
		name, origin, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		info.Programs = append(info.Programs, job.ProgramUse{Name: name, Origin: job.ParseOrigin(origin)})
	}
	return info, nil
}

// Created reports whether the call that returned the plan made it.
func (p *Plan) Created() bool { return p.created }

// SetWeights puts the weights and the bias of all layers, one after the other, on the GPU
// under a version, which is not 0. With the version that is there nothing is sent, and
// uploaded is false.
func (p *Plan) SetWeights(ctx context.Context, version uint64, weights, bias []float32) (uploaded bool, err error) {
	if p.released.Load() {
		return false, job.ErrReleased
	}
	m := wire.Weights{Plan: p.id, Version: version, Deadline: deadlineOf(ctx)}
	var reply wire.WeightsReply
	if version == p.version.Load() { // without weights: they are refused where another version is there
		if err := p.c.do(ctx, wire.TypeWeights, &m, &reply); !errors.Is(err, job.ErrInvalid) {
			return false, err
		}
	}
	if len(weights) != p.info.Weights || len(bias) != p.info.Bias {
		return false, fmt.Errorf("%w: %d weights and a bias of %d, the plan takes %d and %d",
			job.ErrInvalid, len(weights), len(bias), p.info.Weights, p.info.Bias)
	}
	staging := &Pending{c: p.c}
	if m.Weights, err = staging.input(ctx, raw.Bytes(weights)); err == nil && len(bias) > 0 {
		m.Bias, err = staging.input(ctx, raw.Bytes(bias))
	}
	if err != nil {
		staging.unstage(true)
		return false, err
	}
	err = p.c.do(ctx, wire.TypeWeights, &m, &reply)
	staging.unstage(err == nil)
	if err == nil {
		p.version.Store(version)
	}
	return reply.Uploaded, err
}

// Run computes the plan once, from input to output, and waits for it.
func (p *Plan) Run(ctx context.Context, input, output []float32) error {
	pending, err := p.Submit(ctx, input, output)
	return job.Wait(ctx, pending, err)
}

// Submit is Run that does not wait. Bytes of a [Memory] are used there.
func (p *Plan) Submit(ctx context.Context, input, output []float32) (job.Pending, error) {
	if p.released.Load() {
		return nil, job.ErrReleased
	}
	pending := &Pending{c: p.c}
	m := wire.Run{Plan: p.id, Deadline: deadlineOf(ctx)}
	var err error
	if m.Input, err = pending.input(ctx, raw.Bytes(input)); err == nil {
		m.Output, err = pending.output(ctx, raw.Bytes(output), nil)
	}
	return pending.submit(ctx, wire.TypeRun, &m, err)
}

// SubmitBuffers is Submit from a buffer to another one: data stays on the GPU. A matrix
// product with a beta adds to what output has.
func (p *Plan) SubmitBuffers(ctx context.Context, input, output job.Buffer) (job.Pending, error) {
	from, isFrom := input.(*Buffer)
	to, isTo := output.(*Buffer)
	if !isFrom || !isTo || from.c != p.c || to.c != p.c {
		return nil, fmt.Errorf("%w: a buffer of another device", job.ErrInvalid)
	}
	if p.released.Load() || from.released.Load() || to.released.Load() {
		return nil, job.ErrReleased
	}
	if input.Size() < 4*p.info.Input || output.Size() < 4*p.info.Output {
		return nil, fmt.Errorf("%w: buffers of %d bytes in and %d out, the plan takes %d and makes %d",
			job.ErrInvalid, input.Size(), output.Size(), 4*p.info.Input, 4*p.info.Output)
	}
	m := wire.Run{Plan: p.id, Deadline: deadlineOf(ctx), Input: from.operand(0, 0), Output: to.operand(0, 0)}
	return (&Pending{c: p.c}).submit(ctx, wire.TypeRun, &m, nil)
}
