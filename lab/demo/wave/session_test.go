//go:build linux

package wave

import (
	"testing"

	"github.com/shadercache/shadercache/resident"
	"github.com/shadercache/shadercache/resident/residenttest"
)

// Every mode of a session computes the same field, bit by bit.
func TestEveryModeOfASession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	caps, err := resident.Probe(t.Context(), f.GPU, f.Cache, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Width: 61, Height: 45, TilesX: 4, TilesY: 3, Border: Absorbing, Sponge: 6, Local: 32}
	for _, strategy := range resident.Strategies() {
		r, err := NewReference(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Excite(Impulse{20, 20, 1}, Impulse{15, 15, -0.5}); err != nil {
			t.Fatal(err)
		}
		r.Step(6) // so that the field of the step before is not 0
		k, err := r.Kernel()
		if err != nil {
			t.Fatal(err)
		}
		s, err := resident.New(t.Context(), f.GPU, f.Cache, k, resident.Options{Strategy: strategy, Capabilities: caps})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			outcome, err := s.Run(t.Context(), 30)
			if err != nil || outcome.Steps != 30 {
				t.Fatalf("%v: %+v, %v", s.Mode(), outcome, err)
			}
			r.Step(60)
			field, err := FieldOf(t.Context(), s, o)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Compare(field); err != nil {
				t.Fatalf("%v: %v", s.Mode(), err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	r, err := NewReference(o)
	if err != nil {
		t.Fatal(err)
	}
	r.Step(1)
	_, err = r.Kernel()
	residenttest.WantError(t, err, "even number of steps, not 1")
}

// BenchmarkModes measures two steps of a grid of 512x512 in 8x16 tiles, in every mode of a
// session. Short runs are compared with the CPU.
func BenchmarkModes(b *testing.B) {
	o := Options{Width: 512, Height: 512, TilesX: 8, TilesY: 16}
	for _, strategy := range resident.Strategies() {
		b.Run(strategy.String(), func(b *testing.B) {
			f := newFixture(b)
			caps, err := resident.Probe(b.Context(), f.GPU, f.Cache, nil)
			if err != nil {
				b.Fatal(err)
			}
			r, err := NewReference(o)
			if err != nil {
				b.Fatal(err)
			}
			if err := r.Excite(Impulse{200, 300, 1}); err != nil {
				b.Fatal(err)
			}
			k, err := r.Kernel()
			if err != nil {
				b.Fatal(err)
			}
			s, err := resident.New(b.Context(), f.GPU, f.Cache, k, resident.Options{Strategy: strategy, Capabilities: caps})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			b.ResetTimer()
			outcome, err := s.Run(b.Context(), uint64(b.N))
			if err != nil || outcome.Steps != uint64(b.N) {
				b.Fatalf("%+v, %v", outcome, err)
			}
			b.StopTimer()
			if b.N <= 500 {
				r.Step(2 * b.N)
				field, err := FieldOf(b.Context(), s, o)
				if err != nil {
					b.Fatal(err)
				}
				if err := r.Compare(field); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(2*b.N)/b.Elapsed().Seconds(), "steps/s")
			b.Log(s.Mode())
		})
	}
}
