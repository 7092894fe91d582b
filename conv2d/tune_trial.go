//go:build linux

package conv2d

import (
	"context"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// tuneTrial makes the programs of candidates, and keeps them until the search ends.
type tuneTrial struct {
	cache    *cache.Cache
	handles  []*cache.Handle
	programs map[shader.Key]uint32

	// try calls work, which has the driver run what is called so.
	try func(name string, work func() error) error
}

// crashGuard is what a cache has that remembers, beyond the death of the process,
// what the driver was at. *cache.Cache has it.
type crashGuard interface {
	Trial() (*cache.Cache, error)
	Try(name string, work func() error) error
}

func newTuneTrial(c *glctx.Context, programs Programs) (*tuneTrial, error) {
	t := &tuneTrial{
		programs: map[shader.Key]uint32{},
		try:      func(_ string, work func() error) error { return work() },
	}
	var err error
	if guard, ok := programs.(crashGuard); ok {
		t.try = guard.Try
		t.cache, err = guard.Trial()
	} else {
		t.cache, err = cache.New(c, cache.Options{MemoryOnly: true, KeepEvictedBytes: -1})
	}
	return t, err
}

// compile makes the programs that are missing, side by side where the driver can, and
// says which cannot be made.
func (t *tuneTrial) compile(ctx context.Context, recipes []kernel.Sequence) map[shader.Key]error {
	var missing []*shader.Source
	asked := map[shader.Key]bool{}
	for _, r := range recipes {
		for _, step := range r.All() {
			key := step.Source.Key()
			if _, there := t.programs[key]; !there && !asked[key] {
				asked[key] = true
				missing = append(missing, step.Source)
			}
		}
	}
	failures := map[shader.Key]error{}
	// What ends it all is the error of each source too.
	results, _ := t.cache.Preload(ctx, missing, nil)
	for i, source := range missing {
		if err := results[i].Err; err != nil {
			failures[source.Key()] = err
			continue
		}
		handle, err := t.cache.Get(ctx, source)
		if err != nil {
			failures[source.Key()] = err
			continue
		}
		t.handles = append(t.handles, handle)
		t.programs[source.Key()] = handle.Program()
	}
	return failures
}

func (t *tuneTrial) close() {
	for _, handle := range t.handles {
		handle.Release()
	}
	// It has no store that could fail, and no other handles.
	_ = t.cache.Close()
}
