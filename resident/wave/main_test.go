//go:build linux

package wave

import (
	"context"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/resident/residenttest"
)

func TestMain(m *testing.M) { gltest.Main(m) }

// fixture is an executor over a context and a cache of its own.
type fixture struct {
	*executor.Executor
	t       testing.TB
	context *glctx.Context
	cache   *cache.Cache
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	e, programs := residenttest.Open(t)
	return &fixture{e, t, e.Context(), programs}
}

// pair is a simulation with its reference.
func (f *fixture) pair(o Options) (*Sim, *Reference) {
	f.t.Helper()
	s, err := New(context.Background(), f.Executor, f.cache, o)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(s.Close)
	r, err := NewReference(o)
	if err != nil {
		f.t.Fatal(err)
	}
	return s, r
}

func (f *fixture) step(s *Sim, n int) {
	f.t.Helper()
	if err := s.Step(f.t.Context(), n); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) poke(s *Sim, pokes ...Poke) []Ack {
	f.t.Helper()
	acks, err := s.Poke(f.t.Context(), pokes...)
	if err != nil {
		f.t.Fatal(err)
	}
	return acks
}

// compare compares every cell and the number of steps.
func (f *fixture) compare(s *Sim, r *Reference) {
	f.t.Helper()
	field, step, err := s.Field(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	if step != r.Steps() {
		f.t.Fatalf("the field is of step %d, the reference of %d", step, r.Steps())
	}
	if err := r.Compare(field); err != nil {
		f.t.Fatal(err)
	}
}

func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v does not say %q", err, text)
	}
}
