//go:build linux

package conv2d

import (
	"os"
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// rig is a context and a cache of its own, for tests of sequences alone.
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

// inTurn returns every nth form of a kernel, others for each problem, so that n problems
// have all of them: each form takes a software driver up to a second to compile for each
// problem. With SHADERCACHE_SOAK=1 every problem has all forms.
func inTurn[T any](forms []T, problem, n int) (some []T) {
	for k, form := range forms {
		if (problem+k)%n == 0 || os.Getenv("SHADERCACHE_SOAK") != "" {
			some = append(some, form)
		}
	}
	return some
}

// programs makes the programs of sequences resident until the test ends.
func (r *rig) programs(t testing.TB, sequences ...kernel.Sequence) (map[shader.Key]uint32, error) {
	programs := map[shader.Key]uint32{}
	for _, made := range sequences {
		for _, source := range made.Sources() {
			if _, there := programs[source.Key()]; there {
				continue
			}
			handle, err := r.cache.Get(t.Context(), source)
			if err != nil {
				return nil, err
			}
			t.Cleanup(handle.Release)
			programs[source.Key()] = handle.Program()
		}
	}
	return programs, nil
}

// onDevice calls work with tensors on the device.
func (r *rig) onDevice(in kernel.Tensors, outputLen int, work func(gl *glctx.GL, t *kernel.DeviceTensors) error) error {
	return r.context.Do(func(gl *glctx.GL) error {
		t, err := kernel.NewDeviceTensors(gl, in, outputLen)
		if err != nil {
			return err
		}
		defer t.Free(gl)
		return work(gl, t)
	})
}

// run runs a sequence once, as the tuner does: in poisoned memory with canaries behind
// it. It compares every element.
func (r *rig) run(t testing.TB, made kernel.Sequence, in kernel.Tensors, want Expected, tolerance float64) (report Report, err error) {
	programs, err := r.programs(t, made)
	if err != nil {
		return report, err
	}
	err = r.onDevice(in, len(want.Values), func(gl *glctx.GL, tensors *kernel.DeviceTensors) error {
		run, err := kernel.NewRun(gl, made, programs)
		if err != nil {
			return err
		}
		defer run.Free()
		got, err := run.Checked(tensors)
		if err == nil {
			report = Compare(got, want, tolerance)
		}
		return err
	})
	return report, err
}
