//go:build linux

package conv2d

import (
	"context"
	"errors"
	"testing"

	"github.com/shadercache/shadercache/internal/rwlock"
	"github.com/shadercache/shadercache/job"
)

// scaling is a plan that multiplies by its one weight.
type scaling struct {
	job.Plan
	version uint64
	weight  float32
	fails   error // of SetWeights
}

func (p *scaling) Info() job.PlanInfo {
	return job.PlanInfo{Input: 2, Output: 2, Weights: 1, Version: p.version}
}

func (p *scaling) SetWeights(_ context.Context, version uint64, weights, _ []float32) (bool, error) {
	if p.fails != nil || p.version == version {
		return false, p.fails
	}
	p.version, p.weight = version, weights[0]
	return true, nil
}

func (p *scaling) Submit(_ context.Context, in, out []float32) (job.Pending, error) {
	if p.version == 0 {
		return nil, ErrNoWeights
	}
	for i := range out {
		out[i] = in[i] * p.weight
	}
	return done{}, nil
}

type done struct{}

func (done) Wait(context.Context) error { return nil }
func (done) Release()                   {}

// scalings are devices of which no thread has to poll.
type scalings struct{ several }

func (scalings) PollWhile(wait func()) { wait() }

// After an error of SetWeights no run has rows of two versions.
func TestWeightsThatSomeDevicesLack(t *testing.T) {
	t.Parallel()
	ctx, first, second := t.Context(), &scaling{}, &scaling{}
	p := &splitPlan{group: scalings{}, mu: rwlock.New(scalings{}.PollWhile), parts: []job.Plan{first, second}, shares: job.Shares(4, 2), rows: 4, input: 1, output: 1}
	run := func() ([]float32, error) {
		out := make([]float32, 4)
		return out, p.Run(ctx, []float32{1, 1, 1, 1}, out)
	}
	noMemory := errors.New("no memory")
	check := func(when string, version uint64, fails, want error, value float32) {
		t.Helper()
		second.fails = fails
		if _, err := p.SetWeights(ctx, version, []float32{float32(version)}, nil); !errors.Is(err, fails) {
			t.Fatalf("%s: SetWeights: %v", when, err)
		}
		out, err := run()
		if !errors.Is(err, want) || err == nil && (out[0] != value || out[3] != value) {
			t.Errorf("%s: %v, %v", when, out, err)
		}
	}
	check("the first weights", 1, nil, nil, 1)
	check("an error of one device", 2, noMemory, ErrNoWeights, 0)
	check("the same again", 2, noMemory, ErrNoWeights, 0)
	check("set again", 2, nil, nil, 2)
	first.fails = noMemory
	check("an error of all devices", 3, noMemory, ErrNoWeights, 0)
	first.fails = job.ErrInvalid
	check("weights that are refused after it", 4, job.ErrInvalid, ErrNoWeights, 0)
	first.fails = nil
	check("set again", 3, nil, nil, 3)
	first.fails = job.ErrInvalid
	check("weights that are refused", 4, job.ErrInvalid, nil, 3)
}
