//go:build linux

package wave

import (
	"context"
	"testing"

	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/resident/residenttest"
)

func TestMain(m *testing.M) { gltest.Main(m) }

// fixture adds the helpers of this package to the common fixture.
type fixture struct{ residenttest.Fixture }

func newFixture(t testing.TB) *fixture { return &fixture{residenttest.New(t)} }

// pair returns a simulation and its reference.
func (f *fixture) pair(o Options) (*Sim, *Reference) {
	f.T.Helper()
	s, err := New(context.Background(), f.Executor, f.Cache, o)
	if err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(s.Close)
	r, err := NewReference(o)
	if err != nil {
		f.T.Fatal(err)
	}
	return s, r
}

func (f *fixture) step(s *Sim, n int) {
	f.T.Helper()
	if err := s.Step(f.T.Context(), n); err != nil {
		f.T.Fatal(err)
	}
}

func (f *fixture) poke(s *Sim, pokes ...Impulse) []Ack {
	f.T.Helper()
	acks, err := s.Excite(f.T.Context(), pokes...)
	if err != nil {
		f.T.Fatal(err)
	}
	return acks
}

// compare compares every cell and the number of steps.
func (f *fixture) compare(s *Sim, r *Reference) {
	f.T.Helper()
	field, step, err := s.Field(f.T.Context())
	if err != nil {
		f.T.Fatal(err)
	}
	if step != r.Steps() {
		f.T.Fatalf("the field is of step %d, the reference of %d", step, r.Steps())
	}
	if err := r.Compare(field); err != nil {
		f.T.Fatal(err)
	}
}
