//go:build linux

package conv2d

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// PlanOptions configure a plan. The zero value takes the choice that was tuned with
// this driver, else that of the shipped table, and never measures.
type PlanOptions struct {
	// Choice is the algorithm and its parameters. Default: the plan chooses.
	Choice *Choice

	// Exact leaves out the algorithms that may err by more than [Tolerance]: of those
	// that there are, Winograd F(4,3). Default: every algorithm, with the error of
	// Plan.Tolerance.
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

// Plan computes one problem many times: its algorithm is chosen, its programs are
// resident, and its weights stay on the device.
//
// A plan has device memory and programs, which Release releases. Its methods may be
// called from any goroutine, but not from a callback of glctx.Context.Do or Post. The
// executor and the programs must outlive it.
//
// In a matrix product, A is the input, B the weights, C the output.
type Plan struct {
	task
	e          *executor.Executor
	choice     Choice
	basis      Basis
	tolerance  float64
	sequence   kernel.Sequence
	programs   map[shader.Key]*cache.Handle
	workspace  *executor.Memory // nil: none
	semaphores *executor.Memory // likewise; 0 between two dispatches
	origins    []ProgramOrigin

	setting glctx.Mutex // held by SetWeights, which waits for the GPU, and by Release
	mu      struct {
		glctx.Mutex
		weights  *residentWeights // nil until SetWeights
		packed   *executor.Memory // for weights that come with each run; nil until then
		stats    PlanStats
		released bool
	}
}

// PlanStats count the work of a plan.
type PlanStats struct {
	Uploads  uint64 `json:"uploads"`  // of weights
	Prepares uint64 `json:"prepares"` // of weights: dispatches that brought them into another form
}

// NewPlan makes a plan for a convolution. programs is a cache over the executor's
// context. It fails for an invalid problem, for one that the device cannot hold, and
// with the errors of the cache, the driver and a search.
func NewPlan(ctx context.Context, e *executor.Executor, programs executor.Programs, p Problem, o PlanOptions) (*Plan, error) {
	return newPlan(ctx, e, programs, p.Shape(), o)
}

// NewGEMMPlan makes a plan for a matrix product. Otherwise it is like [NewPlan].
func NewGEMMPlan(ctx context.Context, e *executor.Executor, programs executor.Programs, p GEMMProblem, o PlanOptions) (*Plan, error) {
	return newPlan(ctx, e, programs, p.Shape(), o)
}

func newPlan(ctx context.Context, e *executor.Executor, programs executor.Programs, s Shape, o PlanOptions) (*Plan, error) {
	p, err := choosePlan(ctx, e, programs, s, o)
	if err != nil {
		return nil, err
	}
	if err := p.acquire(ctx, programs); err != nil {
		p.Release()
		return nil, fmt.Errorf("conv2d: plan %v: %w", s, err)
	}
	return p, nil
}

// choosePlan returns a plan that has no programs and no memory yet.
func choosePlan(ctx context.Context, e *executor.Executor, programs executor.Programs, s Shape, o PlanOptions) (*Plan, error) {
	t, err := newTask(s, e.Context().Info())
	if err != nil {
		return nil, err
	}
	t = t.restrict(o.restriction())
	p := &Plan{task: t, e: e, programs: map[shader.Key]*cache.Handle{}}
	p.setting.Context, p.mu.Context = e.Context(), e.Context()
	if p.choice, p.basis, err = o.choose(ctx, e.Context(), programs, t); err != nil {
		return nil, err
	}
	p.sequence, p.tolerance, err = t.build(p.choice)
	return p, err
}

// acquire gets programs and memory.
func (p *Plan) acquire(ctx context.Context, programs executor.Programs) error {
	if err := p.getChecked(ctx, programs); err != nil {
		return err
	}
	var err error
	if n := p.sequence.WorkspaceLen; n > 0 {
		if p.workspace, err = p.newMemory(n); err != nil {
			return err
		}
	}
	if n := p.sequence.SemaphoreCount; n > 0 {
		p.semaphores, err = p.newMemory(n)
	}
	return err
}

// getPrograms gets a handle for each program.
func (p *Plan) getPrograms(ctx context.Context, programs executor.Programs) error {
	for _, source := range p.sequence.Sources() {
		if p.programs[source.Key()] != nil {
			continue
		}
		handle, err := programs.Get(ctx, source)
		if err != nil {
			return err
		}
		p.programs[source.Key()] = handle
		p.origins = append(p.origins, ProgramOrigin{handle.Name(), handle.Key(), handle.Origin()})
	}
	slices.SortFunc(p.origins, func(a, b ProgramOrigin) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), slices.Compare(a.Key[:], b.Key[:]))
	})
	return nil
}

// releasePrograms releases the handles.
func (p *Plan) releasePrograms() {
	for _, handle := range p.programs {
		handle.Release()
	}
	clear(p.programs)
	p.origins = nil
}

// newMemory makes memory for n elements, rounded up to whole vectors of 4.
func (p *Plan) newMemory(n int) (*executor.Memory, error) { return p.e.NewMemory(4 * roundUp(n, 4)) }

// Release releases the programs and the memory of the plan. Jobs that were submitted
// keep the resources that they use; other jobs of the plan must not be submitted any
// more. It may be called twice; other methods return ErrReleased afterwards.
func (p *Plan) Release() {
	p.setting.Lock()
	defer p.setting.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.released {
		return
	}
	p.mu.released = true
	for _, handle := range p.programs {
		handle.Release()
	}
	for _, m := range []*executor.Memory{p.workspace, p.semaphores, p.mu.packed} {
		if m != nil {
			m.Release()
		}
	}
	p.mu.weights.release()
}

// Shape returns the problem.
func (p *Plan) Shape() Shape { return p.shape }

// Choice returns the algorithm that the plan uses, with its parameters.
func (p *Plan) Choice() Choice { return p.choice }

// Basis returns the reason for the choice.
func (p *Plan) Basis() Basis { return p.basis }

// Tolerance returns the error that results may have, as [Compare] measures it.
func (p *Plan) Tolerance() float64 { return p.tolerance }

// Programs returns the origin of each program of the plan, sorted by name.
func (p *Plan) Programs() []ProgramOrigin { return slices.Clone(p.origins) }

// InputLen is the number of elements of an input: of A for a matrix product.
func (p *Plan) InputLen() int { return p.input }

// WeightsLen is the number of weights: of elements of B for a matrix product.
func (p *Plan) WeightsLen() int { return p.weights }

// BiasLen is the number of elements of the bias, 0 where the problem has none.
func (p *Plan) BiasLen() int { return p.bias }

// OutputLen is the number of elements of an output: of C for a matrix product.
func (p *Plan) OutputLen() int { return p.output }

// Stats returns the counters. It may be called at any time.
func (p *Plan) Stats() PlanStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.stats
}
