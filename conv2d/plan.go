//go:build linux

package conv2d

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// PlanOptions configure a plan. The zero value takes the choice that was tuned with
// this driver, else that of the shipped table, and never measures.
type PlanOptions struct {
	// Choice is the algorithm and its parameters. Default: the plan chooses.
	Choice *Choice

	// Exact leaves out the algorithms that may err by more than [Tolerance]: of those
	// that there are, Winograd F(4,3). Default: every algorithm, with the error that
	// Plan.Info has.
	Exact bool

	// NoCPU leaves out the algorithms that the CPU computes without a kernel where the
	// driver runs kernels on the CPU (docs/tuning.md). They do not exist elsewhere.
	// Default: the plan chooses.
	NoCPU bool

	// Tune searches where nothing was tuned for the problem with this driver: an
	// *Options of package conv2d/tune. It takes up to its Budget, blocks the GL thread
	// meanwhile, and keeps the result. Default: no search.
	Tune Tuner

	// Tunings keep the results of searches. Default: the programs given to NewPlan,
	// if they keep them, as *cache.Cache does.
	Tunings cache.Tunings
}

func (o PlanOptions) restriction() Restriction { return Restriction{Exact: o.Exact, NoCPU: o.NoCPU} }

// Plan computes a problem, or a chain of them, many times: its algorithms are chosen, its
// programs are resident, and its weights and what is between two layers stay on the device.
//
// A plan has device memory and programs, which Release releases. Its methods may be
// called from any goroutine, but not from a callback of glctx.Context.Do or Post. The
// executor and the programs must outlive it.
//
// In a matrix product, A is the input, B the weights, C the output.
type Plan struct {
	e       *executor.Executor
	layers  []Layer
	parts   []*part            // one for each layer
	between []*executor.Memory // the output of each part but the last

	setting glctx.Mutex // held by SetWeights, which waits for the GPU, and by Release

	// using is held for reading from where a job is made until the executor has it: its weights
	// are not released meanwhile.
	using sync.RWMutex
	mu    struct {
		glctx.Mutex
		version  uint64           // of the weights; 0: there are none
		weights  []Operands       // of version, for each part
		packed   *executor.Memory // for weights that come with each run; nil until then
		released bool
	}
}

// NewPlan makes a plan of layers, and puts their weights on the device where they have
// some. programs is a cache over the executor's context. It fails for an invalid problem,
// for one that the device cannot hold, for layers that do not fit together, and with the
// errors of the cache, the driver and a search.
func NewPlan(ctx context.Context, e *executor.Executor, programs executor.Programs, layers []Layer, o PlanOptions) (*Plan, error) {
	p := &Plan{e: e, layers: layers}
	p.setting.Context, p.mu.Context = e.Context(), e.Context()
	for i := range layers {
		if err := p.add(ctx, programs, i, o); err != nil {
			p.Release()
			return nil, layers[i].err(err)
		}
	}
	if len(layers) == 0 {
		return nil, errors.New("conv2d: a plan without layers")
	}
	if layers[0].Weights == nil {
		return p, nil
	}
	// A version that no caller counts to, so that none takes its own weights to be there.
	if _, err := p.setWeights(ctx, math.MaxUint64, func(i int) (weights, bias []float32) { return layers[i].Weights, layers[i].Bias }); err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

// add makes the part of layer i, and memory for the output of the one before.
func (p *Plan) add(ctx context.Context, programs executor.Programs, i int, o PlanOptions) error {
	added, err := newPart(ctx, p.e, programs, p.layers[i], o)
	if err != nil {
		return err
	}
	p.parts = append(p.parts, added)
	if added.keepsOutput && i < len(p.layers)-1 {
		return fmt.Errorf("%v changes an output that is there: only the last layer can", added.shape)
	}
	if i == 0 {
		return nil
	}
	if before := p.parts[i-1]; before.output != added.input {
		return fmt.Errorf("it takes %d elements, and %s makes %d", added.input, p.layers[i-1].name(), before.output)
	}
	m, err := added.newMemory(added.input)
	if err == nil {
		p.between = append(p.between, m)
	}
	return err
}

// layerBytes and stepBytes are what a layer and each of its dispatches take of the process, in Go and in
// the driver, beside tensors.
const layerBytes, stepBytes = 48 << 10, 12 << 10

// PlanBytes returns the memory that NewPlan would take for layers: on the device, with their weights
// in two layouts, and of the process.
func PlanBytes(ctx context.Context, e *executor.Executor, programs executor.Programs, layers []Layer, o PlanOptions) (total int64, err error) {
	for _, l := range layers {
		p, err := choosePart(ctx, e.Context(), programs, l, o)
		if err != nil {
			return 0, l.err(err)
		}
		total += 4 * int64(p.weights+p.bias+p.output+p.sequence.PackedLen+p.sequence.WorkspaceLen+p.sequence.SemaphoreCount)
		total += layerBytes + stepBytes*int64(p.stepCount())
	}
	return total, nil
}

// Release releases the programs and the memory of the plan. Jobs that were submitted
// keep the resources that they use; other jobs of the plan must not be submitted any
// more. It may be called twice; other methods return job.ErrReleased afterwards.
func (p *Plan) Release() {
	p.setting.Lock()
	defer p.setting.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.released {
		return
	}
	p.mu.released = true
	for _, part := range p.parts {
		part.release()
	}
	release(append(p.between, p.mu.packed)...)
	releaseWeights(p.mu.weights)
}

// release releases what there is: memory, plans or jobs. nil is none.
func release[T interface {
	comparable
	Release()
}](list ...T) {
	var none T
	for _, each := range list {
		if each != none {
			each.Release()
		}
	}
}

// Steps returns how many dispatches a run has at most: with those that prepare other weights.
func (p *Plan) Steps() (n int) {
	for _, part := range p.parts {
		n += part.stepCount()
	}
	return n
}

func (p *Plan) first() *part { return p.parts[0] }
func (p *Plan) last() *part  { return p.parts[len(p.parts)-1] }

// KeepsOutput reports whether the values of the output from before matter: the last layer
// is a matrix product with a beta, or with gaps in C. Then runs are made of Dispatches.
func (p *Plan) KeepsOutput() bool { return p.last().keepsOutput }

// Info returns what the plan is. Its programs are sorted by name in each layer.
func (p *Plan) Info() job.PlanInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	info := job.PlanInfo{Input: p.first().input, Output: p.last().output, Version: p.mu.version}
	for _, part := range p.parts {
		info.Weights += part.weights
		info.Bias += part.bias
		info.Layers = append(info.Layers, job.LayerChoice{Algorithm: part.choice.String(), Basis: string(part.basis), Tolerance: part.tolerance})
		for _, used := range part.origins {
			info.Programs = append(info.Programs, job.ProgramUse{Name: used.Name, Origin: used.Origin})
		}
	}
	return info
}

// Reference computes the plan on the CPU, as [ReferenceLayers] does with its tolerances.
func (p *Plan) Reference(input []float32) Expected {
	tolerances := make([]float64, len(p.parts))
	for i, part := range p.parts {
		tolerances[i] = part.tolerance
	}
	return ReferenceLayers(p.layers, tolerances, input)
}
