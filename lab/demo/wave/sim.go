//go:build linux

package wave

import (
	"context"
	"fmt"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// Sim is a simulation on the device: see the package documentation. Its methods may be
// called from any goroutine, also concurrently, but not from a callback of
// glctx.Context.Do or Post. They take effect between two steps. Close it before its
// executor.
type Sim struct {
	executor *executor.Executor
	options  Options
	programs simPrograms
	memory   memory
	uniforms []job.Uniform

	mu     glctx.Mutex // locked while a job is built and submitted, not while it runs
	closed bool
	now    int    // index of this step in the pairs of memory
	steps  uint32 // submitted

	messages uint32 // impulses submitted, which numbers them
}

// New makes a surface at rest. programs is a cache over the executor's context. It
// returns an error for options out of range, and the errors of cache and executor.
func New(ctx context.Context, e *executor.Executor, programs executor.Programs, o Options) (*Sim, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Sim{executor: e, options: o}
	s.mu.Context = e.Context()
	if s.programs, err = getPrograms(ctx, e.Context(), programs, o); err != nil {
		return nil, err
	}
	if s.memory, err = newMemory(e, o); err != nil {
		s.programs.release()
		return nil, fmt.Errorf("wave: %w", err)
	}
	s.uniforms = []job.Uniform{
		job.Int("width", int32(o.Width)), job.Int("height", int32(o.Height)),
		job.Int("tilesX", int32(o.TilesX)),
		job.Int("blockW", int32(o.blockW())), job.Int("blockH", int32(o.blockH())),
		job.Float("courant2", o.courant2()),
	}
	return s, nil
}

// Options returns the options of New, with the defaults set.
func (s *Sim) Options() Options { return s.options }

// stepsAtOnce is the number of steps in a job. An impulse waits at most for a job that
// runs and one that is queued.
const stepsAtOnce = 32

// Step does n steps. Calls of other goroutines take effect between its jobs. When ctx
// ends it returns ctx.Err(), and Steps returns the number of steps that were submitted.
func (s *Sim) Step(ctx context.Context, n int) error {
	var inFlight []*executor.Pending
	defer func() {
		for _, p := range inFlight {
			p.Release()
		}
	}()
	for n > 0 || len(inFlight) > 0 {
		if n > 0 && len(inFlight) < 2 {
			count := min(n, stepsAtOnce)
			p, err := s.submitSteps(ctx, count)
			if err != nil {
				return err
			}
			inFlight = append(inFlight, p)
			n -= count
			continue
		}
		if err := inFlight[0].Wait(ctx); err != nil {
			return fmt.Errorf("wave: step: %w", err)
		}
		inFlight = inFlight[1:]
	}
	return nil
}

func (s *Sim) submitSteps(ctx context.Context, n int) (*executor.Pending, error) {
	return s.submit(ctx, func() job.Job {
		all := make([]job.Dispatch, n)
		for i := range all {
			all[i] = s.stepDispatch()
		}
		return job.Job{Dispatch: all[0], Then: all[1:]}
	})
}

// stepDispatch returns the dispatch of one step, and advances now. mu must be locked.
func (s *Sim) stepDispatch() job.Dispatch {
	now, next := s.now, 1-s.now
	s.now = next
	s.steps++
	m := &s.memory
	return s.tileDispatch(job.Dispatch{
		Program: s.programs.step,
		Buffers: []job.Bound{
			m.fields[now].BindReadOnly(0), m.fields[next].Bind(1), m.faces[now].BindReadOnly(2), m.faces[next].Bind(3),
			m.damping.BindReadOnly(4), m.tiles.Bind(5),
		},
	})
}

func (s *Sim) tileDispatch(d job.Dispatch) job.Dispatch {
	d.Groups = [3]uint32{uint32(s.options.tiles()), 1, 1}
	d.Uniforms = append(s.uniforms[:len(s.uniforms):len(s.uniforms)], d.Uniforms...)
	return d
}

// submit submits a job that is built with mu locked. After an error no step was
// submitted.
func (s *Sim) submit(ctx context.Context, job func() job.Job) (*executor.Pending, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	now, steps := s.now, s.steps
	p, err := s.executor.Submit(ctx, job())
	if err != nil {
		s.now, s.steps = now, steps
		return nil, fmt.Errorf("wave: %w", err)
	}
	return p, nil
}

// Steps returns the number of steps that were submitted.
func (s *Sim) Steps() uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.steps
}

// Close waits for calls in progress, and releases the programs and buffers of the
// simulation. It is idempotent.
func (s *Sim) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.programs.release()
		s.memory.release()
	}
}
