//go:build linux

package tune

import (
	"context"
	"math"

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
	missing := p.missing(sequences)
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
				continue
			}
		}
		failures[source.Key()] = err
	}
	return failures
}

// missing returns the sources of steps that have no program yet, each once.
func (p *candidatePrograms) missing(sequences []kernel.Sequence) []*shader.Source {
	var missing []*shader.Source
	seen := map[shader.Key]bool{}
	for _, s := range sequences {
		for _, step := range s.All() {
			key := step.Source.Key()
			if _, there := p.byKey[key]; !there && !seen[key] {
				seen[key] = true
				missing = append(missing, step.Source)
			}
		}
	}
	return missing
}

// close releases the programs.
func (p *candidatePrograms) close() {
	for _, handle := range p.handles {
		handle.Release()
	}
	// It has no store that could fail, and no other handles.
	_ = p.scratch.Close()
}
