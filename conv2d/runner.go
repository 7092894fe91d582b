//go:build linux

package conv2d

import (
	"context"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/shader"
)

// Runner computes problems one call at a time, from slices to a slice. Each call
// makes a [Plan], runs it once and releases it; only its programs stay, in the cache.
// A problem that is computed many times should have a Plan of its own.
//
// Its methods may be called from any goroutine, but not from a callback of
// glctx.Context.Do or Post.
type Runner struct {
	Executor *executor.Executor
	Programs executor.Programs // must be a cache over the executor's context
	Options  PlanOptions       // of every plan

	// Observe is called on the calling goroutine after each call that succeeded.
	// Default: no calls.
	Observe func(Timing)
}

// Conv2D computes a convolution. bias is nil where the problem has none. It fails for
// an invalid problem, slices of other lengths than the problem's, a problem too large
// for the device, and with the errors of the cache and the driver.
func (r *Runner) Conv2D(ctx context.Context, p Problem, input, weights, bias []float32) ([]float32, error) {
	return r.run(ctx, p.Shape(), kernel.Tensors{Input: input, Weights: weights, Bias: bias})
}

// GEMM computes a matrix product and returns the new C; t.C stays as it is. It fails
// as Conv2D does.
func (r *Runner) GEMM(ctx context.Context, p GEMMProblem, t GEMMTensors) ([]float32, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := p.checkTensors(t.tensors()); err != nil {
		return nil, err
	}
	return r.run(ctx, p.Shape(), t.tensors())
}

// RejectWrong is for a caller that found the result of a convolution wrong. It has the
// cache reject the binaries that its programs were loaded from, and reports whether there
// were any: then another call of Conv2D computes with programs that are compiled.
func (r *Runner) RejectWrong(ctx context.Context, p Problem, reason string) (bool, error) {
	programs, ok := r.Programs.(interface {
		RejectWrong(key shader.Key, reason string) bool
	})
	if !ok {
		return false, nil
	}
	plan, err := newPart(ctx, r.Executor, r.Programs, Layer{Shape: p.Shape()}, r.Options)
	if err != nil {
		return false, err
	}
	defer plan.release()
	rejected := false
	for _, used := range plan.origins {
		rejected = programs.RejectWrong(used.Key, reason) || rejected
	}
	return rejected, nil
}

// run is one call.
func (r *Runner) run(ctx context.Context, s Shape, in kernel.Tensors) ([]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("conv2d: %v: %w", s, err)
	}
	start := time.Now()
	p, err := NewPlan(ctx, r.Executor, r.Programs, []Layer{{Shape: s}}, r.Options)
	if err != nil {
		return nil, err
	}
	defer p.Release()
	only := p.first()
	t := Timing{Shape: only.shape, Choice: only.choice, Programs: only.origins, Plan: time.Since(start)}
	err = checkAll(length{"input", len(in.Input), only.input}, length{"weights", len(in.Weights), only.weights}, length{"bias", len(in.Bias), only.bias})
	if err != nil {
		return nil, err
	}
	start = time.Now()
	if _, err := p.SetWeights(ctx, 1, in.Weights, in.Bias); err != nil {
		return nil, err
	}
	t.Upload = time.Since(start)
	output := make([]float32, only.output)
	copy(output, in.Output)
	if err := p.runTimed(ctx, in.Input, output, &t); err != nil {
		return nil, err
	}
	if r.Observe != nil {
		r.Observe(t)
	}
	return output, nil
}
