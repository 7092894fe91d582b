//go:build linux

package resident

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
)

func init() {
	faultgl.OnProcess("session", inCache(runRing))
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

// runRing does steps of neighbours.comp, whose check does three.
func runRing(ctx context.Context, gpu *shadercache.GPU) error {
	source, err := ReadSource(kernels, "kernels/neighbours.comp", map[string]string{"LOCAL": "32"})
	if err != nil {
		return err
	}
	const n = 4 * 32
	ring := make([]uint32, n)
	for i := range ring {
		ring[i] = uint32(i * i)
	}
	compare := func(ctx context.Context, s *Session, steps int) error {
		if _, err := s.Run(ctx, uint64(steps)); err != nil {
			return err
		}
		got := make([]uint32, n)
		if err := s.Read(ctx, "Ring", 0, glctx.Bytes(got)); err != nil {
			return err
		}
		if want := ringAfter(ring, steps); !slices.Equal(got, want) {
			return fmt.Errorf("after %d steps %v, should be %v", steps, got, want)
		}
		return nil
	}
	s, err := New(ctx, gpu.Context, gpu.Cache, Kernel{
		Source: source, Groups: n / 32, Phases: 2,
		State: []State{{Block: "Ring", Init: glctx.Bytes(ring)}, {Block: "Mail", Bytes: 4 * n}},
		Check: func(ctx context.Context, s *Session) error { return compare(ctx, s, 3) },
	}, Options{})
	if err != nil {
		return err
	}
	return errors.Join(compare(ctx, s, 7), s.Close())
}

// ringAfter computes neighbours.comp on the CPU.
func ringAfter(ring []uint32, steps int) []uint32 {
	ring = slices.Clone(ring)
	mail := make([]uint32, len(ring))
	for step := range steps {
		for i, v := range ring {
			mail[(i+5)%len(ring)] = 3*v + uint32(step)
		}
		for i := range ring {
			ring[i] ^= mail[i] + uint32(i)
		}
	}
	return ring
}

// A driver that accepts the binary of a kernel, or of a probe, and computes wrong costs a
// compile.
func TestLoadedKernelsGiveKnownAnswers(t *testing.T) {
	probes := uint64(3)
	if gltest.Open(t).Info().Software() {
		probes = 2 // no visibility: loops end
	}
	for name, programs := range map[string]uint64{"session": 1, "probe": probes} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faultgl.TestKnownAnswers(t, name, "#version", programs)
		})
	}
}
