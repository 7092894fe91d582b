//go:build linux

package conv2d

import (
	"context"
	"fmt"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/executor"
)

// residentWeights are one version of a plan's weights on the device, in the layout of
// its algorithm.
type residentWeights struct {
	version uint64
	weights *executor.Memory // nil where only the packed form is used
	bias    *executor.Memory // nil: none
	packed  *executor.Memory // nil: used as they are
}

func (w *residentWeights) release() {
	if w == nil {
		return
	}
	for _, m := range []*executor.Memory{w.weights, w.bias, w.packed} {
		if m != nil {
			m.Release()
		}
	}
}

// SetWeights puts weights and bias on the device under a version. With the version
// that is there already nothing is read, uploaded or prepared, whatever the slices
// hold. bias is nil where the problem has none.
//
// Jobs that were submitted before keep the weights of then; jobs that were made
// before and not submitted must be made again. It waits until the device has the
// weights.
func (p *Plan) SetWeights(ctx context.Context, version uint64, weights, bias []float32) error {
	p.setting.Lock()
	defer p.setting.Unlock()
	if there, err := p.has(version); there || err != nil {
		return err
	}
	err := checkAll(length{"weights", len(weights), p.weights}, length{"bias", len(bias), p.bias})
	if err != nil {
		return err
	}
	w, err := p.uploadWeights(ctx, version, weights, bias)
	if err != nil {
		w.release()
		return fmt.Errorf("conv2d: set weights of %v: %w", p.shape, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.weights.release()
	p.mu.weights = w
	p.mu.stats.Uploads++
	if w.packed != nil {
		p.mu.stats.Prepares++
	}
	return nil
}

// uploadWeights makes the memory of a version. With an error it returns the part that
// has to be released.
func (p *Plan) uploadWeights(ctx context.Context, version uint64, weights, bias []float32) (w *residentWeights, err error) {
	w = &residentWeights{version: version}
	if w.weights, err = p.upload(weights); err != nil {
		return w, err
	}
	if bias != nil {
		if w.bias, err = p.upload(bias); err != nil {
			return w, err
		}
	}
	if len(p.sequence.Prepare) == 0 {
		return w, nil
	}
	if w.packed, err = p.newMemory(p.sequence.PackedLen); err != nil {
		return w, err
	}
	if err := p.run(ctx, p.dispatches(p.sequence.Prepare, Operands{Weights: w.weights, Bias: w.bias}, w.packed)); err != nil {
		return w, err
	}
	if !p.sequence.Uses(kernel.Weights) {
		w.weights.Release()
		w.weights = nil
	}
	return w, nil
}

// upload makes memory that holds values.
func (p *Plan) upload(values []float32) (*executor.Memory, error) {
	b, err := executor.BufferOf(p.e, values)
	if err != nil {
		return nil, err
	}
	return b.Memory, nil
}

// has reports whether the device has a version of the weights.
func (p *Plan) has(version uint64) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.released {
		return false, ErrReleased
	}
	return p.mu.weights != nil && p.mu.weights.version == version, nil
}

// Version returns the version of the weights that are on the device, and whether
// there are any.
func (p *Plan) Version() (version uint64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.weights == nil {
		return 0, false
	}
	return p.mu.weights.version, true
}
