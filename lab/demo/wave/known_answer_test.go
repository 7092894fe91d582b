//go:build linux

package wave

import (
	"context"
	"errors"
	"image"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/executor/kernelset"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
	"github.com/shadercache/shadercache/resident"
)

func init() {
	faultgl.OnProcess("wave", func(dir string) (faultgl.Counters, error) {
		gpu, err := shadercache.Open(shadercache.Options{Dir: dir})
		if err != nil {
			return faultgl.Counters{}, err
		}
		ctx, o := context.Background(), Options{Width: 40, Height: 30, TilesX: 2, TilesY: 2, Local: 32}
		err = errors.Join(exciteSim(ctx, gpu, o), exciteSession(ctx, gpu, o))
		c := gpu.Cache.Stats().Counters
		return faultgl.Counters{Compiles: c.Compiles, DiskHits: c.DiskHits, WrongAnswers: c.WrongAnswers}, errors.Join(err, gpu.Close())
	})
}

var knownImpulse = Impulse{X: 20, Y: 15, Amplitude: 1}

// afterImpulse returns the reference four steps after an impulse.
func afterImpulse(o Options) (*Reference, error) {
	r, err := NewReference(o)
	if err == nil {
		err = r.Excite(knownImpulse)
		r.Step(4)
	}
	return r, err
}

func exciteSim(ctx context.Context, gpu *shadercache.GPU, o Options) error {
	s, err := New(ctx, gpu.Executor, gpu.Cache, o)
	if err != nil {
		return err
	}
	defer s.Close()
	_, excited := s.Excite(ctx, knownImpulse)
	stepped := s.Step(ctx, 4)
	field, _, err := s.Field(ctx)
	want, failed := afterImpulse(o)
	if err := errors.Join(excited, stepped, err, failed); err != nil {
		return err
	}
	if heights, err := s.Heights(ctx, image.Pt(20, 15)); err != nil || heights[0] != want.u[15*o.Width+20] {
		return errors.Join(errors.New("the height is wrong"), err)
	}
	if energy, err := s.Energy(ctx); err != nil || energy <= 0 {
		return errors.Join(errors.New("the energy is wrong"), err)
	}
	return want.Compare(field)
}

func exciteSession(ctx context.Context, gpu *shadercache.GPU, o Options) error {
	s, err := NewSession(ctx, gpu.Context, gpu.Cache, o, resident.Options{})
	if err != nil {
		return err
	}
	_, excited := s.Excite(ctx, knownImpulse)
	stepped := s.Step(ctx, 4)
	field, _, err := s.Field(ctx)
	want, failed := afterImpulse(o)
	if err := errors.Join(excited, stepped, err, failed, s.Close()); err != nil {
		return err
	}
	return want.Compare(field)
}

// A driver that accepts the binary of a kernel and computes wrong costs a compile: four
// kernels of a simulation, and that of a session.
func TestLoadedKernelsGiveKnownAnswers(t *testing.T) {
	t.Parallel()
	gltest.Open(t)
	faultgl.TestKnownAnswers(t, "wave", "#version", 5)
}

// BenchmarkKnownAnswer measures what the first start with a binary spends on its check.
func BenchmarkKnownAnswer(b *testing.B) {
	f := newFixture(b)
	o, _ := Options{}.withDefaults()
	k := knownKernels{f.GPU, o.Local}
	for _, kernel := range []kernelset.Kernel{k.step(), k.excite(), k.inspect(), k.read()} {
		handles, err := kernelset.Get(b.Context(), f.Cache, kernels, kernel)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(kernel.Name, func(b *testing.B) {
			for b.Loop() {
				if err := kernel.Check(b.Context(), handles[0].Program()); err != nil {
					b.Fatal(err)
				}
			}
		})
		kernelset.Release(handles...)
	}
	s, err := NewSession(b.Context(), f.GPU, f.Cache, o, resident.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	b.Run("wave_session", func(b *testing.B) {
		for b.Loop() {
			if err := o.checkSession(b.Context(), s.resident); err != nil {
				b.Fatal(err)
			}
		}
	})
}
