//go:build linux

package conv2d

import (
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// rig is a context and a cache of its own, for tests of recipes alone.
type rig struct {
	context *glctx.Context
	cache   *cache.Cache
}

func newRig(t testing.TB) *rig {
	context := gltest.Open(t)
	return &rig{context, newCache(t, context, t.TempDir())}
}

func newCache(t testing.TB, device cache.Device, dir string) *cache.Cache {
	t.Helper()
	c, err := cache.New(device, cache.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// programs makes the programs of recipes resident until the test ends.
func (r *rig) programs(t testing.TB, recipes ...recipe) (map[shader.Key]uint32, error) {
	programs := map[shader.Key]uint32{}
	for _, made := range recipes {
		for _, s := range made.whole() {
			if _, there := programs[s.source.Key()]; there {
				continue
			}
			handle, err := r.cache.Get(t.Context(), s.source)
			if err != nil {
				return nil, err
			}
			t.Cleanup(handle.Release)
			programs[s.source.Key()] = handle.Program()
		}
	}
	return programs, nil
}

// bench calls work with a tuner's bench that holds tensors.
func (r *rig) bench(in tensorsOnHost, want Expected, work func(gl *glctx.GL, b *bench) error) error {
	return r.context.Do(func(gl *glctx.GL) error {
		b := &bench{trials: []trial{{tensorsOnHost: in, judge: wholeJudge{want}}}}
		defer b.close(gl)
		if err := b.open(gl); err != nil {
			return err
		}
		return work(gl, b)
	})
}

// run runs a recipe once, as the tuner does: in poisoned memory with canaries behind
// it. It compares every element.
func (r *rig) run(t testing.TB, made recipe, in tensorsOnHost, want Expected, tolerance float64) (report Report, err error) {
	programs, err := r.programs(t, made)
	if err != nil {
		return report, err
	}
	err = r.bench(in, want, func(gl *glctx.GL, b *bench) error {
		run, err := b.load(gl, made, programs)
		if err != nil {
			return err
		}
		defer run.free()
		report, err = run.check(tolerance)
		return err
	})
	return report, err
}
