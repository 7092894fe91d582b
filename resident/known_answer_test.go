//go:build linux

package resident

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
)

func init() {
	faultgl.OnProcess("workloads", inCache(runWorkloads))
	faultgl.OnProcess("probe", inCache(func(ctx context.Context, gpu *shadercache.GPU) error {
		caps, err := Probe(ctx, gpu.Context, gpu.Cache, nil)
		if err == nil && caps.Residency == 0 {
			err = fmt.Errorf("no group passes a barrier: %+v", caps)
		}
		return err
	}))
}

// inCache runs work on a cache in a directory and returns its counters.
func inCache(work func(context.Context, *shadercache.GPU) error) func(dir string) (faultgl.Counters, error) {
	return func(dir string) (faultgl.Counters, error) {
		gpu, err := shadercache.Open(shadercache.Options{Dir: dir})
		if err != nil {
			return faultgl.Counters{}, err
		}
		err = work(context.Background(), gpu)
		c := gpu.Cache.Stats().Counters
		return faultgl.Counters{Compiles: c.Compiles, DiskHits: c.DiskHits, WrongAnswers: c.WrongAnswers}, errors.Join(err, gpu.Close())
	}
}

// runWorkloads does the work of the checks in sessions that do not check.
func runWorkloads(ctx context.Context, gpu *shadercache.GPU) error {
	for _, k := range []Kernel{Persistence{Groups: 3, Local: 32, FMAs: 10}.Kernel(), Neighbours{Groups: 3, Local: 32}.Kernel(), Echo(2)} {
		s, err := New(ctx, gpu.Context, gpu.Cache, k, Options{})
		if err != nil {
			return err
		}
		if err := errors.Join(k.Check(ctx, s), s.Close()); err != nil {
			return err
		}
	}
	return nil
}

// A driver that accepts the binary of a kernel, or of a probe, and computes wrong costs a
// compile.
func TestLoadedKernelsGiveKnownAnswers(t *testing.T) {
	probes := uint64(3)
	if gltest.Open(t).Info().Software() {
		probes = 2 // no visibility: loops end
	}
	for name, programs := range map[string]uint64{"workloads": 3, "probe": probes} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faultgl.TestKnownAnswers(t, name, "#version", programs)
		})
	}
}
