//go:build linux

package tune

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// candidatePrograms has the programs of candidates, in a scratch cache, until the
// search ends.
type candidatePrograms struct {
	scratch *cache.Cache
	handles []*cache.Handle
	byKey   map[shader.Key]uint32
	took    map[shader.Key]time.Duration // to compile, until the first dispatch can begin

	// guarded calls work under the crash guard: a name under which work crashed the
	// process before is refused with binary.ErrQuarantined.
	guarded func(name string, work func() error) error
}

// guardedPrograms is implemented by *cache.Cache: marks of what the driver was running
// outlive the process.
type guardedPrograms interface{ CrashGuard() *cache.CrashGuard }

var _ guardedPrograms = (*cache.Cache)(nil)

// newCandidatePrograms makes a scratch cache over a context, with the crash guard of
// programs where that has one. It evicts nothing, so that timed programs stay.
func newCandidatePrograms(c *glctx.Context, programs executor.Programs) (*candidatePrograms, error) {
	p := &candidatePrograms{
		byKey:   map[shader.Key]uint32{},
		took:    map[shader.Key]time.Duration{},
		guarded: func(_ string, work func() error) error { return work() },
	}
	options := cache.Options{MemoryOnly: true, MaxPrograms: math.MaxInt32, MaxBytes: math.MaxInt64, KeepEvictedBytes: -1}
	if guarded, ok := programs.(guardedPrograms); ok {
		options.CrashGuard = guarded.CrashGuard()
		p.guarded = options.CrashGuard.Run
	}
	var err error
	p.scratch, err = cache.New(c, options)
	return p, err
}

// compile makes the programs that are missing, side by side where the driver can, and
// returns the errors of those that cannot be made.
func (p *candidatePrograms) compile(ctx context.Context, sequences []kernel.Sequence) map[shader.Key]error {
	var all kernel.Sequence
	for _, s := range sequences {
		all.Steps = append(all.Steps, s.All()...)
	}
	missing := slices.DeleteFunc(all.Sources(), func(s *shader.Source) bool { return p.byKey[s.Key()] != 0 })
	failures := map[shader.Key]error{}
	// An error that ends the preload is the error of each source too.
	results, _ := p.scratch.Preload(ctx, missing, nil)
	for i, source := range missing {
		err := results[i].Err
		if err == nil {
			var handle *cache.Handle
			if handle, err = p.scratch.Get(ctx, source); err == nil {
				p.handles = append(p.handles, handle)
				p.byKey[source.Key()] = handle.Program()
				p.took[source.Key()] = time.Duration(results[i].CompileNanos + results[i].PrimeNanos)
				continue
			}
		}
		failures[source.Key()] = err
	}
	return failures
}

// compileTime returns how long the programs of a sequence took to compile. One that
// another candidate has too counts for both.
func (p *candidatePrograms) compileTime(s kernel.Sequence) (sum time.Duration) {
	for _, source := range s.Sources() {
		sum += p.took[source.Key()]
	}
	return sum
}

// slowest returns the longest time to compile a program, 0 before the first.
func (p *candidatePrograms) slowest() (most time.Duration) {
	for _, d := range p.took {
		most = max(most, d)
	}
	return most
}

// close releases the programs.
func (p *candidatePrograms) close() {
	for _, handle := range p.handles {
		handle.Release()
	}
	// It has no store that could fail, and no other handles.
	_ = p.scratch.Close()
}
