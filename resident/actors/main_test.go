//go:build linux

package actors

import (
	"context"
	"errors"
	"testing"

	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/resident/residenttest"
)

func TestMain(m *testing.M) { gltest.Main(m) }

// fixture adds the helpers of this package to the common fixture.
type fixture struct{ residenttest.Fixture }

func newFixture(t testing.TB) *fixture { return &fixture{residenttest.New(t)} }

// testWorld is a world whose errors end the test.
type testWorld struct {
	*World
	t testing.TB
}

func (f *fixture) world(o Options) testWorld {
	f.T.Helper()
	w, err := New(context.Background(), f.Executor, f.Cache, o)
	if err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(w.Close)
	return testWorld{w, f.T}
}

func (w testWorld) spawn(handler string, words ...uint32) Address {
	w.t.Helper()
	a, err := w.Spawn(w.t.Context(), handler, words...)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func (w testWorld) step(n int) Report {
	w.t.Helper()
	r, err := w.Step(w.t.Context(), n)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w testWorld) send(to Address, kind uint32, words ...uint32) {
	w.t.Helper()
	if err := w.Send(w.t.Context(), to, kind, words...); err != nil {
		w.t.Fatal(err)
	}
}

func (w testWorld) query(actor Address) Info {
	w.t.Helper()
	info, err := w.Query(w.t.Context(), actor)
	if err != nil {
		w.t.Fatal(err)
	}
	return info
}

func (w testWorld) words(actor Address) []uint32 {
	w.t.Helper()
	words, err := w.StateWords(w.t.Context(), actor)
	if err != nil {
		w.t.Fatal(err)
	}
	return words
}

// pending returns the number of messages in mailboxes.
func (w testWorld) pending() uint64 {
	w.t.Helper()
	counts := make([]uint32, 2*w.options.Slots)
	if err := w.buffers.mail.Download(w.t.Context(), 0, counts); err != nil {
		w.t.Fatal(err)
	}
	sum := uint64(0)
	for _, n := range counts {
		sum += uint64(n)
	}
	return sum
}

// balanced checks that no message and no slot is lost.
func (w testWorld) balanced() {
	w.t.Helper()
	r := w.Report()
	if r.Sent != r.Handled+r.Dead+w.pending() {
		w.t.Errorf("messages are lost: %+v, %d in mailboxes", r, w.pending())
	}
	all, err := w.Registry(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if r.Free+len(all) != w.options.Slots {
		w.t.Errorf("slots are lost: %d free, %d taken of %d", r.Free, len(all), w.options.Slots)
	}
	if uint64(len(all)) != r.Spawned-r.Ended {
		w.t.Errorf("%d actors, %d spawned, %d ended", len(all), r.Spawned, r.Ended)
	}
}

func wantIs(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error is %v, not %v", err, want)
	}
}
