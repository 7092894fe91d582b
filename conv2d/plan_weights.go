//go:build linux

package conv2d

import (
	"context"
	"fmt"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
)

func releaseWeights(list []Operands) {
	for _, w := range list {
		release(w.Weights, w.Bias, w.packed)
	}
}

// SetWeights puts the weights and the bias of all layers, one after the other, on the device
// under a version, which is not 0, and reports whether it did. With the version that is there
// already nothing is read, uploaded or prepared, whatever the slices hold.
//
// Jobs that were submitted before keep the weights of then; jobs that were made
// before and not submitted must be made again, and none is submitted meanwhile. It waits until
// the device has the weights, beside those of before: after an error these are there still.
func (p *Plan) SetWeights(ctx context.Context, version uint64, weights, bias []float32) (uploaded bool, err error) {
	if version == 0 {
		return false, fmt.Errorf("%w: weights need a version that is not 0", job.ErrInvalid)
	}
	if there, err := p.has(version); there || err != nil {
		return false, err
	}
	info := p.Info()
	err = checkAll(length{"weights", len(weights), info.Weights}, length{"bias", len(bias), info.Bias})
	if err != nil {
		return false, err
	}
	return p.setWeights(ctx, version, func(i int) (w, b []float32) {
		w, weights = weights[:p.parts[i].weights], weights[p.parts[i].weights:]
		b, bias = bias[:p.parts[i].bias], bias[p.parts[i].bias:]
		return w, b
	})
}

// setWeights is SetWeights with the weights of each layer, for which it asks in order.
func (p *Plan) setWeights(ctx context.Context, version uint64, of func(i int) (weights, bias []float32)) (uploaded bool, err error) {
	p.setting.Lock()
	defer p.setting.Unlock()
	if there, err := p.has(version); there || err != nil {
		return false, err
	}
	fresh := make([]Operands, len(p.parts))
	for i, part := range p.parts {
		weights, bias := of(i)
		if fresh[i], err = part.uploadWeights(ctx, weights, bias); err != nil {
			releaseWeights(fresh)
			return false, p.layers[i].err(err)
		}
	}
	p.mu.Lock()
	before := p.mu.weights
	p.mu.version, p.mu.weights = version, fresh
	p.mu.Unlock()
	p.e.Context().PollWhile(p.using.Lock)
	defer p.using.Unlock()
	releaseWeights(before)
	return true, nil
}

// has reports whether the device has a version of the weights.
func (p *Plan) has(version uint64) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.released {
		return false, errReleased
	}
	return p.mu.version == version, nil
}

// uploadWeights makes the memory of weights: there are none but packed ones where only these are
// used. With an error it returns the part that has to be released.
func (p *part) uploadWeights(ctx context.Context, weights, bias []float32) (w Operands, err error) {
	err = checkAll(length{"weights", len(weights), p.weights}, length{"bias", len(bias), p.bias})
	if err != nil {
		return w, err
	}
	if w.Weights, err = p.upload(weights); err != nil {
		return w, err
	}
	if len(bias) > 0 {
		if w.Bias, err = p.upload(bias); err != nil {
			return w, err
		}
	}
	if len(p.sequence.Prepare) == 0 {
		return w, nil
	}
	if w.packed, err = p.newMemory(p.sequence.PackedLen); err != nil {
		return w, err
	}
	if err := run(ctx, p.e, p.dispatches(p.sequence.Prepare, w)); err != nil {
		return w, err
	}
	if !p.sequence.Uses(kernel.Weights) {
		w.Weights.Release()
		w.Weights = nil
	}
	return w, nil
}

// upload makes memory that holds values.
func (p *part) upload(values []float32) (*executor.Memory, error) {
	b, err := executor.BufferOf(p.e, values)
	if err != nil {
		return nil, err
	}
	return b.Memory, nil
}
